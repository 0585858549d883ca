"""Finds and lists the files of one commit below a root; follows links within the tree."""

from __future__ import annotations

import hashlib
import posixpath
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, BinaryIO, Final, TypeVar

from pushsalt.files.found import MAX_READ, FileServerError, Listing
from pushsalt.git import DamagedError, GitError
from pushsalt.git.objects import LINK, SUBMODULE, TREE, Entry, Objects

if TYPE_CHECKING:
    from pushsalt.git.mirror import Mirror
    from pushsalt.git.remotes import Remotes
    from pushsalt.trust import Limit

Result = TypeVar("Result")

#: Maximum number of links in the resolution of one path.
_LINKS: Final = 40
_MAX_LINK: Final = 4096


@dataclass(frozen=True)
class GitFile:
    """A file of a commit. ``path`` is for messages: ``https://host/repo.git@1a2b3c4d5e6f:dir/file``."""

    rel: str
    path: str
    mode: int
    oid: str
    tree: CommitTree = field(compare=False, repr=False)

    @property
    def limit(self) -> Limit | None:
        """The renderers that files of the remote may use."""
        return self.tree.limit

    @property
    def size(self) -> int:
        return self.tree.read(lambda objects: objects.measure(self.oid).size)

    def read(self) -> bytes:
        data = self.tree.read(lambda objects: objects.blob(self.oid, MAX_READ))
        if data is None:
            raise FileServerError(f"{self.path} is larger than {MAX_READ} bytes")
        return data

    def open(self) -> BinaryIO:
        return self.tree.read(lambda objects: objects.stream(self.oid))

    def digest(self, hash_type: str = "sha256") -> str:
        if hash_type == "sha256":
            return self.tree.read(lambda objects: objects.measure(self.oid).sha256)
        key = (self.oid, hash_type)
        if key not in _digests:
            hasher = hashlib.new(hash_type, usedforsecurity=False)
            with self.open() as stream:
                while piece := stream.read(1024 * 1024):
                    hasher.update(piece)
            _digests[key] = hasher.hexdigest()
        return _digests[key]


#: (blob's hash, kind of digest) -> digest
_digests: dict[tuple[str, str], str] = {}


class CommitTree:
    """The tree of a commit of a remote. If the cache is damaged, its objects are fetched again."""

    def __init__(self, remotes: Remotes, mirror: Mirror, commit: str, tree: str, limit: Limit | None = None) -> None:
        """``limit``: that of the remote; other remotes that share the copy may have another limit."""
        self.commit = commit
        self.limit = limit
        self.oid = tree
        self.label = f"{mirror.remote.address.shown}@{commit[:12]}"
        self._remotes = remotes
        self._mirror = mirror
        self._listings: dict[str, Listing] = {}
        self._complete = not mirror.remote.filter
        self._guard = threading.Lock()

    def find(self, path: str, rel: str) -> GitFile | None:
        """The file at a normalized path of the repository; ``rel`` is its path in the file server."""
        resolved = self.read(lambda objects: self._resolve(objects, path))
        if resolved is None or resolved[1].mode in (TREE, SUBMODULE, LINK):
            return None
        inside, entry = resolved
        return GitFile(rel, f"{self.label}:{inside}", entry.mode & 0o777, entry.oid, self)

    def listing(self, root: str) -> Listing:
        """All paths below a folder of the repository, relative to it."""
        with self._guard:
            if root not in self._listings:
                self._listings[root] = self.read(lambda objects: self._list(objects, root))
            return self._listings[root]

    def is_folder(self, path: str) -> bool:
        entry = self.read(lambda objects: self._resolve(objects, path))
        return entry is not None and entry[1].mode == TREE

    def folder(self, path: str) -> list[str]:
        """The names in a folder of the repository; empty for anything else."""
        entry = self.read(lambda objects: self._resolve(objects, path) if path else ("", Entry(TREE, self.oid)))
        if entry is None or entry[1].mode != TREE:
            return []
        return sorted(self.read(lambda objects: objects.tree(entry[1].oid)))

    def read(self, work: Callable[[Objects], Result]) -> Result:
        """Call ``work`` with the objects. Raises GitError if they are damaged and cannot be fetched again."""
        if not self._complete:
            with self._guard:
                if not self._complete:
                    self._mirror.complete(self.oid)
                    self._complete = True
        note = self._mirror.note
        try:
            return work(self._mirror.objects)
        except DamagedError:
            self._remotes.repaired(self._mirror, self.commit, note.number if note else 0)
            try:
                return work(self._mirror.objects)
            except DamagedError as exc:
                raise GitError(f"{self.label} cannot be read: {exc.message}") from None

    def _resolve(self, objects: Objects, path: str) -> tuple[str, Entry] | None:
        """(path, entry) with links resolved; None if the path does not exist or leads out of the tree."""
        waiting = path.split("/")[::-1]
        way: list[tuple[str, str]] = []  # (name, tree's hash) of the folders so far
        links = 0
        entry = Entry(TREE, self.oid)
        while waiting:
            name = waiting.pop()
            if name in ("", "."):
                continue
            if name == "..":
                if not way:
                    return None
                way.pop()
                entry = Entry(TREE, way[-1][1] if way else self.oid)
                continue
            if entry.mode != TREE:
                return None
            above = entry.oid
            child = objects.tree(above).get(name)
            if child is None:
                return None
            if child.mode == LINK:
                links += 1
                target = objects.blob(child.oid, _MAX_LINK)
                if links > _LINKS or not target or target.startswith(b"/"):
                    return None
                waiting += target.decode("utf-8", "surrogateescape").split("/")[::-1]
                continue
            entry = child
            if child.mode == TREE:
                way.append((name, child.oid))
            elif [part for part in waiting if part not in ("", ".")]:
                return None
            else:
                return "/".join([*(part for part, _ in way), name]), entry
        return "/".join(part for part, _ in way), entry

    def _list(self, objects: Objects, root: str) -> Listing:
        resolved = self._resolve(objects, root) if root else ("", Entry(TREE, self.oid))
        if resolved is None or resolved[1].mode != TREE:
            return Listing()
        top = resolved[0]
        files: list[str] = []
        dirs: list[str] = []
        links: dict[str, str] = {}
        for path, entry in objects.walk(resolved[1].oid):
            if entry.mode == TREE:
                dirs.append(path)
            elif entry.mode == LINK:
                target = (objects.blob(entry.oid, _MAX_LINK) or b"").decode("utf-8", "surrogateescape")
                inside = f"{top}/{path}" if top else path
                if not target or not _stays(inside, target):
                    continue
                leads = self._resolve(objects, inside)
                links[path] = target
                if leads is not None:
                    (dirs if leads[1].mode == TREE else files).append(path)
            elif entry.mode != SUBMODULE:
                files.append(path)
        return Listing(sorted(files), sorted(dirs), (), links)


def _stays(path: str, target: str) -> bool:
    """Whether the destination of a link is within the tree, by its text."""
    end = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
    return not end.startswith("/") and end.split("/", 1)[0] != ".."


def mounted(listing: Listing, mountpoint: str) -> Listing:
    """The listing with the mountpoint before all paths."""
    if not mountpoint or not (listing.files or listing.dirs or listing.links):
        return listing
    above = mountpoint
    dirs = {f"{mountpoint}/{path}" for path in listing.dirs}
    while above:
        dirs.add(above)
        above = posixpath.dirname(above)
    return Listing(
        [f"{mountpoint}/{path}" for path in listing.files],
        sorted(dirs),
        (),
        {f"{mountpoint}/{path}": target for path, target in listing.links.items()},
    )
