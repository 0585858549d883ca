"""The state of a project for a job's record: its git revision, lock file, git remotes, and pushsalt's version."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pushsalt import regular
from pushsalt.lazy import is_made

if TYPE_CHECKING:
    from pushsalt.config import Config
    from pushsalt.run.project import Project

log = logging.getLogger(__name__)

#: Time limit in seconds for git's look at the working tree, which a slow disk could delay.
_PATIENCE: Final = 5.0
#: Limit for the recorded refs of a remote; of a remote with more refs, those that its configuration names are used.
_MOST_REFS: Final = 200


def project_state(project: Project) -> dict[str, Any]:
    """The state of the project, for the ``detail`` of a job. Runs git, so it is called in a thread."""
    config = project.config
    state: dict[str, Any] = {"runtime": project.runtime.sha, "version": _version()}
    if config.path is not None:
        state["config"] = str(config.path)
        revision = revision_of(config.path.parent)
        if revision is not None:
            state["git"] = revision
    digest = lock_digest(config)
    if digest:
        state["lock"] = digest
    if is_made(project, "remotes"):
        state["pins"] = _pins(project)
    return state


def differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """The differences between two states of a project, as texts for people; ``before`` is that of the job."""
    if "version" not in before:
        return ["the state of the project at that time is unknown: git took too long, or the job was stopped"]
    differences = []
    old, new = before.get("git") or {}, now.get("git") or {}
    if old.get("revision") != new.get("revision"):
        differences.append(f"the project was at {_short(old)}, and is at {_short(new)}")
    elif old.get("dirty") or new.get("dirty"):
        words = {(True, True): "had and has", (True, False): "had", (False, True): "has"}
        change = words[bool(old.get("dirty")), bool(new.get("dirty"))]
        differences.append(f"the project {change} changes that are not committed (at {_short(new)})")
    if before.get("lock") != now.get("lock"):
        differences.append("pushsalt.lock has changed; git remotes are used at the revisions of the job")
    if before.get("runtime") != now.get("runtime"):
        differences.append(f"pushsalt has changed from {before.get('version', 'unknown')} to {now.get('version')}")
    return differences


def _short(revision: Mapping[str, Any]) -> str:
    return str(revision.get("revision", ""))[:12] or "no revision of git"


def _version() -> str:
    from pushsalt import __version__

    return __version__


def lock_digest(config: Config) -> str:
    """SHA-256 of the lock file; empty if there is none."""
    from pushsalt.git.lockfile import lock_path

    path = lock_path(config)
    try:
        return "" if path is None else hashlib.sha256(regular.read_bytes(path)).hexdigest()
    except OSError:
        return ""


def revision_of(folder: Path) -> dict[str, Any] | None:
    """``revision`` and ``dirty`` of the git repository of a folder; None if there is none, or git is missing."""
    folder = folder.resolve()
    if not any((place / ".git").exists() for place in (folder, *folder.parents)):
        return None
    from pushsalt.git import GitError
    from pushsalt.git.process import git_argv, run

    try:
        # Programs that the repository's own configuration names, such as filters of attributes, must not be run.
        own = {"core.fsmonitor": "false", "core.hooksPath": "/dev/null"}
        words = git_argv("-C", str(folder), config=own)
        head = run([*words, "rev-parse", "--verify", "--quiet", "HEAD"], silence=_PATIENCE, total=_PATIENCE)
        if head.code:
            return None
        filters = _filters(words)
        if any("=" in name for name in filters):  # a name with "=" cannot be given by -c
            return {"revision": _text(head.out), "dirty": None}
        words = git_argv("-C", str(folder), config={**own, **filters})
        status = run([*words, "status", "--porcelain", "--ignore-submodules=all"], silence=_PATIENCE, total=_PATIENCE)
    except (GitError, OSError) as exc:
        log.debug("the project's revision is unknown: %s", exc)
        return None
    dirty = None if status.code else bool(status.out.strip())
    return {"revision": _text(head.out), "dirty": dirty}


def _filters(words: Sequence[str]) -> dict[str, str]:
    """The git configuration that disables each filter of the repository."""
    from pushsalt.git.process import run

    keys = r"^filter\..*\.(clean|smudge|process|required)$"
    filters = run([*words, "config", "-z", "--name-only", "--get-regexp", keys], silence=_PATIENCE, total=_PATIENCE)
    names = filter(None, filters.out.decode("utf-8", "surrogateescape").split("\0"))
    return {name: "false" if name.endswith(".required") else "" for name in names}


def _text(out: bytes) -> str:
    return out.decode("ascii", "replace").strip()


def _pins(project: Project) -> dict[str, dict[str, str]]:
    """URL -> ref -> commit of the git remotes, as in a lock file."""
    from pushsalt.git.note import BRANCHES
    from pushsalt.git.project import configured

    pins: dict[str, dict[str, str]] = {}
    remotes = project.remotes
    for remote in configured(project.config):
        url = remote.address.url
        note = remotes.mirror(remote).note
        refs = {}
        if note is not None:
            named = {*remote.named_refs(), remote.base}
            for name, (commit, _) in note.refs.items():
                public = f"refs/heads/{name[len(BRANCHES) :]}" if name.startswith(BRANCHES) else name
                if len(note.refs) <= _MOST_REFS or public.split("/", 2)[2] in named:
                    refs[public] = commit
        pins.setdefault(url, {}).update({**refs, **(remotes.lock.refs(url) or {})})
    return pins
