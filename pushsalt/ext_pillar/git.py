"""Pillar trees of git repositories, each with its own top file, merged in the order of the configuration.

::

    ext_pillar:
      - git:
        - master https://example.org/pillar.git
        - __env__ https://example.org/more.git:
          - root: pillar
          - mountpoint: web

Salt: salt.pillar.git_pillar, salt.utils.gitfs.GitPillar.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pushsalt.errors import StateError
from pushsalt.ext_pillar import Outside
from pushsalt.files.found import Listing, merged
from pushsalt.fileserver import FileServer
from pushsalt.git.settings import ANY_ENV, Remote, pillar_remotes
from pushsalt.git.tree import CommitTree, GitFile, mounted
from pushsalt.pillar import compile_pillar
from pushsalt.pillar.merge import PillarMerge

if TYPE_CHECKING:
    from pushsalt.git.remotes import Remotes

log = logging.getLogger(__name__)


def ext_pillar(minion_id: str, pillar: dict[str, Any], *repos: Any, outside: Outside) -> dict[str, Any]:
    """``repos``: ``BRANCH URL``, or a mapping of that to the remote's options.

    Raises ConfigError for invalid options, GitError for a remote that cannot be read, and StateError with all errors of
    a tree.
    """
    from pushsalt.fileserver.trees import PillarTree

    assert outside.remotes is not None
    opts = outside.opts
    configured = pillar_remotes(repos, opts)
    remotes = outside.remotes()
    remotes.sync(configured)
    roots = [root for remote in configured if (root := _root(remotes, remote, opts)) is not None]
    merge = PillarMerge.of(opts)
    wanted = opts.get("pillarenv")
    merged: dict[str, Any] = {}
    for root in roots:
        if root.mountpoint or (wanted and root.env != wanted):
            continue
        seen = [root]
        if opts.get("git_pillar_includes", True):
            seen += [other for other in roots if other.env == root.env and other is not root]
        files = FileServer({}, backends=[_Overlay(root.env, seen)])
        context = replace(outside.context, fileserver=files)
        own = {**opts, "ext_pillar": [], "decrypt_pillar": [], "pillar_roots": {root.env: []}}
        result = compile_pillar(
            minion_id, own, PillarTree(files, context), outside.matches, saltenv=root.env, pillarenv=wanted or None
        )
        if result.errors:
            raise StateError([f"{root.remote.shown}: {text}" for text in result.errors])
        merged = merge(merged, result.pillar)
    return merged


class _Root:
    """The tree of a remote as the pillar environment that it provides."""

    def __init__(self, remote: Remote, tree: CommitTree, env: str) -> None:
        self.remote = remote
        self.tree = tree
        self.env = env
        self.mountpoint = remote.mountpoint

    def find(self, path: str) -> GitFile | None:
        inside = path
        if self.mountpoint:
            if not path.startswith(f"{self.mountpoint}/"):
                return None
            inside = path[len(self.mountpoint) + 1 :]
        return self.tree.find(f"{self.remote.root}/{inside}" if self.remote.root else inside, path)

    def listing(self) -> Listing:
        return mounted(self.tree.listing(self.remote.root), self.mountpoint)


class _Overlay:
    """File server backend of several roots of the same environment: the first root that has a file wins."""

    def __init__(self, env: str, roots: list[_Root]) -> None:
        self._env = env
        self._roots = roots

    def envs(self) -> list[str]:
        return [self._env]

    def find(self, path: str, saltenv: str) -> GitFile | None:
        if saltenv != self._env:
            return None
        return next((file for root in self._roots if (file := root.find(path)) is not None), None)

    def listing(self, saltenv: str) -> Listing:
        return merged([root.listing() for root in self._roots] if saltenv == self._env else [])


def _root(remotes: Remotes, remote: Remote, opts: Mapping[str, Any]) -> _Root | None:
    """The tree of a remote; None, with a log message, if it has no such branch or tag."""
    now = str(opts.get("pillarenv") or opts.get("saltenv") or "base")
    ref = remote.branch
    if ref == ANY_ENV:
        ref = remote.all_saltenvs or (remote.base if now == "base" else now)
    resolved = remotes.resolve(remote, ref)
    if resolved is None and remote.fallback:
        resolved = remotes.resolve(remote, remote.fallback)
    if resolved is None:
        log.error("git_pillar: %s has no branch or tag %s: it is not used", remote.shown, ref)
        return None
    if remote.branch == ANY_ENV and remote.all_saltenvs is not None:
        env = now
    elif remote.env:
        env = remote.env
    else:
        env = "base" if ref == remote.base else ref
    if env == ANY_ENV:
        env = str(opts.get("pillarenv") or opts.get("saltenv") or opts.get("git_pillar_base") or "base")
    tree = CommitTree(remotes, *resolved, remote.limit)
    if remote.root and not tree.is_folder(remote.root):
        log.error("git_pillar: %s has no folder %s: it is not used", tree.label, remote.root)
        return None
    return _Root(remote, tree, env)
