"""The spool: undelivered returns on disk, in a folder per returner below ``returns`` of the cache folder.

An item is a JSON file ``<nanoseconds>-<attempts>-<random>.json``, 0600 in folders 0700, with its kind, key, profile and
redacted arguments. A lock on the folder allows one command at a time to send items; all may add some. If the folder
exceeds its maximum size, the oldest items are removed.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import secrets
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from pushsalt import regular
from pushsalt.privatefolder import private_dir

#: seconds after which an item is dropped
LONGEST: Final = 7 * 86400
_MOST_ATTEMPTS: Final = 999
#: functions that an item may name
_KINDS: Final = ("save_load", "returner", "event_return")


@dataclass(frozen=True)
class Item:
    """One call of a returner. ``kind`` is the name of the function, ``text`` its arguments, a list as JSON.

    ``key`` is the same for each attempt. ``attempts``: calls that failed. ``path``: its file in the spool.
    """

    kind: str
    key: str
    text: str
    attempts: int = 0
    path: Path | None = None

    @property
    def arguments(self) -> list[Any]:
        """A copy of the arguments for one call."""
        values: list[Any] = json.loads(self.text)
        return values


def folder_name(name: str, profile: str) -> str:
    """The folder of a returner; a profile may have any name."""
    return f"{name}@{hashlib.sha256(profile.encode()).hexdigest()[:16]}" if profile else name


def waiting(cache_dir: Path) -> list[tuple[str, str]]:
    """The returners (name, profile) that have items, by their oldest ones."""
    items: list[tuple[str, str]] = []
    top = cache_dir / "returns"
    try:
        folders = sorted(private_dir(top).iterdir()) if top.is_dir() else []
    except OSError:  # the folder belongs to another user; `add` reports it
        return items
    for folder in folders:
        path = next((path for path in _listed(folder)), None)
        row = _read(path) if path is not None else None
        if row is not None:
            name, profile = str(row.get("name")), str(row.get("profile") or "")
            if folder_name(name, profile) == folder.name:
                items.append((name, profile))
    return items


class Spool:
    """The items of one returner. Methods raise OSError, also if the folder belongs to another user."""

    def __init__(self, cache_dir: Path, name: str, profile: str, most: int) -> None:
        """``most``: maximum size of all its items in bytes."""
        self._top = cache_dir / "returns"
        self.folder = self._top / folder_name(name, profile)
        self._named = {"name": name, "profile": profile}
        self._most = most
        self._size: int | None = None
        self._lock: int | None = None
        #: items that were dropped for lack of space, or for their age
        self.lost = 0

    def add(self, item: Item) -> None:
        """Store an item."""
        row = {**self._named, "kind": item.kind, "key": item.key, "text": item.text}
        data = json.dumps(row).encode()
        self._make_room(len(data))
        name = f"{time.time_ns():020}-{min(item.attempts, _MOST_ATTEMPTS):03}-{secrets.token_hex(4)}.json"
        aside = self.folder / f".{name}"
        descriptor = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
            aside.rename(self.folder / name)
        except BaseException:
            aside.unlink(missing_ok=True)
            raise
        self._size = (self._size or 0) + len(data)

    def claim(self) -> bool:
        """Take the lock. Returns whether this process may send the items: another one may be sending them."""
        if not self.folder.is_dir():
            return False
        private_dir(self._top)
        private_dir(self.folder)
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(self.folder / ".lock", flags, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(descriptor)
            return False
        self._lock = descriptor
        return True

    def items(self) -> Iterator[Item]:
        """All items, oldest first, for the process that has claimed them. Damaged and very old ones are removed."""
        oldest = time.time_ns() - LONGEST * 10**9
        for path in _listed(self.folder):
            row = _read(path)
            at, _, rest = path.name.partition("-")
            if row is None or int(at) < oldest:
                self.lost += 1
                path.unlink(missing_ok=True)
                continue
            yield Item(str(row["kind"]), str(row["key"]), str(row["text"]), int(rest.partition("-")[0]), path)

    @staticmethod
    def attempted(item: Item) -> Item:
        """Count one more attempt."""
        if item.path is None:
            return replace(item, attempts=item.attempts + 1)
        at, _, token = item.path.name.split("-")
        new = item.path.with_name(f"{at}-{min(item.attempts + 1, _MOST_ATTEMPTS):03}-{token}")
        item.path.rename(new)
        return replace(item, attempts=item.attempts + 1, path=new)

    @staticmethod
    def done(item: Item) -> None:
        """Remove an item."""
        if item.path is not None:
            item.path.unlink(missing_ok=True)

    def close(self) -> None:
        """Release the lock, so that other processes may send."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _make_room(self, size: int) -> None:
        private_dir(self._top)
        private_dir(self.folder)
        if self._size is None or self._size + size > self._most:
            sizes = [(path, _size(path)) for path in _listed(self.folder)]
            total = sum(each for _, each in sizes)
            for path, each in sizes:
                if total + size <= self._most:
                    break
                path.unlink(missing_ok=True)
                total -= each
                self.lost += 1
            self._size = total
        if size > self._most:
            raise OSError(f"an item of {size} bytes is more than `return_spool_size` allows")


def _listed(folder: Path) -> list[Path]:
    """The files of items, oldest first."""
    try:
        names = sorted(os.listdir(folder))  # noqa: PTH208 - half the time
    except OSError:
        return []
    return [folder / name for name in names if _is_item(name)]


def _is_item(name: str) -> bool:
    parts = name.removesuffix(".json").split("-")
    return name.endswith(".json") and len(parts) == 3 and parts[0].isdigit() and parts[1].isdigit()


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _read(path: Path) -> Mapping[str, Any] | None:
    """The content of a file; None if it is damaged."""
    try:
        row = json.loads(regular.read_bytes(path))
        good = all(isinstance(row[key], str) for key in ("name", "kind", "key", "text"))
        good = good and row["kind"] in _KINDS
        return row if good and isinstance(json.loads(row["text"]), list) else None
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return None
