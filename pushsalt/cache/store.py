"""Entries of the cache as files with version and checksum, private to the user. Each is written to a temporary file,
synced and renamed.

Byte layout of an entry::

    8 bytes  b"pushsalt"        4 bytes  big-endian version of the layout of the data
    32 bytes SHA-256 of the rest                 rest: msgpack

A damaged, unknown or outdated entry counts as missing, with one warning. If the cache cannot be written, ``Bank.put``
logs a warning and the work continues.
"""

from __future__ import annotations

import contextlib
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
#: bytes before the data; the last 32 are its checksum
HEAD: Final = len(MAGIC) + 4 + 32


def write_atomic(path: Path, data: bytes, mode: int = 0o600) -> None:
    """Replace a file atomically: readers always see the complete old or new content. Raises OSError."""
    aside = write_aside(path, data, mode)
    try:
        aside.replace(path)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise


def write_aside(path: Path, data: bytes, mode: int = 0o600) -> Path:
    """Write a temporary file in the same folder, synced, to be renamed. Raises OSError."""
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
    """An entry in a temporary file, to be committed or discarded. Methods raise OSError."""

    def __init__(self, path: Path, data: bytes) -> None:
        self._path = path
        self._data = data
        self._same = stamp(path)
        #: None if the entry has this value already and is only touched
        self._aside = None if self._same is not None and file_bytes(path) == data else write_aside(path, data)
        self.done = False

    @property
    def name(self) -> str:
        """The name of the temporary file; empty if the entry is only touched."""
        return self._aside.name if self._aside is not None else ""

    def commit(self) -> None:
        """Move the file into place. Must be called at most once."""
        if self.done:
            return
        if self._aside is not None:
            self._aside.replace(self._path)
        elif stamp(self._path) == self._same:
            os.utime(self._path, follow_symlinks=False)
        else:  # another controller has written a different value since
            write_atomic(self._path, self._data)
        self.done = True

    def discard(self) -> None:
        """Remove the temporary file."""
        if self._aside is not None and not self.done:
            self._aside.unlink(missing_ok=True)


class Bank:
    """Entries of one kind by key (any text): ``get``, ``put``, ``delete``, ``keys``. Values: types of msgpack."""

    def __init__(self, root: Path, name: str) -> None:
        self.path = root / name
        self._complained = False

    def _file(self, key: str) -> Path:
        # File names are hashes of keys, so that an id cannot lead out of the folder, nor collide if case is ignored.
        return self.path / hashlib.sha256(key.encode("utf-8", "surrogateescape")).hexdigest()[:40]

    def get(self, key: str) -> Any | None:
        """The value; None if it is missing or damaged."""
        entry = self._read(self._file(key))
        return entry["value"] if entry is not None and entry.get("key") == key else None

    def put(self, key: str, value: Any) -> bool:
        """Store the value. False, with one warning, if it cannot be written.

        An entry with the same value is only touched, since syncing a file is slow.
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
        """Remove the entry. Returns whether it existed."""
        try:
            self._file(key).unlink()
        except OSError:
            return False
        return True

    def keys(self) -> Iterator[str]:
        """The keys of all undamaged entries, in no particular order."""
        return (key for key, _, _ in self.entries())

    def entries(self) -> Iterator[tuple[str, Any, float]]:
        """All undamaged entries as (key, value, time of the write in seconds since the epoch)."""
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
        """Remove all entries, damaged ones included; returns their number."""
        return self._remove(lambda path: True)

    def sweep(self, before: float) -> int:
        """Remove damaged and unknown files, and temporary files older than this time; returns their number."""
        self._complained = True  # no warnings: the damaged entries are removed here

        def useless(path: Path) -> bool:
            if path.name.startswith("."):
                return (_written(path) or before) < before
            return self._read(path) is None

        return self._remove(useless)

    def problems(self) -> list[str]:
        """Damage of the entries on disk, as texts. Nothing is changed."""
        before, self._complained = self._complained, True  # the caller reports the damage
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
        """Remove entries that were last written or touched before this time; returns their number."""
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
        """Set the time of an unchanged entry to now."""
        try:
            os.utime(self._file(key), follow_symlinks=False)
        except OSError:
            pass

    def written(self, key: str) -> float | None:
        """The time of the entry, in seconds since the epoch; None if it is missing."""
        return _written(self._file(key))

    def set_time(self, key: str, seconds: float) -> None:
        """Set the time of an entry that was written later than its value was learnt."""
        with contextlib.suppress(OSError):
            os.utime(self._file(key), (seconds, seconds), follow_symlinks=False)

    def _read(self, path: Path) -> dict[str, Any] | None:
        return self._parsed(path, file_bytes(path))

    def _parsed(self, path: Path, data: bytes | None) -> dict[str, Any] | None:
        """The entry from the bytes of its file."""
        if data is None:
            return None
        if len(data) < HEAD or not data.startswith(MAGIC):
            self._complain("%s: %s is not a cache entry; it is ignored", self.path.name, path.name)
            return None
        if int.from_bytes(data[8:12], "big") != VERSION:
            return None
        if hashlib.sha256(data[HEAD:]).digest() != data[12:HEAD]:
            self._complain("%s: entry %s is damaged; it is ignored, and will be rebuilt", self.path.name, path.name)
            return None
        try:
            return dict(wire.unpack(data[HEAD:]))
        except ValueError as exc:
            self._complain("%s: entry %s is damaged (%s); it is ignored", self.path.name, path.name, exc)
            return None

    def _complain(self, text: str, *args: object) -> None:
        if not self._complained:
            self._complained = True
            log.warning(text, *args)


#: Inode, time of change in nanoseconds, and size of a file.
Stamp = tuple[int, int, int]


def stamp(path: Path) -> Stamp | None:
    """A value that changes when the file changes; None if it is missing."""
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
    """The content of a regular file; None for anything else, and if it cannot be read."""
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
