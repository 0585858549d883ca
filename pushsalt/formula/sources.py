"""The sources of a project's formulas: git remotes at the revision in use, and folders of ``file_roots``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from pushsalt import regular
from pushsalt.files.found import FileServerError, FoundFile, Listing
from pushsalt.fileserver.backends.roots import Roots
from pushsalt.git.note import TAGS
from pushsalt.git.settings import ANY_ENV
from pushsalt.git.tree import CommitTree

if TYPE_CHECKING:
    from pushsalt.config import Config
    from pushsalt.git.remotes import Remotes
    from pushsalt.trust import Limit

_MARKS = ("FORMULA", "pillar.example", "VERSION")
_MAX = 4 * 1024 * 1024


class Source(Protocol):
    """The files of a formula. ``revision`` is the commit in use, ``tag`` a tag of it; both are empty for a plain
    folder.

    ``limit``: the renderers that it may use.
    """

    name: str
    place: str
    revision: str
    tag: str
    limit: Limit | None

    def text(self, path: str) -> str:
        """A file's text; empty if it is missing."""
        ...

    def read(self, path: str) -> bytes | None:
        """A file's content; None if it is missing."""
        ...

    def listing(self) -> Listing: ...


class FolderSource:
    """A checkout, or an unpacked archive; with a ``limit`` the copy of a remote."""

    def __init__(self, folder: Path, limit: Limit | None = None) -> None:
        self.name = folder.name
        self.place = str(folder)
        self.revision = ""
        self.tag = ""
        self.limit = limit
        self._roots = Roots({"file_roots": {"base": [str(folder)]}, "fileserver_followsymlinks": False})
        self._revision()

    def _revision(self) -> None:
        """The revision of a checkout, read from the files in ``.git`` without running git."""
        head = _first_line(Path(self.place, ".git", "HEAD"))
        if head.startswith("ref: "):
            head = _first_line(Path(self.place, ".git", head[5:])) if ".." not in head else ""
        self.revision = head if len(head) in (40, 64) else ""

    def text(self, path: str) -> str:
        return _text(self._roots.find(path, "base"))

    def read(self, path: str) -> bytes | None:
        file = self._roots.find(path, "base")
        return None if file is None else file.read()

    def listing(self) -> Listing:
        paths = self._roots.listing("base")
        return Listing([path for path in paths.files if not path.startswith(".git/")])


class RemoteSource:
    """A git remote, at the revision of the saltenv base or of its pillar environment."""

    def __init__(self, remotes: Remotes, remote: Any) -> None:
        """Raises GitError if it cannot be fetched."""
        self.name = remote.name or remote.address.name
        self.place = remote.address.shown
        ref = remote.ref("base") or remote.base
        if remote.role == "git_pillar" and remote.branch != ANY_ENV:
            ref = remote.branch
        resolved = remotes.resolve(remote, ref) or (
            remotes.resolve(remote, remote.fallback) if remote.fallback else None
        )
        if resolved is None:
            raise FileServerError(f"{remote.shown} has no branch or tag {ref}")
        mirror, commit, tree = resolved
        self.revision = commit
        self.root = remote.root
        self.limit: Limit | None = remote.limit
        self._tree = CommitTree(remotes, mirror, commit, tree, remote.limit)
        note = mirror.note
        tags = note.names(TAGS) if note is not None else []
        self.tag = max((tag for tag in tags if note and note.refs[TAGS + tag][0] == commit), default="")

    def text(self, path: str) -> str:
        return _text(self._tree.find(path, path))

    def read(self, path: str) -> bytes | None:
        file = self._tree.find(path, path)
        return None if file is None else file.read()

    def listing(self) -> Listing:
        return self._tree.listing("")


def folders(config: Config) -> Iterator[FolderSource]:
    """File roots that are formulas, and formulas that are folders of a file root."""
    roots: Mapping[str, list[str]] = config.opts.get("file_roots") or {}
    seen = set()
    for paths in roots.values():
        for path in map(Path, paths):
            if path in seen or not path.is_dir():
                continue
            seen.add(path)
            if is_formula(path):
                yield FolderSource(path)


def is_formula(folder: Path) -> bool:
    """Whether a folder is a formula: by a file FORMULA or its name, or by SLS one level below."""
    return any((folder / mark).is_file() for mark in _MARKS)


def _text(file: FoundFile | None) -> str:
    if file is None or file.size > _MAX:
        return ""
    return file.read().decode("utf-8", "replace")


def _first_line(path: Path) -> str:
    try:
        return regular.read_text(path, "replace").split("\n", 1)[0].strip() if path.is_file() else ""
    except OSError:
        return ""
