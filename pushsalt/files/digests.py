"""Digests of files on the controller's disk, each computed once until the file changes.

A process keeps all of them in memory. Between commands they are cached on disk if there was much to hash, since reading
the cache costs more than hashing a few files. A file is identified by path, device, inode, size and times; one that
changed within the last seconds is not cached, since another change could have the same times.
"""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from typing import Any, Final

#: The cache is read if at least this number of files, or of bytes, must be hashed.
MANY_FILES: Final = 200
MANY_BYTES: Final = 16 * 1024 * 1024
#: Seconds in which a file can change twice with the same times.
RACY: Final = 3.0
#: Limit of entries in the cache; above it, only entries that this process has used are kept.
LIMIT: Final = 100_000

Key = tuple[Any, ...]


class Digests:
    """Digests by key: ``get(key, status)``, ``add(key, status, digest)``; ``keep_in`` sets the cache, ``keep`` writes
    new entries to it.
    """

    def __init__(self) -> None:
        self._known: dict[Key, str] = {}
        self._lock = threading.Lock()
        self._cache_dir: Path | None = None
        self._kept: dict[Key, str] | None = None  # the content of the cache, None until it is read
        self._fresh: dict[Key, str] = {}  # entries to write
        self._new = 0
        self._files = self._bytes = 0

    def keep_in(self, cache_dir: Path) -> None:
        if cache_dir != self._cache_dir:
            self._cache_dir, self._kept = cache_dir, None

    def get(self, key: Key, status: os.stat_result) -> str | None:
        """The digest of a file with this key, or None."""
        digest = self._known.get(key)
        if digest is not None:
            return digest
        with self._lock:
            self._files += 1
            self._bytes += status.st_size
            if self._kept is None and (self._files > MANY_FILES or self._bytes > MANY_BYTES):
                self._kept = {**self._read(), **self._fresh}
            digest = (self._kept or {}).get(key)
        if digest is not None:
            self._known[key] = digest
        return digest

    def add(self, key: Key, status: os.stat_result, digest: str) -> None:
        self._known[key] = digest
        if max(status.st_mtime, status.st_ctime) < time.time() - RACY:
            with self._lock:
                self._new += 1
                (self._fresh if self._kept is None else self._kept)[key] = digest

    def keep(self) -> None:
        """Write new entries to the cache, if there are many."""
        with self._lock:
            bank, kept = self._bank(), self._kept
            if bank is None or kept is None or not self._new:
                return
            self._new = 0
            if len(kept) > LIMIT:
                kept = {key: digest for key, digest in kept.items() if key in self._known}
            bank.put("files", [[list(key), digest] for key, digest in kept.items()])

    def _read(self) -> dict[Key, str]:
        bank = self._bank()
        entries = bank.get("files") if bank is not None else None
        try:
            return {tuple(key): digest for key, digest in entries or ()}
        except (TypeError, ValueError):
            return {}

    def _bank(self) -> Any:
        from pushsalt.cache.store import Bank

        return Bank(self._cache_dir, "digests") if self._cache_dir is not None else None


def key_of(path: str, hash_type: str, status: os.stat_result) -> Key:
    return (
        path,
        hash_type,
        status.st_dev,
        status.st_ino,
        status.st_size,
        status.st_mtime_ns,
        status.st_ctime_ns,
    )


#: The digests of this process.
digest_cache: Final = Digests()
