"""Git repositories as file roots (``gitfs_remotes``). Branches and tags are saltenvs; the first remote wins.

Salt: salt.fileserver.gitfs, salt.utils.gitfs.GitFS.
"""

from __future__ import annotations

import logging
import posixpath
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pushsalt.files.found import Listing, merged
from pushsalt.fileserver.ignored import Ignored
from pushsalt.git.address import is_sha
from pushsalt.git.settings import Remote, gitfs_remotes
from pushsalt.git.tree import CommitTree, GitFile, mounted

if TYPE_CHECKING:
    from pushsalt.git.remotes import Remotes

log = logging.getLogger(__name__)


def backend(opts: Mapping[str, Any], remotes: Remotes | None = None) -> GitFS:
    return GitFS(opts, remotes)


class GitFS:
    """The backend. Each ref of a remote is resolved once, so a run uses one revision."""

    def __init__(self, opts: Mapping[str, Any], remotes: Remotes | None = None) -> None:
        """Fetches the remotes that are due, in parallel. Raises ConfigError for invalid options."""
        self._configured = gitfs_remotes(opts)
        self._ignored = Ignored(opts)
        self._trees: dict[tuple[int, str], CommitTree | None] = {}
        self._envs: list[str] | None = None
        if self._configured and remotes is None:
            from pushsalt.git.remotes import default_remotes

            remotes = default_remotes(opts)
        self._remotes = remotes
        if self._configured and remotes is not None:
            remotes.sync(self._configured)

    def envs(self) -> list[str]:
        if self._envs is None:
            names: set[str] = set()
            for remote in self._configured:
                names |= remote.envs_of(*self._source.refs(remote))
            self._envs = sorted(names)
        return self._envs

    def configured_envs(self) -> list[str]:
        return [saltenv for remote in self._configured for saltenv in remote.saltenvs]

    def find(self, path: str, saltenv: str) -> GitFile | None:
        if self._ignored and self._ignored(path):
            return None
        for number, remote in enumerate(self._configured):
            root, mountpoint = remote.place(saltenv)
            if mountpoint and not path.startswith(f"{mountpoint}/"):
                continue
            tree = self._tree(number, saltenv)
            if tree is not None:
                inside = path[len(mountpoint) + 1 :] if mountpoint else path
                file = tree.find(f"{root}/{inside}" if root else inside, path)
                if file is not None:
                    return file
        return None

    def listing(self, saltenv: str) -> Listing:
        paths = []
        for number, remote in enumerate(self._configured):
            tree = self._tree(number, saltenv)
            if tree is not None:
                root, mountpoint = remote.place(saltenv)
                paths.append(mounted(tree.listing(root), mountpoint))
        return self._ignored.without(merged(paths)) if self._ignored else merged(paths)

    def list_folder(self, folder: str, saltenv: str) -> list[str]:
        names: set[str] = set()
        for number, remote in enumerate(self._configured):
            root, mountpoint = remote.place(saltenv)
            inside = folder
            if mountpoint:
                if f"{mountpoint}/".startswith(f"{folder}/"):
                    if mountpoint != folder and self._tree(number, saltenv) is not None:
                        names.add(f"{folder}/{mountpoint[len(folder) + 1 :].split('/')[0]}")
                        continue
                    inside = ""
                elif folder.startswith(f"{mountpoint}/"):
                    inside = folder[len(mountpoint) + 1 :]
                else:
                    continue
            tree = self._tree(number, saltenv)
            if tree is not None:
                names.update(f"{folder}/{name}" for name in tree.folder(posixpath.join(root, inside).strip("/")))
        return sorted(path for path in names if not self._ignored(path))

    def _tree(self, number: int, saltenv: str) -> CommitTree | None:
        """The tree of a remote for a saltenv; None if it does not have it."""
        key = (number, saltenv)
        if key not in self._trees:
            self._trees[key] = self._resolved(self._configured[number], saltenv)
        return self._trees[key]

    def _resolved(self, remote: Remote, saltenv: str) -> CommitTree | None:
        if not remote.is_exposed(saltenv):
            return None
        # The lock file may not pin all refs: a saltenv that is requested by name is looked up.
        pinned = self._source.lock.refs(remote.address.url) is not None and not self._source.lock.strict
        ref = remote.ref(saltenv)
        if ref is None:
            return None
        commit = None
        if pinned or is_sha(saltenv) or remote.fallback or saltenv in self.envs():
            commit = self._source.resolve(remote, ref)
        if commit is None and remote.fallback:
            commit = self._source.resolve(remote, remote.fallback)
        if commit is None and saltenv == "base":
            self._without_base(remote)
        return None if commit is None else CommitTree(self._source, *commit, remote.limit)

    def _without_base(self, remote: Remote) -> None:
        """Warn about a remote without the ref of the saltenv base: Salt's default is ``master``, which many lack."""
        branches, tags = self._source.refs(remote)
        log.warning(
            "git: %s has no branch or tag %r, so it has no files in the saltenv base: set its `base` (it has %s), "
            "or `saltenv_blacklist: [base]`",
            remote.shown,
            remote.base,
            ", ".join([*branches, *tags][:5]) or "none",
        )

    @property
    def _source(self) -> Remotes:
        assert self._remotes is not None
        return self._remotes
