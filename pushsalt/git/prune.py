"""Removes copies of remotes from the cache; ``mirror`` describes the files."""

from __future__ import annotations

import fcntl
import os
import shutil
from pathlib import Path
from typing import Final

from pushsalt.cache.store import Bank
from pushsalt.git.note import is_ours

_NOTES: Final = "notes"


def prune(cache: Path, before: float) -> int:
    """Remove copies that were last fetched before this time; returns their number. Copies in use by a fetch are kept.

    Remotes of a configuration are fetched regularly, so their notes are never old; several projects may share a cache.
    """
    root = cache / "git"
    if not is_ours(cache) or not is_ours(root):
        return 0
    notes = Bank(root, _NOTES)
    removed = 0
    for folder in sorted(root.iterdir()):
        if folder.name == _NOTES or folder.is_symlink() or not folder.is_dir() or not is_ours(folder):
            continue
        seen = notes.written(folder.name)
        if (folder.stat().st_mtime if seen is None else seen) < before and _remove(folder):
            notes.delete(folder.name)
            removed += 1
    return removed


def remove(cache: Path, key: str) -> bool:
    """Remove the copy with this key. Returns False if there is none, or if a fetch uses it."""
    root = cache / "git"
    folder = root / key
    if not all(map(is_ours, (cache, root, folder))) or not _remove(folder):
        return False
    Bank(root, _NOTES).delete(key)
    return True


def _remove(folder: Path) -> bool:
    try:
        descriptor = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder, ignore_errors=True)
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return not folder.exists()
