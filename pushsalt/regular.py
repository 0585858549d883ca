"""Opens regular files. A named pipe or a device in place of one is an error at once, so the program never waits for
it.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

_KINDS = {
    stat.S_IFIFO: "a named pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
    stat.S_IFDIR: "a folder",
}


def descriptor_of(path: str | Path, flags: int = 0) -> int:
    """A descriptor for reading a regular file; ``flags`` as ``O_NOFOLLOW``. Raises OSError, also for other files."""
    path = Path(path)
    refuse(path, path.lstat() if flags & os.O_NOFOLLOW else path.stat())  # opening a device may have an effect already
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | flags)
    try:
        refuse(path, os.fstat(descriptor))
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def refuse(path: str | Path, status: os.stat_result) -> None:
    """Raise OSError, with the kind as its reason, unless the status is that of a regular file."""
    kind = _KINDS.get(stat.S_IFMT(status.st_mode))
    if kind == "a folder":
        raise IsADirectoryError(errno.EISDIR, "it is a folder, not a file", str(path))
    if kind:
        raise OSError(errno.EINVAL, f"it is {kind}, not a file", str(path))


def opened(path: str | Path, flags: int = 0) -> BinaryIO:
    """A regular file, open to be read. Raises OSError."""
    return os.fdopen(descriptor_of(path, flags), "rb")


def read_bytes(path: str | Path) -> bytes:
    """The bytes of a regular file. Raises OSError."""
    with opened(path) as stream:
        return stream.read()


def read_text(path: str | Path, errors: str = "strict") -> str:
    """The UTF-8 text of a regular file, its line ends as ``\\n``. Raises OSError, UnicodeDecodeError."""
    text = read_bytes(path).decode("utf-8", errors)
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def is_meant(path: Path) -> bool:
    """Whether the path exists and is no folder. A pipe or device there is an error when it is read."""
    return path.exists() and not path.is_dir()


def attributes(path: str | Path) -> str:
    """The attributes of a file or folder of which one differs after a change; empty if it does not exist."""
    try:
        found = os.stat(path)  # noqa: PTH116 - many files are looked at
    except OSError:
        return ""
    return f"{found.st_ino} {found.st_size} {found.st_mtime_ns} {found.st_ctime_ns} {found.st_mode} {found.st_uid}"
