"""Reading, writing and syncing files of an index. All functions raise OSError."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

FLAGS: Final = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK  # opening must not block if the file was replaced by a FIFO
_PIECE: Final = 4096


def segment_name() -> str:
    return f"seg-{os.urandom(8).hex()}"


def read(fd: int, at: int) -> bytes:
    """All bytes from the offset ``at`` to the end."""
    parts = []
    size = _PIECE
    while part := os.pread(fd, size, at):
        parts.append(part)
        if len(part) < size:  # the end of the file
            break
        at += len(part)
        size = max(os.lseek(fd, 0, os.SEEK_END) - at, 0) + _PIECE
    return parts[0] if len(parts) == 1 else b"".join(parts)


def write(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


@contextlib.contextmanager
def new_file(path: Path) -> Iterator[int]:
    """A context with the descriptor of a new file; it is synced at the end, and removed on errors. Raises OSError."""
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | FLAGS, 0o600)
    try:
        yield fd
        os.fsync(fd)
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    finally:
        os.close(fd)


def write_segment(path: Path, parts: Sequence[bytes]) -> None:
    """Write a new file with these bytes, synced. Raises OSError."""
    with new_file(path) as fd:
        for part in parts:
            write(fd, part)


def sync_folder(folder: Path) -> None:
    """Sync a folder, if the system can; errors are ignored, since renames are atomic without it."""
    with contextlib.suppress(OSError):
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)
