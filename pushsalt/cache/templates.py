"""The cache of compiled templates, always in the user's own ``~/.cache/pushsalt/templates``, not in ``--cache-dir``.

Its files are executed. So it must be a folder, not a link, that belongs to the user and is private; if it is not, one
warning is logged and nothing is cached. The folder is opened once, and its files relative to the descriptor, so that it
cannot be replaced meanwhile. Each file must belong to the user too, and has a checksum::

    8 bytes  b"psjinja1"        32 bytes SHA-256 of the rest        rest: marshalled code
"""

from __future__ import annotations

import hashlib
import logging
import os
import secrets
import stat
import threading
import time
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Final

from pushsalt.cache.store import private_dir

log = logging.getLogger(__name__)

MAGIC: Final = b"psjinja1"
_HEAD: Final = len(MAGIC) + 32
#: Number and bytes of files above which the least recently used ones are removed.
MAX_FILES, MAX_BYTES = 8192, 64 * 2**20
#: Maximum size of a file in bytes.
MAX_FILE: Final = 4 * 2**20
#: Seconds after which the time of a file in use is updated.
_TOUCH: Final = 24 * 3600
#: The limits are applied at the first of this number of writes.
_PRUNE_EVERY: Final = 1000
_FLAGS: Final = os.O_NOFOLLOW | os.O_CLOEXEC


def folder(env: Mapping[str, str] = os.environ) -> Path | None:
    """The folder for this user; None without a home folder."""
    base, home = Path(env.get("XDG_CACHE_HOME", "")), Path(env.get("HOME", ""))
    if not base.is_absolute():
        if not home.is_absolute():
            return None
        base = home / ".cache"
    return base / "pushsalt" / "templates"


@lru_cache(maxsize=8)
def store_in(path: Path) -> TemplateStore:
    """The store of a folder, shared within the process."""
    return TemplateStore(path)


class TemplateStore:
    """``pushsalt.render.code.CodeStore`` in a folder, which is opened or created on first use."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._descriptor: int | None = None
        self._usable = True
        self._written = 0

    def get(self, name: str) -> bytes | None:
        descriptor = self._open()
        if descriptor is None:
            return None
        try:
            file = os.open(name, os.O_RDONLY | os.O_NONBLOCK | _FLAGS, dir_fd=descriptor)
        except OSError:
            return None
        try:
            status = os.fstat(file)
            if not stat.S_ISREG(status.st_mode) or not _is_private(status) or status.st_size > MAX_FILE:
                return None
            with os.fdopen(file, "rb", closefd=False) as stream:
                data = stream.read(MAX_FILE)
            if time.time() - status.st_mtime > _TOUCH:
                os.utime(file)
        except OSError:
            return None
        finally:
            os.close(file)
        if not data.startswith(MAGIC) or hashlib.sha256(data[_HEAD:]).digest() != data[len(MAGIC) : _HEAD]:
            log.info("%s: %s is damaged; it will be written again", self.path, name)
            return None
        return data[_HEAD:]

    def put(self, name: str, data: bytes) -> None:
        descriptor = self._open()
        if descriptor is None or len(data) + _HEAD > MAX_FILE:
            return
        aside = f".{name[:16]}.{secrets.token_hex(6)}"
        try:
            file = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FLAGS, 0o600, dir_fd=descriptor)
            try:
                with os.fdopen(file, "wb") as stream:
                    stream.write(MAGIC + hashlib.sha256(data).digest() + data)
                os.rename(aside, name, src_dir_fd=descriptor, dst_dir_fd=descriptor)
            except BaseException:
                os.unlink(aside, dir_fd=descriptor)
                raise
        except OSError as exc:
            self._usable = False
            log.info("compiled templates are not kept in %s: %s", self.path, exc)
        self._prune(descriptor)

    def _open(self) -> int | None:
        """The descriptor of the checked folder; None if nothing can be cached."""
        if self._descriptor is None and self._usable:
            with self._lock:
                if self._descriptor is None and self._usable:
                    self._descriptor = self._opened()
                    self._usable = self._descriptor is not None
        return self._descriptor if self._usable else None

    def _opened(self) -> int | None:
        try:
            private_dir(self.path)
            descriptor = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | _FLAGS)
        except (PermissionError, NotADirectoryError) as exc:
            log.warning(
                "compiled templates are not cached: %s; make it your own private folder (chmod 700), or remove it", exc
            )
            return None
        except OSError as exc:
            log.info("compiled templates are not kept in %s: %s", self.path, exc)
            return None
        if not _is_private(os.fstat(descriptor)):  # it was replaced meanwhile
            os.close(descriptor)
            return None
        return descriptor

    def _prune(self, descriptor: int) -> None:
        """Remove files above the limits, and temporary files. Called rarely, since it is slow."""
        with self._lock:
            self._written += 1
            if self._written % _PRUNE_EVERY != 1:
                return
        try:
            with os.scandir(descriptor) as entries:
                files = sorted(
                    (status.st_mtime, status.st_size, entry.name)
                    for entry in entries
                    if (status := entry.stat(follow_symlinks=False))
                )
        except OSError:
            return
        number, size, now = len(files), sum(entry[1] for entry in files), time.time()
        for used, length, name in files:
            enough = number <= MAX_FILES and size <= MAX_BYTES
            if enough and not (name.startswith(".") and now - used > _TOUCH):
                continue
            try:
                os.unlink(name, dir_fd=descriptor)
            except OSError:
                continue
            number, size = number - 1, size - length


def _is_private(status: os.stat_result) -> bool:
    return status.st_uid == os.geteuid() and not status.st_mode & 0o022
