"""Files of an index: read to their end, written whole, synced. What can fail raises OSError."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Final

FLAGS: Final = os.O_CLOEXEC | os.O_NOFOLLOW


def segment_name() -> str:
    return f"seg-{secrets.token_hex(8)}"


def read(fd: int, at: int) -> bytes:
    """All from there to the end."""
    parts = []
    while part := os.pread(fd, max(os.lseek(fd, 0, os.SEEK_END) - at, 4096), at):
        parts.append(part)
        at += len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def write(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def write_segment(path: Path, parts: Sequence[bytes]) -> None:
    """A new file with these bytes, synced. Raises OSError."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | FLAGS, 0o600)
    try:
        for part in parts:
            write(fd, part)
        os.fsync(fd)
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    finally:
        os.close(fd)


def sync_folder(folder: Path) -> None:
    """As far as the system can: what is renamed by then counts either way."""
    with contextlib.suppress(OSError):
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)
