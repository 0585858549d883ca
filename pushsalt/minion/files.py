"""The file server for renderings: records which files they find and read; looks each file up once for many targets.

Outside of recordings, each look-up reads the disk: one for a plan looks whether the file of an earlier plan is still
the same, one for a target searches the roots.
"""

from __future__ import annotations

import hashlib
import itertools
import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, BinaryIO, Final, cast

from pushsalt.files.found import DiskFile
from pushsalt.memo.keys import Key, key_of
from pushsalt.memo.reads import ReadSource, Recording, current, spoil, takes_time
from pushsalt.trust import limit_of

if TYPE_CHECKING:
    from pushsalt.files.found import FoundFile
    from pushsalt.fileserver import FileServer, SlsFile

#: Seconds for which a snapshot is used for further targets.
FRESH: Final = 1.0
#: Bytes; the content of larger files is not kept in memory.
_KEPT: Final = 1024 * 1024
_numbers: Final = itertools.count()


class Snapshot:
    """Cached look-ups of a file server; new renderings use a newer snapshot after FRESH seconds. Thread-safe."""

    def __init__(self, files: FileServer) -> None:
        self.files = files
        self.number = next(_numbers)
        self.made = time.monotonic()
        self._found: dict[tuple[str, str], FoundFile | None] = {}
        self._content: dict[tuple[str, str], tuple[bytes | None, Key]] = {}
        self._listed: dict[tuple[str, tuple[Any, ...]], tuple[Any, Key]] = {}

    def is_fresh(self) -> bool:
        return time.monotonic() - self.made < FRESH

    def find(self, saltenv: str, path: str) -> FoundFile | None:
        place = (saltenv, path)
        try:
            return self._found[place]
        except KeyError:
            takes_time()
            file = self._found[place] = self.files.find(path, saltenv)
            return file

    def content(self, saltenv: str, path: str) -> bytes:
        """The content of a file. Raises FileServerError."""
        kept = self._read(saltenv, path)[0]
        if kept is not None:
            return kept
        file = self.find(saltenv, path)
        assert file is not None
        return file.read()

    def listed(self, question: str, args: tuple[Any, ...]) -> Any:
        return self._list(question, args)[0]

    def key(self, kind: str, *place: Any) -> Key:
        """The key of a read: ``find`` or ``read`` with (saltenv, path), ``list`` with (method, arguments)."""
        if kind == "find":
            file = self.find(*place)
            return file.path if file is not None else None
        return self._list(*place)[1] if kind == "list" else self._read(*place)[1]

    def _read(self, saltenv: str, path: str) -> tuple[bytes | None, Key]:
        place = (saltenv, path)
        cached = self._content.get(place)
        if cached is None:
            takes_time()
            file = self.find(saltenv, path)
            data = file.read() if file is not None else b""
            mode = file.mode if file is not None else 0
            key = (len(data), mode, hashlib.blake2b(data, digest_size=20).digest())
            cached = self._content[place] = (data if len(data) <= _KEPT else None, key)
        return cached

    def _list(self, question: str, args: tuple[Any, ...]) -> tuple[Any, Key]:
        cached = self._listed.get((question, args))
        if cached is None:
            takes_time()
            answer = getattr(self.files, question)(*args)
            cached = self._listed[question, args] = (answer, key_of(answer))
        return cached


class PlanFiles:
    """Finds the files of plans. For FRESH seconds, a further plan looks only whether a file was changed."""

    def __init__(self, files: FileServer) -> None:
        self._files = files
        self._made = time.monotonic()
        self._found: dict[tuple[str, str], DiskFile] = {}

    def is_fresh(self) -> bool:
        return time.monotonic() - self._made < FRESH

    def find(self, path: str, saltenv: str) -> FoundFile | None:
        found = self._found.get((saltenv, path))
        if found is not None and found.is_unchanged:
            return found
        file = self._files.find(path, saltenv)
        if isinstance(file, DiskFile):
            self._found[saltenv, path] = file
        return file


class RecordedFiles:
    """``FileServer`` for the renderings of one target."""

    def __init__(self, files: FileServer, tree: str, inputs: ReadSource, snapshot: Callable[[], Snapshot]) -> None:
        self._files = files
        self._tree = tree
        self._inputs = inputs
        self._snapshot = snapshot

    def _noting(self) -> Recording | None:
        """The recording of this target's rendering, if one is open in this thread; else None."""
        top = current()
        if top is not None and top.inputs is not self._inputs:
            top.spoil("reads files for another target")
            return None
        return top

    def find(self, path: str, saltenv: str = "base") -> Any:
        top = self._noting()
        if top is None:
            return self._files.find(path, saltenv)
        top.note(("find", self._tree, saltenv, path))
        file = self._snapshot().find(saltenv, path)
        return None if file is None else RecordedFile(file, self, saltenv, path)

    def read(self, path: str, saltenv: str = "base") -> bytes | None:
        file = self.find(path, saltenv)
        return None if file is None else file.read()

    def sls_path(self, sls: str, saltenv: str = "base") -> SlsFile | None:
        from pushsalt.fileserver import FileServer

        return FileServer.sls_path(cast("FileServer", self), sls, saltenv)

    def noted(self, saltenv: str, path: str) -> Snapshot | None:
        """Record that a file's content is read; returns the snapshot to read it from, None for the disk."""
        top = self._noting()
        if top is None:
            return None
        top.note(("read", self._tree, saltenv, path))
        return self._snapshot()

    def _ask(self, question: str, *args: Any, **kwargs: Any) -> Any:
        top = self._noting()
        if top is None or kwargs:
            spoil("it lists files")
            return getattr(self._files, question)(*args, **kwargs)
        top.note(("list", self._tree, question, args))
        answer = self._snapshot().listed(question, args)
        return dict(answer) if isinstance(answer, dict) else list(answer)

    def __getattr__(self, question: str) -> Callable[..., Any]:
        """The file server's methods that list something (``envs``, ``list_states`` …); the call is recorded."""
        if question.startswith("_"):
            raise AttributeError(question)
        return partial(self._ask, question)


class RecordedFile:
    """A found file; access to its content is recorded as a read."""

    def __init__(self, file: FoundFile, files: RecordedFiles, saltenv: str, path: str) -> None:
        self._found = file
        self._files = files
        self._place = (saltenv, path)
        self.path = file.path
        self.rel = file.rel
        self.limit = limit_of(file)

    @property
    def size(self) -> int:
        self._files.noted(*self._place)
        return self._found.size

    @property
    def mode(self) -> int:
        self._files.noted(*self._place)
        return self._found.mode

    def read(self) -> bytes:
        snapshot = self._files.noted(*self._place)
        return self._found.read() if snapshot is None else snapshot.content(*self._place)

    def open(self) -> BinaryIO:
        self._files.noted(*self._place)
        return self._found.open()

    def digest(self, hash_type: str = "sha256") -> str:
        self._files.noted(*self._place)
        return self._found.digest(hash_type)
