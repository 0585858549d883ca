"""The revision of a project: the commit that its git repository has checked out, read from its files."""

from __future__ import annotations

import hashlib
from pathlib import Path

from pushsalt import regular


def revision(folder: Path) -> str:
    """The commit of the repository that a folder is in; empty if it is in none."""
    for place in (folder, *folder.parents):
        if (place / ".git").exists():
            try:
                return _head(place / ".git")
            except (OSError, UnicodeDecodeError):
                return ""
    return ""


def _head(git: Path) -> str:
    if git.is_file():  # of a worktree
        git = git.parent / regular.read_text(git).partition("gitdir:")[2].strip()
    head = regular.read_text(git / "HEAD").strip()
    name = head.partition("ref: ")[2]
    if not name:
        return head
    common = git / regular.read_text(git / "commondir").strip() if (git / "commondir").is_file() else git
    if (common / name).is_file():
        return regular.read_text(common / name).strip()
    for line in regular.read_text(common / "packed-refs").splitlines():
        commit, _, ref = line.partition(" ")
        if ref == name:
            return commit
    return ""


def lock_digest(folder: Path) -> str:
    """SHA-256 of ``pushsalt.lock`` in a folder; empty if there is none."""
    try:
        return hashlib.sha256(regular.read_bytes(folder / "pushsalt.lock")).hexdigest()
    except OSError:
        return ""
