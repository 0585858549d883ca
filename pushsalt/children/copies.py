"""Git remotes in a render process, which only reads their copies in the cache; the command fetches them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pushsalt.errors import StateError
from pushsalt.git import GitError
from pushsalt.git.lockfile import LockFile, lock_path
from pushsalt.git.mirror import Mirror
from pushsalt.git.remotes import Remotes

if TYPE_CHECKING:
    from pushsalt.children.codec import Ask
    from pushsalt.config import Config
    from pushsalt.git.note import Update
    from pushsalt.git.settings import Remote


class _Copy(Mirror):
    def __init__(self, *args: Any, ask: Ask, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._ask = ask

    def complete(self, tree: str) -> None:
        if self.remote.filter:
            self._ask("git", do="complete", key=self.key, tree=tree)


class Copies(Remotes):
    """Reads the copies; the command resolves refs to commits, and fetches if necessary."""

    def __init__(self, config: Config, ask: Ask) -> None:
        super().__init__(config.cache_dir, LockFile(lock_path(config), config.locked))
        self._ask = ask
        self._copies: dict[tuple[str, str], Mirror] = {}

    def sync(self, remotes: Sequence[Remote], *, force: bool = False) -> dict[Remote, Update]:
        self._ask("git", do="sync", keys=[self.mirror(each).key for each in remotes])
        return {}

    def resolve(self, remote: Remote, ref: str) -> tuple[Mirror, str, str] | None:
        resolved = self._git_answer(partial(self._ask, "git", do="resolve", key=self.mirror(remote).key, ref=ref))
        if resolved is None:
            return None
        cache, commit, tree = resolved
        mirror = self.mirror(remote)
        mirror.look_again()
        if cache != str(self._cache):  # the command could not use the cache, and has made a temporary copy
            with self._guard:
                mirror = self._copies.setdefault((cache, mirror.key), self._new(remote, Path(cache)))
        return mirror, commit, tree

    def refs(self, remote: Remote) -> tuple[list[str], list[str]]:
        branches, tags = self._git_answer(partial(self._ask, "git", do="refs", key=self.mirror(remote).key))
        return list(branches), list(tags)

    def trouble(self, remote: Remote) -> GitError | None:
        text = self._ask("git", do="trouble", key=self.mirror(remote).key)
        return GitError(*text) if text else None

    def repaired(self, mirror: Mirror, commit: str, number: int) -> None:
        self._git_answer(partial(self._ask, "git", do="repaired", key=mirror.key, commit=commit, number=number))
        mirror.look_again()

    def _new(self, remote: Remote, cache: Path) -> Mirror:
        return _Copy(cache, remote, running=self._running, silence=self._silence, ssh=self._ssh, ask=self._ask)

    @staticmethod
    def _git_answer(ask: Callable[[], Any]) -> Any:
        try:
            return ask()
        except StateError as exc:
            raise GitError(exc.message, exc.hint) from None
