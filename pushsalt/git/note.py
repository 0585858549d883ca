"""The note on a copy: its refs, and the time of the last fetch."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from pushsalt.git import DamagedError
from pushsalt.git.process import environment

BRANCHES: Final = "refs/remotes/origin/"
TAGS: Final = "refs/tags/"


@dataclass(frozen=True)
class Note:
    """The note on a copy. ``refs``: full local name -> (commit, tree). ``fetched``: seconds since the epoch."""

    number: int
    fetched: float
    refs: Mapping[str, tuple[str, str]] = field(default_factory=dict)

    def names(self, prefix: str) -> list[str]:
        return [name[len(prefix) :] for name in self.refs if name.startswith(prefix)]


@dataclass(frozen=True)
class Update:
    """The changes by a fetch: ref -> (old commit or None, new commit or None)."""

    moved: Mapping[str, tuple[str | None, str | None]] = field(default_factory=dict)
    first: bool = False
    rebuilt: bool = False


def is_ours(path: Path) -> bool:
    """Whether other users cannot change or replace a folder (git runs commands of a repository's configuration)."""
    try:
        status = path.lstat()
    except OSError:
        return False
    if not stat.S_ISDIR(status.st_mode) or status.st_uid not in (0, os.geteuid()):
        return False
    return not status.st_mode & 0o022 or bool(status.st_mode & stat.S_ISVTX)


def read_refs(path: Path) -> dict[str, tuple[str, str]]:
    """Full name -> (commit, tree) of all branches and tags of a copy.

    Tags of other objects than commits, and names that are not UTF-8, are left out: they cannot be saltenvs.
    """
    from pushsalt.git.progress import git

    try:
        repository = git.Repo(path, expand_vars=False)
    except (git.InvalidGitRepositoryError, git.NoSuchPathError):
        raise DamagedError(f"{path} is no longer a repository") from None
    try:
        repository.git.update_environment(**environment())
        text: Any = repository.git.for_each_ref(
            "--format=%(refname)%00%(objecttype)%00%(objectname)%00%(tree)%00%(*objecttype)%00%(*objectname)%00%(*tree)",
            BRANCHES,
            TAGS,
            stdout_as_string=False,
        )
    except git.GitCommandError as exc:
        raise DamagedError(f"{path}: its refs cannot be read: {str(exc.stderr).strip()}") from None
    finally:
        repository.close()
    refs = {}
    for line in text.decode("utf-8", "replace").split("\n"):
        if not line or "\ufffd" in line:
            continue
        name, kind, commit, tree, inner_kind, inner, inner_tree = line.split("\0")
        if kind == "tag":
            kind, commit, tree = inner_kind, inner, inner_tree
        if kind == "commit" and name != f"{BRANCHES}HEAD":
            refs[name] = (commit, tree)
    return refs


def difference(before: Note | None, now: Note | None) -> Update:
    old = before.refs if before else {}
    new = now.refs if now else {}
    moved = {}
    for name in sorted({*old, *new}):
        pair = (old[name][0] if name in old else None, new[name][0] if name in new else None)
        if pair[0] != pair[1]:
            moved[name] = pair
    return Update(moved, first=before is None)
