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
from typing import Any

from thin import wire

log = logging.getLogger(__name__)

MAGIC = b"pushsalt"
VERSION = 1
_HEAD = len(MAGIC) + 4 + 32


def private_dir(path: Path) -> Path:
    """The folder, made 0700 (its missing parents too). Raises OSError, also when it is a link or another user's.

    A folder that others can write to is refused: what lies in it can't be trusted.
    """
    missing = []
    place = path
    while not place.exists():
        missing.append(place)
        place = place.parent
    for place in reversed(missing):
        try:
            place.mkdir(mode=0o700)
        except FileExistsError:
            continue
    found = path.lstat()
    if not stat.S_ISDIR(found.st_mode):
        raise NotADirectoryError(f"{path} is no folder")
    if found.st_uid != os.geteuid():
        raise PermissionError(f"{path} belongs to another user")
    if found.st_mode & 0o022:
        raise PermissionError(f"{path} can be written to by others (mode {stat.S_IMODE(found.st_mode):04o})")
    return path


def write_atomic(path: Path, data: bytes, mode: int = 0o600) -> None:
    """Replace the file by these bytes: readers see the old or the new content, whatever happens. Raises OSError."""
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
        aside.replace(path)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise


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
        body = wire.pack({"key": key, "value": value})
        try:
            private_dir(self.path)
            data = MAGIC + VERSION.to_bytes(4, "big") + hashlib.sha256(body).digest() + body
            path = self._file(key)
            if _bytes(path) == data:
                os.utime(path, follow_symlinks=False)
            else:
                write_atomic(path, data)
        except OSError as exc:
            self._complain("cannot keep %s in the cache: %s", self.path.name, exc)
            return False
        return True

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
        try:
            files = [path for path in self.path.iterdir() if not path.name.startswith(".")]
        except OSError:
            return
        for path in files:
            entry = self._read(path)
            seen = _written(path)
            if entry is not None and isinstance(entry.get("key"), str) and seen is not None:
                yield entry["key"], entry.get("value"), seen

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
        data = _bytes(path)
        if data is None:
            return None
        if len(data) < _HEAD or not data.startswith(MAGIC):
            self._complain("%s: %s is no cache entry; ignored", self.path.name, path.name)
            return None
        if int.from_bytes(data[8:12], "big") != VERSION:
            return None
        if hashlib.sha256(data[_HEAD:]).digest() != data[12:_HEAD]:
            self._complain("%s: entry %s is damaged; ignored, it will be rebuilt", self.path.name, path.name)
            return None
        try:
            return dict(wire.unpack(data[_HEAD:]))
        except ValueError as exc:
            self._complain("%s: entry %s is damaged (%s); ignored", self.path.name, path.name, exc)
            return None

    def _complain(self, text: str, *args: object) -> None:
        if not self._complained:
            self._complained = True
            log.warning(text, *args)


def _written(path: Path) -> float | None:
    try:
        return path.lstat().st_mtime
    except OSError:
        return None


def _bytes(path: Path) -> bytes | None:
    """What is in a regular file, or None."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return None
    with os.fdopen(descriptor, "rb") as stream:
        return stream.read() if stat.S_ISREG(os.fstat(descriptor).st_mode) else None
