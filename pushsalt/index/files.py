"""Files of an index: read to their end, written whole, synced. What can fail raises OSError."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

FLAGS: Final = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK  # nobody waits for a named pipe that lies there
_PIECE: Final = 4096


def segment_name() -> str:
    return f"seg-{os.urandom(8).hex()}"


def read(fd: int, at: int) -> bytes:
    """All from there to the end."""
    parts = []
    size = _PIECE
    while part := os.pread(fd, size, at):
        parts.append(part)
        if len(part) < size:  # that is the end of the file
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
    """The descriptor of a new file. At the end it is synced; if anything fails there is none. Raises OSError."""
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
    """A new file with these bytes, synced. Raises OSError."""
    with new_file(path) as fd:
        for part in parts:
            write(fd, part)


def sync_folder(folder: Path) -> None:
    """As far as the system can: what is renamed by then counts either way."""
    with contextlib.suppress(OSError):
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)
