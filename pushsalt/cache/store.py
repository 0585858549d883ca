"""Files of the cache: written aside, synced and renamed; each with a version and a checksum; private to their user.

Byte layout of an entry::

    8 bytes  b"pushsalt"        4 bytes  big-endian version of the layout of the data
    32 bytes SHA-256 of the rest                 rest: msgpack

A damaged, foreign or outdated entry reads as absent and is said once; a cache that cannot be written costs nothing but
the memory: ``Bank.put`` says so and the work goes on.
"""

from __future__ import annotations

import hashlib
import logging
import os
import secrets
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from pushsalt.privatefolder import private_dir as private_dir
from thin import wire

log = logging.getLogger(__name__)

MAGIC = b"pushsalt"
VERSION = 1
#: bytes before the data, of which the last 32 are its checksum
HEAD: Final = len(MAGIC) + 4 + 32


def write_atomic(path: Path, data: bytes, mode: int = 0o600) -> None:
    """Replace the file by these bytes: readers see the old or the new content, whatever happens. Raises OSError."""
    aside = write_aside(path, data, mode)
    try:
        aside.replace(path)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise


def write_aside(path: Path, data: bytes, mode: int = 0o600) -> Path:
    """A new file beside it with these bytes, synced, to be renamed. Raises OSError."""
    aside = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
    descriptor = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
    try:
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(descriptor, view) :]
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise
    return aside


class Staged:
    """An entry that is ready to be kept: on disk already, but not in its place. Methods raise OSError."""

    def __init__(self, path: Path, data: bytes) -> None:
        self._path = path
        self._data = data
        self._same = stamp(path)
        #: None when the entry says the same already, so that it is only touched
        self._aside = None if self._same is not None and file_bytes(path) == data else write_aside(path, data)
        self.done = False

    @property
    def name(self) -> str:
        """The file that is to be the entry; empty when that is there already."""
        return self._aside.name if self._aside is not None else ""

    def commit(self) -> None:
        """Put it in its place, once."""
        if self.done:
            return
        if self._aside is not None:
            self._aside.replace(self._path)
        elif stamp(self._path) == self._same:
            os.utime(self._path, follow_symlinks=False)
        else:  # another controller has written something else since
            write_atomic(self._path, self._data)
        self.done = True

    def discard(self) -> None:
        """Another one is kept instead."""
        if self._aside is not None and not self.done:
            self._aside.unlink(missing_ok=True)


class Bank:
    """Entries of one kind by key (any text): ``get``, ``put``, ``delete``, ``keys``. Values as msgpack has them."""

    def __init__(self, root: Path, name: str) -> None:
        self.path = root / name
        self._complained = False

    def _file(self, key: str) -> Path:
        # Keys become names by hashing: an id can never leave the folder or collide on a case-folding disk.
        return self.path / hashlib.sha256(key.encode("utf-8", "surrogateescape")).hexdigest()[:40]

    def get(self, key: str) -> Any | None:
        """The value, or None when there is none or it is damaged."""
        entry = self._read(self._file(key))
        return entry["value"] if entry is not None and entry.get("key") == key else None

    def put(self, key: str, value: Any) -> bool:
        """Keep the value. False, with one warning, when it cannot be written.

        An entry that says the same already is only touched: a sync costs more than all else that a target takes here.
        """
        try:
            self._stage(key, value).commit()
        except OSError as exc:
            self._complain("cannot keep %s in the cache: %s", self.path.name, exc)
            return False
        return True

    def _stage(self, key: str, value: Any) -> Staged:
        body = wire.pack({"key": key, "value": value})
        private_dir(self.path)
        return Staged(self._file(key), MAGIC + VERSION.to_bytes(4, "big") + hashlib.sha256(body).digest() + body)

    def delete(self, key: str) -> bool:
        """Forget the entry; True when there was one."""
        try:
            self._file(key).unlink()
        except OSError:
            return False
        return True

    def keys(self) -> Iterator[str]:
        """Every key with a sound entry, in no particular order."""
        return (key for key, _, _ in self.entries())

    def entries(self) -> Iterator[tuple[str, Any, float]]:
        """Every sound entry as key, value, and when it was written, in seconds since the epoch."""
        for path in self._files():
            entry = self._read(path)
            seen = _written(path)
            if entry is not None and isinstance(entry.get("key"), str) and seen is not None:
                yield entry["key"], entry.get("value"), seen

    def _files(self) -> list[Path]:
        try:
            return [path for path in self.path.iterdir() if not path.name.startswith(".")]
        except OSError:
            return []

    def clear(self) -> int:
        """Forget every entry, sound or not; how many there were."""
        return self._remove(lambda path: True)

    def sweep(self, before: float) -> int:
        """Remove damaged and foreign files, and what killed writes left before this time; how many there were."""
        self._complained = True  # this is what gets rid of them

        def useless(path: Path) -> bool:
            if path.name.startswith("."):
                return (_written(path) or before) < before
            return self._read(path) is None

        return self._remove(useless)

    def problems(self) -> list[str]:
        """What is wrong with the entries on disk, in words. Nothing is changed."""
        before, self._complained = self._complained, True  # the caller says it
        try:
            paths = sorted(path for path in self.path.iterdir() if not path.name.startswith("."))
            return [f"entry {path.name} is damaged" for path in paths if not self._is_sound(path)]
        except OSError as exc:
            return [] if isinstance(exc, FileNotFoundError) else [str(exc)]
        finally:
            self._complained = before

    def _is_sound(self, path: Path) -> bool:
        entry = self._read(path)
        return entry is not None and isinstance(entry.get("key"), str) and self._file(entry["key"]) == path

    def expire(self, before: float) -> int:
        """Forget what was written, or last kept anew, before this time; how many there were."""
        return self._remove(lambda path: (_written(path) or before) < before)

    def _remove(self, chosen: Callable[[Path], bool]) -> int:
        try:
            paths = [path for path in self.path.iterdir() if chosen(path)]
        except OSError:
            return 0
        removed = 0
        for path in paths:
            try:
                path.unlink()
                removed += not path.name.startswith(".")
            except OSError as exc:
                self._complain("%s: %s cannot be removed: %s", self.path.name, path.name, exc)
        return removed

    def _touch(self, key: str) -> None:
        """It is as it was: only its age begins anew."""
        try:
            os.utime(self._file(key), follow_symlinks=False)
        except OSError:
            pass

    def written(self, key: str) -> float | None:
        """When the entry was written, in seconds since the epoch; None when there is none."""
        return _written(self._file(key))

    def _read(self, path: Path) -> dict[str, Any] | None:
        return self._parsed(path, file_bytes(path))

    def _parsed(self, path: Path, data: bytes | None) -> dict[str, Any] | None:
        """The entry in what was read of its file."""
        if data is None:
            return None
        if len(data) < HEAD or not data.startswith(MAGIC):
            self._complain("%s: %s is no cache entry; ignored", self.path.name, path.name)
            return None
        if int.from_bytes(data[8:12], "big") != VERSION:
            return None
        if hashlib.sha256(data[HEAD:]).digest() != data[12:HEAD]:
            self._complain("%s: entry %s is damaged; ignored, it will be rebuilt", self.path.name, path.name)
            return None
        try:
            return dict(wire.unpack(data[HEAD:]))
        except ValueError as exc:
            self._complain("%s: entry %s is damaged (%s); ignored", self.path.name, path.name, exc)
            return None

    def _complain(self, text: str, *args: object) -> None:
        if not self._complained:
            self._complained = True
            log.warning(text, *args)


#: Inode, time of change in nanoseconds, and size of a file.
Stamp = tuple[int, int, int]


def stamp(path: Path) -> Stamp | None:
    """Tells one state of a file from another; None when there is none."""
    try:
        status = path.lstat()
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns, status.st_size


def _written(path: Path) -> float | None:
    try:
        return path.lstat().st_mtime
    except OSError:
        return None


def file_bytes(path: Path) -> bytes | None:
    """What is in a regular file, or None: also of what cannot be read, and of a folder."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        with os.fdopen(descriptor, "rb", closefd=False) as stream:
            return stream.read()
    except OSError:
        return None
    finally:
        os.close(descriptor)
