"""Objects of a bare repository, read by hash through one long-lived ``git cat-file --batch``.

Each object is verified by its hash. Trees and small blobs are cached in memory. Thread-safe.
"""

from __future__ import annotations

import hashlib
import io
import subprocess
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple

from pushsalt.git import DamagedError, GitError
from pushsalt.git.process import environment, git_argv

#: Maximum size in bytes of a blob that is read into memory; larger ones are streamed.
LARGE: Final = 8 * 1024 * 1024
_KEPT_BLOBS: Final = 32 * 1024 * 1024
#: Maximum size in bytes of a tree object, since it is decoded as a whole.
_MAX_TREE: Final = 64 * 1024 * 1024
_PIECE: Final = 1024 * 1024
#: Maximum number of paths in a listing: a few small trees that contain each other many times could have any number.
MAX_PATHS: Final = 1_000_000

TREE: Final = 0o040000
LINK: Final = 0o120000
SUBMODULE: Final = 0o160000


class Entry(NamedTuple):
    """One name of a tree. ``mode`` as git has it: TREE, LINK, SUBMODULE, 0o100644 or 0o100755."""

    mode: int
    oid: str


@dataclass(frozen=True)
class Measure:
    """Size and digests of a blob."""

    size: int
    sha256: str


class Objects:
    """The objects of one repository. Raises DamagedError for objects that are missing or do not match their hash."""

    def __init__(self, git_dir: Path) -> None:
        self.git_dir = git_dir
        self._lock = threading.RLock()
        self._process: subprocess.Popen[bytes] | None = None
        self._trees: dict[str, Mapping[str, Entry]] = {}
        self._blobs: OrderedDict[str, bytes] = OrderedDict()
        self._kept = 0
        self._measures: dict[str, Measure] = {}
        self._end: weakref.finalize[..., Objects] | None = None

    def tree(self, oid: str) -> Mapping[str, Entry]:
        """The entries of a tree by name, without names that no file system allows (``..``, with a slash)."""
        entries = self._trees.get(oid)
        if entries is None:
            kind, data = self._read(oid, _MAX_TREE)
            if kind != "tree" or data is None:
                raise DamagedError(f"{self.git_dir}: object {oid} is not a tree")
            entries = self._trees[oid] = _entries(data, len(oid) // 2)
        return entries

    def blob(self, oid: str, limit: int) -> bytes | None:
        """The content of a blob; None if it has more than ``limit`` bytes."""
        with self._lock:
            if oid in self._blobs:
                self._blobs.move_to_end(oid)
                return self._blobs[oid]
            measured = self._measures.get(oid)
            if measured is not None and measured.size > limit:
                return None
            kind, data = self._read(oid, limit)
            if kind != "blob":
                raise DamagedError(f"{self.git_dir}: object {oid} is not a file")
            if data is not None and len(data) <= LARGE:
                self._keep(oid, data)
            return data

    def measure(self, oid: str) -> Measure:
        """Size and SHA-256 of a blob."""
        with self._lock:
            if oid not in self._measures:
                self.blob(oid, LARGE)
            return self._measures[oid]

    def stream(self, oid: str) -> BinaryIO:
        """A file object that reads a blob of any size."""
        if self.measure(oid).size <= LARGE:
            data = self.blob(oid, LARGE)
            assert data is not None
            return io.BytesIO(data)
        return io.BufferedReader(_Stream(self.git_dir, oid), _PIECE)

    def commit_tree(self, oid: str) -> str | None:
        """The tree of a commit; None if the repository does not have the commit. Tags are followed."""
        for _ in range(8):
            try:
                kind, data = self._read(oid, _MAX_TREE)
            except DamagedError:
                return None
            if data is None:
                return None
            header = data.split(b"\n", 1)[0].split(b" ", 1)
            if kind == "tree":
                return oid
            if kind not in ("commit", "tag") or header[0] not in (b"tree", b"object") or len(header) != 2:
                return None
            oid = header[1].decode("ascii", "replace")
        return None

    def walk(self, tree: str) -> Iterator[tuple[str, Entry]]:
        """(path, entry) for every path below a tree, sorted, folders before their content.

        Raises GitError for more than MAX_PATHS.
        """
        waiting = [("", tree)]
        left = MAX_PATHS
        while waiting:
            above, oid = waiting.pop()
            for name, entry in sorted(self.tree(oid).items(), reverse=True):
                path = f"{above}{name}"
                left -= 1
                if left < 0:
                    raise GitError(f"{self.git_dir}: a tree has more than {MAX_PATHS} paths")
                if entry.mode == TREE:
                    waiting.append((f"{path}/", entry.oid))
                yield path, entry

    def close(self) -> None:
        with self._lock:
            if self._end is not None:
                self._end()
            self._process = self._end = None

    # the process

    def _read(self, oid: str, limit: int) -> tuple[str, bytes | None]:
        """(kind, content); content of more than ``limit`` bytes is only measured, not returned."""
        with self._lock:
            try:
                return self._ask(oid, limit)
            except (OSError, ValueError) as exc:
                self.close()
                raise DamagedError(f"{self.git_dir}: object {oid} cannot be read: {exc}") from None
            except DamagedError:
                raise
            except BaseException:  # the answer was not read completely: the process cannot be used again
                self.close()
                raise

    def _ask(self, oid: str, limit: int) -> tuple[str, bytes | None]:
        process = self._process or self._start()
        assert process.stdin and process.stdout
        process.stdin.write(f"{oid}\n".encode())
        process.stdin.flush()
        header = process.stdout.readline(4096).split()
        if len(header) != 3:
            if len(header) != 2 or header[1] != b"missing":
                self.close()
            raise DamagedError(f"{self.git_dir}: object {oid} is missing")
        kind, size = header[1].decode(), int(header[2])
        if size <= limit and size < _PIECE:  # the common case: read at once
            data = process.stdout.read(size + 1)
            if len(data) != size + 1:
                raise ValueError("the answer ends early")
            data = data[:-1]
            if _hash(kind, size, len(oid), data).hexdigest() != oid:
                raise DamagedError(f"{self.git_dir}: object {oid} is damaged")
            if kind == "blob":
                self._measures[oid] = Measure(size, hashlib.sha256(data).hexdigest())
            return kind, data
        checks = _Checks(kind, size, len(oid))
        pieces: list[bytes] | None = [] if size <= limit else None
        left = size
        while left:
            piece = process.stdout.read(min(left, _PIECE))
            if not piece:
                raise ValueError("the answer ends early")
            left -= len(piece)
            checks.update(piece)
            if pieces is not None:
                pieces.append(piece)
        if process.stdout.read(1) != b"\n":
            raise ValueError("the answer has no end mark")
        if checks.oid != oid:
            raise DamagedError(f"{self.git_dir}: object {oid} is damaged")
        if kind == "blob":
            self._measures[oid] = Measure(size, checks.sha256)
        return kind, None if pieces is None else b"".join(pieces)

    def _start(self) -> subprocess.Popen[bytes]:
        self.close()
        argv = git_argv(f"--git-dir={self.git_dir}", "cat-file", "--batch")
        process = _popen(argv, stdin=subprocess.PIPE)
        self._process = process
        self._end = weakref.finalize(self, _stop, process)
        return process

    def _keep(self, oid: str, data: bytes) -> None:
        self._blobs[oid] = data
        self._kept += len(data)
        while self._kept > _KEPT_BLOBS and len(self._blobs) > 1:
            self._kept -= len(self._blobs.popitem(last=False)[1])


def _hash(kind: str, size: int, hex_digits: int, data: bytes = b"") -> hashlib._Hash:
    """A hash object for an object's name, fed with its header and this content."""
    make = hashlib.sha1 if hex_digits == 40 else hashlib.sha256
    digest = make(b"%s %d\0" % (kind.encode(), size), usedforsecurity=False)
    digest.update(data)
    return digest


class _Checks:
    """Computes the hashes of an object incrementally."""

    def __init__(self, kind: str, size: int, hex_digits: int) -> None:
        self._own = _hash(kind, size, hex_digits)
        self._sha256 = hashlib.sha256() if kind == "blob" else None
        self.update: Callable[[bytes], None] = self._both if self._sha256 else self._own.update

    def _both(self, piece: bytes) -> None:
        self._own.update(piece)
        assert self._sha256
        self._sha256.update(piece)

    @property
    def oid(self) -> str:
        return self._own.hexdigest()

    @property
    def sha256(self) -> str:
        assert self._sha256
        return self._sha256.hexdigest()


class _Stream(io.RawIOBase):
    """A large blob, read from a separate git process."""

    def __init__(self, git_dir: Path, oid: str) -> None:
        super().__init__()
        self._process = _popen(git_argv(f"--git-dir={git_dir}", "cat-file", "blob", oid), stdin=subprocess.DEVNULL)
        self._end = weakref.finalize(self, _stop, self._process)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        assert self._process.stdout
        data = self._process.stdout.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        if not self.closed:
            self._end()
        super().close()


def _popen(argv: list[str], stdin: int) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            argv,
            env=environment(),
            cwd="/",
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C must not reach it
        )
    except FileNotFoundError:
        raise GitError("there is no git on this machine", hint="install the package git") from None


def _stop(process: subprocess.Popen[bytes]) -> None:
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            try:
                stream.close()
            except OSError:
                pass
    if process.poll() is None:
        process.kill()
    process.wait()


def _entries(data: bytes, hash_size: int) -> Mapping[str, Entry]:
    """Parse a tree object: a sequence of ``mode name NUL hash``."""
    entries: dict[str, Entry] = {}
    at, end = 0, len(data)
    while at < end:
        space = data.find(b" ", at, at + 8)
        nul = data.find(b"\0", space + 1)
        if space < 0 or nul < 0 or nul + hash_size >= end + 1:
            raise DamagedError("a tree object is truncated")
        name = data[space + 1 : nul]
        mode = int(data[at:space], 8)
        at = nul + 1 + hash_size
        if name in (b"", b".", b"..") or b"/" in name:
            continue
        entries[name.decode("utf-8", "surrogateescape")] = Entry(mode, data[nul + 1 : at].hex())
    return entries
