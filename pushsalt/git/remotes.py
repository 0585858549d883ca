"""All git remotes of one command. Each is fetched at most once, if it is due, several in parallel."""

from __future__ import annotations

import logging
import os
import shutil
import tempfile
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pushsalt.git import GitError
from pushsalt.git.access import Ssh
from pushsalt.git.address import is_sha
from pushsalt.git.lockfile import LockFile
from pushsalt.git.mirror import Mirror
from pushsalt.git.note import BRANCHES, TAGS, Update
from pushsalt.git.process import OldGitError, Running, StoppedError
from pushsalt.git.prune import remove

if TYPE_CHECKING:
    from pushsalt.git.settings import Remote

log = logging.getLogger(__name__)

#: Parallel fetches.
WIDTH: Final = 8

_MOVED: Final = "name another, or if it is in pushsalt.lock: `pushsalt formula update` replaces it by the current one"

#: Called with a remote's name and a progress text, which is empty at the end; from any thread.
Say = Callable[[str, str], None]


class Remotes:
    """The copies in the cache and the lock file, shared by gitfs and git_pillar."""

    def __init__(
        self,
        cache: Path,
        lock: LockFile | None = None,
        *,
        say: Say | None = None,
        silence: float = 60.0,
        accept_new_host_keys: bool = False,
        ssh_files: tuple[str, str] = ("", ""),
    ) -> None:
        self.lock = lock or LockFile(None)
        self._cache = cache
        self._say = say or (lambda name, words: None)
        self._silence = silence
        self._ssh = Ssh(accept_new_host_keys, *ssh_files)
        self._running = Running()
        self._mirrors: dict[str, Mirror] = {}
        self._synced: dict[str, GitError | None] = {}
        self._guard = threading.RLock()
        self._turns: dict[str, threading.RLock] = {}
        self._temporary: Path | None = None
        self._remove_temporary: Callable[[], object] = lambda: None

    def sync(self, remotes: Sequence[Remote], *, force: bool = False) -> dict[Remote, Update]:
        """Fetch the remotes that are due, or all with ``force``; returns the changes by remote.

        If a remote cannot be fetched, an error is logged with the age of its copy, which is used.
        """
        # Of remotes that share a copy, the one with the shortest interval.
        by_key = {self.mirror(each).key: each for each in sorted(remotes, key=lambda each: -each.update_interval)}
        wanted = [remote for key, remote in by_key.items() if force or key not in self._synced]
        due = [remote for remote in wanted if force or self._is_due(remote)]
        by_remote: dict[Remote, Update] = {}
        if len(due) > 1:
            with ThreadPoolExecutor(WIDTH, "git") as pool:
                try:
                    updates = list(pool.map(lambda remote: self._fetch(remote, force), due))
                except BaseException:  # Ctrl-C: the pool would wait for all fetches
                    self.stop()
                    raise
        else:
            updates = [self._fetch(remote, force) for remote in due]
        for remote, update in zip(due, updates, strict=True):
            if update is not None:
                by_remote[remote] = update
        return by_remote

    def resolve(self, remote: Remote, ref: str) -> tuple[Mirror, str, str] | None:
        """(copy, commit, tree) of a branch, tag or hash of a remote: as pinned by the lock file, else the current one.

        None if the remote has no such ref. Raises GitError if there is no copy, or the pinned commit cannot be found;
        ConfigError if ``--locked`` forbids it.
        """
        mirror = self.mirror(remote)
        with self._turn(mirror):
            url = remote.address.url
            kinds = {"branch": f"refs/heads/{ref}", "tag": f"{TAGS}{ref}"}
            for kind in remote.ref_types:
                commit = self.lock.revision(url, kinds[kind]) if kind in kinds and self.lock.exists else None
                if commit is not None:
                    return mirror, commit, self._tree(mirror, commit)
            self._require(mirror)
            oid = mirror.commit(ref, remote.ref_types)
            if oid is None and mirror.key not in self._synced and ref in remote.named_refs():
                # Remotes with pins are not fetched at the start; this ref is not pinned yet, and newer than the copy.
                self._fetch(remote, True)
                oid = mirror.commit(ref, remote.ref_types)
            if oid is None and "sha" in remote.ref_types and is_sha(ref) and len(ref) in (40, 64):
                named = ref in remote.named_refs()
                try:
                    return mirror, ref.lower(), self._tree(mirror, ref.lower(), whole=named)
                except GitError:  # a saltenv that is a commit hash exists in one remote only
                    if named:
                        raise
            if oid is None:
                return None
            name, commit, tree = oid
            if name != ref:
                self.lock.add(url, name, commit)
            return mirror, commit, tree

    def refs(self, remote: Remote) -> tuple[list[str], list[str]]:
        """Branches and tags of a remote; only pinned ones if the lock file has the remote."""
        pinned = self.lock.refs(remote.address.url)
        if pinned is not None:
            names = list(pinned)
            return (
                [name.removeprefix("refs/heads/") for name in names if name.startswith("refs/heads/")],
                [name.removeprefix(TAGS) for name in names if name.startswith(TAGS)],
            )
        mirror = self.mirror(remote)
        self._require(mirror)
        note = mirror.note
        assert note is not None
        return note.names(BRANCHES), note.names(TAGS)

    def trouble(self, remote: Remote) -> GitError | None:
        """The error with which this command could not fetch a remote; None without one."""
        return self._synced.get(self.mirror(remote).key)

    def repaired(self, mirror: Mirror, commit: str, number: int) -> None:
        """Rebuild a copy in which an object is damaged; ``number``: that of the damaged one. Raises GitError."""
        with self._turn(mirror):
            try:
                mirror.rebuild(number, self._words(mirror), commit)
            except OSError as exc:
                raise GitError(f"{mirror.remote.shown}: the copy in the cache cannot be repaired: {exc}") from None
            except GitError as exc:
                raise GitError(
                    f"{mirror.remote.shown}: the copy in the cache is damaged, and the remote cannot be fetched: "
                    f"{exc.message}",
                    hint=exc.hint,
                ) from None
            finally:
                self._say(mirror.remote.shown, "")

    def mirror(self, remote: Remote) -> Mirror:
        with self._guard:
            mirror = self._new(remote, self._cache)
            return self._mirrors.setdefault(mirror.key, mirror)

    def clear(self, remotes: Sequence[Remote]) -> list[Remote]:
        """Remove the copies of these remotes, which are fetched again on demand; returns those that had one."""
        cleared = []
        for remote in remotes:
            mirror = self.mirror(remote)
            with self._turn(mirror):
                mirror.close()
                if remove(self._cache, mirror.key):
                    cleared.append(remote)
            with self._guard:
                self._mirrors.pop(mirror.key, None)
                self._synced.pop(mirror.key, None)
        return cleared

    def stop(self) -> None:
        """End running fetches, from any thread."""
        self._running.stop()

    def close(self) -> None:
        """End the processes that read objects; they are started again on demand."""
        with self._guard:
            for mirror in self._mirrors.values():
                mirror.close()
            if self._temporary is not None:
                self._remove_temporary()
                self._temporary = None
                self._mirrors.clear()

    # ---

    def _new(self, remote: Remote, cache: Path) -> Mirror:
        return Mirror(cache, remote, running=self._running, silence=self._silence, ssh=self._ssh)

    def _turn(self, mirror: Mirror) -> threading.RLock:
        with self._guard:
            return self._turns.setdefault(mirror.key, threading.RLock())

    def _words(self, mirror: Mirror) -> Callable[[str], None]:
        return lambda words: self._say(mirror.remote.shown, words)

    def _is_due(self, remote: Remote) -> bool:
        mirror = self.mirror(remote)
        if mirror.note is not None and self.lock.refs(remote.address.url) is not None:
            return False  # pinned: not fetched
        return mirror.is_due(remote.update_interval)

    def _fetch(self, remote: Remote, force: bool) -> Update | None:
        mirror = self.mirror(remote)
        with self._turn(mirror):
            if not force and mirror.key in self._synced:
                return None
            self._say(remote.shown, "fetching")
            began = time.monotonic()
            try:
                update = mirror.update(0 if force else remote.update_interval, self._words(mirror))
            except StoppedError:
                raise
            except OSError as exc:
                return self._without_cache(remote, exc)
            except GitError as exc:
                self._synced[mirror.key] = exc
                self._complain(remote, mirror, exc)
                return None
            finally:
                self._say(remote.shown, "")
            self._synced[mirror.key] = None
            log.info("git: %s fetched in %.1f s", remote.shown, time.monotonic() - began)
            return update

    def _complain(self, remote: Remote, mirror: Mirror, exc: GitError) -> None:
        note = mirror.note
        hint = f" ({exc.hint})" if exc.hint else ""
        if isinstance(exc, OldGitError):  # this git cannot read the copy either
            log.error("git: %s cannot be fetched: %s%s", remote.shown, exc.message, hint)
            return
        if note is None:
            log.error("git: %s cannot be fetched, and there is no copy of it: %s%s", remote.shown, exc.message, hint)
            return
        ref = remote.ref("base") if remote.role == "gitfs" else remote.branch
        commit = mirror.commit(ref or remote.base, remote.ref_types)
        revision = f", {ref} at {commit[1][:12]}" if commit else ""
        log.warning(
            "git: %s cannot be fetched: %s%s; the copy of %s ago is used%s",
            remote.shown,
            exc.message,
            hint,
            _age(time.time() - note.fetched),
            revision,
        )

    def _without_cache(self, remote: Remote, exc: OSError) -> Update | None:
        """Handle a cache that cannot be written: use its copy if there is one, else fetch a temporary copy."""
        mirror = self.mirror(remote)
        log.warning("git: the cache of %s cannot be used: %s", remote.shown, exc.strerror or exc)
        if mirror.note is not None:
            self._synced[mirror.key] = None
            return None
        with self._guard:
            if self._temporary is None:
                self._temporary = Path(tempfile.mkdtemp(prefix="pushsalt-git-"))
                self._remove_temporary = weakref.finalize(self, shutil.rmtree, self._temporary, ignore_errors=True)
            mirror = self._mirrors[mirror.key] = self._new(remote, self._temporary)
        try:
            update = mirror.update(0, self._words(mirror))
            self._synced[mirror.key] = None
            return update
        except (GitError, OSError) as trouble:
            error = trouble if isinstance(trouble, GitError) else GitError(str(trouble))
            self._synced[mirror.key] = error
            self._complain(remote, mirror, error)
            return None

    def _require(self, mirror: Mirror) -> None:
        """Raises GitError, with the reason, if there is no copy."""
        if mirror.note is not None:
            return
        if mirror.key not in self._synced:
            self._fetch(mirror.remote, False)
            mirror = self.mirror(mirror.remote)
        if mirror.note is None:
            reason = self._synced.get(mirror.key)
            detail = f": {reason.message}; {reason.hint}" if reason else ""
            raise GitError(f"{mirror.remote.shown} has never been fetched{detail}", hint=reason.hint if reason else "")

    def _tree(self, mirror: Mirror, commit: str, whole: bool = True) -> str:
        """The tree of a commit, which may be in no ref; it is fetched by its hash if the copy lacks it."""
        tree = mirror.tree_of(commit) if mirror.note is not None else None
        if tree is None:
            try:
                mirror.update(0, self._words(mirror), wanted=commit, whole=whole)
            except OSError as exc:
                raise GitError(f"{mirror.remote.shown}: {exc}") from None
            except StoppedError:
                raise
            except GitError as exc:
                raise GitError(
                    f"{mirror.remote.shown}: the commit {commit} is not in the cache and cannot be fetched: "
                    f"{exc.message}",
                    hint=exc.hint,
                ) from None
            finally:
                self._say(mirror.remote.shown, "")
            tree = mirror.tree_of(commit)
        if tree is None:
            words = f"the commit {commit} is not in the cache, and the remote does not have it any more"
            raise GitError(f"{mirror.remote.shown}: {words}; {_MOVED}", hint=_MOVED)
        return tree


def _age(seconds: float) -> str:
    for size, word in ((86400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {word}s"
    return f"{max(0, seconds):.0f} seconds"


def named(remotes: Iterable[Remote], words: Sequence[str]) -> list[Remote]:
    """The remotes with these names, URLs or repository names; all if ``words`` is empty."""
    wanted = {word.removesuffix(".git").rstrip("/") for word in words}
    return [
        remote
        for remote in remotes
        if not wanted
        or wanted & {remote.name, remote.address.name, remote.address.url.removesuffix(".git").rstrip("/")}
    ]


def default_remotes(opts: Mapping[str, Any]) -> Remotes:
    """Remotes for a file server without a project: the cache of the options, or the user's; no lock file."""
    cache = opts.get("cache_dir")
    home = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Remotes(Path(cache) if cache else Path(home).expanduser() / "pushsalt")
