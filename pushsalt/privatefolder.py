"""Private folders, which other users cannot read or write."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TypeVar

_AnyPath = TypeVar("_AnyPath", str, Path)


def private_dir(path: _AnyPath) -> _AnyPath:
    """Create a folder with mode 0700, and its parents. Raises OSError, also if it is a link or belongs to another user.

    A folder that others can write to is refused, since its content cannot be trusted.
    """
    try:
        status = os.lstat(path)
    except FileNotFoundError:
        _make(Path(path))
        status = os.lstat(path)
    if not stat.S_ISDIR(status.st_mode):
        raise NotADirectoryError(f"{path} is not a folder")
    if status.st_uid != os.geteuid():
        raise PermissionError(f"{path} belongs to another user")
    if status.st_mode & 0o022:
        raise PermissionError(f"others can write to {path} (mode {stat.S_IMODE(status.st_mode):04o})")
    return path


def _make(path: Path) -> None:
    """Create a folder and its missing parents."""
    missing = []
    while not path.exists():
        missing.append(path)
        path = path.parent
    for place in reversed(missing):
        try:
            place.mkdir(mode=0o700)
        except FileExistsError:
            continue


__all__ = ["private_dir"]
