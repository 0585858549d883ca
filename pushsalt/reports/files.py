"""Writes report files atomically: a reader gets the old content or the new one, never a part.

A pipe or device is written to, and not replaced. A named pipe must have a reader: nothing waits for one.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import tempfile
from collections.abc import Iterable
from pathlib import Path

from pushsalt.errors import UsageError

#: path -> descriptor of each named pipe that was checked; it stays open until the report is written, since a reader
#: would take the end of the check for the end of the report
_pipes: dict[Path, int] = {}


def check_place(path: Path, flag: str) -> None:
    """Raises UsageError if no file can be written there, before the job begins."""
    target = _real(path)
    try:
        if target.is_dir():
            raise IsADirectoryError(0, "it is a folder")
        if _is_special(target):
            if target.is_fifo() and target not in _pipes:
                _pipes[target] = _pipe(target)
            return
        handle, name = tempfile.mkstemp(prefix=f".{target.name[:100]}.", dir=target.parent)
        os.close(handle)
        Path(name).unlink()
    except (OSError, ValueError) as exc:
        reason = getattr(exc, "strerror", None) or str(exc)
        lonely = getattr(exc, "errno", None) == errno.ENXIO
        hint = "start its reader first, or name a file" if lonely else "name a file in an existing folder"
        raise UsageError(f"{flag}: {path} cannot be written: {reason}", hint) from None


def write_whole(path: Path, pieces: Iterable[str]) -> None:
    """Replace the file by these texts. A pipe or device is written to. Raises OSError."""
    target = _real(path)
    if _is_special(target):
        descriptor = _pipes.pop(target, None)
        if descriptor is None:
            descriptor = _pipe(target) if target.is_fifo() else os.open(target, os.O_WRONLY | os.O_CLOEXEC)
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as file:
            file.writelines(pieces)
        return
    handle, name = tempfile.mkstemp(prefix=f".{target.name[:100]}.", dir=target.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            file.writelines(pieces)
            os.fchmod(file.fileno(), _mode(target))
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(target)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        raise


def is_replaced(path: Path) -> bool:
    """Whether a second ``write_whole`` replaces the first text; to a pipe or device, it is appended."""
    return not _is_special(path)


def append(path: Path, text: str) -> None:
    """Append to a file to which other programs may append, too. Raises OSError."""
    with path.open("a", encoding="utf-8", newline="") as file:
        file.write(text)


def _pipe(path: Path) -> int:
    """A descriptor to write to a named pipe. Raises OSError, also if nothing reads the pipe."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as exc:
        if exc.errno == errno.ENXIO:
            raise OSError(errno.ENXIO, "nothing reads this pipe", str(path)) from None
        raise
    os.set_blocking(descriptor, True)
    return descriptor


def _real(path: Path) -> Path:
    """The destination of a symbolic link, so that the file is replaced, not the link."""
    try:
        # the destination of /dev/fd/N may have no name
        return path.absolute() if _is_special(path) else path.resolve()
    except (OSError, RuntimeError, ValueError):
        return path.absolute()


def _is_special(path: Path) -> bool:
    try:
        return not stat.S_ISREG(path.stat().st_mode)
    except FileNotFoundError:
        return False


def _mode(path: Path) -> int:
    """The permissions of the existing file, or those of a new one."""
    try:
        return stat.S_IMODE(path.stat().st_mode)
    except OSError:
        mask = os.umask(0o077)
        os.umask(mask)
        return 0o666 & ~mask
