"""Updates ``pushsalt.lock`` to the current revisions of the remotes, and reports the changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from pushsalt.errors import ConfigError
from pushsalt.git import GitError
from pushsalt.git.note import TAGS
from pushsalt.git.project import configured
from pushsalt.git.remotes import named

if TYPE_CHECKING:
    from pushsalt.config import Config
    from pushsalt.git.lockfile import LockFile
    from pushsalt.git.remotes import Remotes
    from pushsalt.git.settings import Remote

#: Commits of each ref that are fetched so that their subjects can be shown.
HISTORY: Final = 50


@dataclass(frozen=True)
class Move:
    """The change of a ref. ``old`` is None if it was not pinned, ``new`` is None if it was deleted.

    ``commits`` are "hash subject", newest first; ``files`` "M  path".
    """

    remote: str
    ref: str
    old: str | None
    new: str | None
    commits: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Update:
    """The changes of an update to the lock file. ``pins``: url -> ref -> commit; ``urls``: the remotes that stay in the
    file.
    """

    moves: list[Move]
    #: the errors of single remotes, whose pins stay
    troubles: list[str]
    pins: Mapping[str, Mapping[str, str]]
    urls: frozenset[str]

    def write(self, lock: LockFile) -> None:
        """Write the changes to the lock file. Raises ConfigError if there is no folder for one."""
        if self.pins or lock.exists:
            lock.replace(self.pins, self.urls)


def update(config: Config, remotes: Remotes, words: Sequence[str] = ()) -> tuple[list[Move], list[str]]:
    """Fetch the named remotes (a name, URL or repository), or all, and write the lock file.

    Returns the changes, and the errors of single remotes, whose pins stay. Raises ConfigError if there is no remote,
    none of that name, or no folder for a lock file.
    """
    result = look(config, remotes, words)
    result.write(remotes.lock)
    return result.moves, result.troubles


def look(config: Config, remotes: Remotes, words: Sequence[str] = ()) -> Update:
    """As ``update``, but the lock file is not written."""
    configured_remotes = configured(config)
    chosen = named(configured_remotes, words)
    if not chosen:
        names = ", ".join(sorted({remote.shown for remote in configured_remotes})) or "none"
        text = f"no git remote is named {' or '.join(words)}" if words else "no git remote is configured"
        raise ConfigError(text, hint=f"there are: {names}" if words else "pushsalt formula add NAME  adds a formula")
    lock = remotes.lock
    remotes.sync(chosen, force=True)
    pins: dict[str, dict[str, str]] = {}
    moves: list[Move] = []
    troubles: list[str] = []
    for remote in chosen:
        trouble = remotes.trouble(remote)
        if trouble is not None:
            troubles.append(f"{remote.shown} is not updated: {trouble.message}")
            continue
        url = remote.address.url
        locked = dict(lock.refs(url) or {})
        for name, commit in _now(remotes, remote, locked).items():
            if name in pins.get(url, {}):
                continue
            if commit is None:
                if remote.fallback or remote.all_saltenvs is not None or name in locked:
                    moves.append(Move(remote.shown, name, locked.get(name), None))
                continue
            pins.setdefault(url, {})[name] = commit
            old = locked.get(name)
            if old != commit:
                commits, files = _between(remotes, remote, old, commit) if old else ([], [])
                moves.append(Move(remote.shown, name, old, commit, commits, files))
    return Update(moves, troubles, pins, frozenset(remote.address.url for remote in configured_remotes))


def _now(remotes: Remotes, remote: Remote, locked: dict[str, str]) -> dict[str, str | None]:
    """Name in the lock file -> current commit, for the refs that the options name and for those in the lock file."""
    mirror = remotes.mirror(remote)
    commits: dict[str, str | None] = {}
    for ref in remote.named_refs():
        commit = mirror.commit(ref, remote.ref_types)
        if commit is None:
            commits[f"refs/heads/{ref}"] = None
        elif commit[0] != ref:  # a hash needs no pin
            commits[commit[0]] = commit[1]
    for name in locked:
        kind = "tag" if name.startswith(TAGS) else "branch"
        commit = mirror.commit(name.removeprefix(TAGS).removeprefix("refs/heads/"), (kind,))
        commits[name] = commit[1] if commit else None
    return commits


def _between(remotes: Remotes, remote: Remote, old: str, new: str) -> tuple[list[str], list[str]]:
    """Commits and files between two revisions, as far as the copy has them."""
    mirror = remotes.mirror(remote)
    try:
        mirror.update(wanted=old)
        mirror.deepen(new, HISTORY)
    except (GitError, OSError):
        pass  # the old commit does not exist any more, or history cannot be fetched
    return mirror.log(old, new), mirror.changed(old, new)
