"""Writes report files atomically: a reader gets the old content or the new one, never a part."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from collections.abc import Iterable
from pathlib import Path

from pushsalt.errors import UsageError


def check_place(path: Path, flag: str) -> None:
    """Raises UsageError if no file can be written there, before the job begins."""
    target = _real(path)
    try:
        if target.is_dir():
            raise IsADirectoryError(0, "it is a folder")
        if _is_special(target):
            return
        handle, name = tempfile.mkstemp(prefix=f".{target.name[:100]}.", dir=target.parent)
        os.close(handle)
        Path(name).unlink()
    except (OSError, ValueError) as exc:
        reason = getattr(exc, "strerror", None) or str(exc)
        raise UsageError(f"{flag}: {path} cannot be written: {reason}", "name a file in an existing folder") from None


def write_whole(path: Path, pieces: Iterable[str]) -> None:
    """Replace the file by these texts. A pipe or device is written to. Raises OSError."""
    target = _real(path)
    if _is_special(target):
        with target.open("w", encoding="utf-8", newline="") as file:
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


def append(path: Path, text: str) -> None:
    """Append to a file to which other programs may append, too. Raises OSError."""
    with path.open("a", encoding="utf-8", newline="") as file:
        file.write(text)


def _real(path: Path) -> Path:
    """The destination of a symbolic link, so that the file is replaced, not the link."""
    try:
        return path.resolve()
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
