"""Locks of targets between the processes of one user: each is one byte of a file, and ends with its process."""

from __future__ import annotations

import asyncio
import fcntl
import hashlib
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from pushsalt import privatefolder

#: Seconds between two attempts to get a lock.
_PAUSE: Final = 1.0


class TargetLocks:
    """The locks in a file, which is made when the first one is taken.

    The file is opened once: the kernel releases all locks of a process on a file when the process closes one of its
    descriptors.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor: int | None = None

    @asynccontextmanager
    async def held(self, id: str) -> AsyncIterator[None]:
        """A context with the lock of a target; waits while another process has it.

        If the file cannot be used, the context is entered without a lock.
        """
        offset = int.from_bytes(hashlib.sha256(id.encode("utf-8", "surrogateescape")).digest()[:7], "big")
        while not self._take(offset):  # noqa: ASYNC110 - another process has the lock
            await asyncio.sleep(_PAUSE)
        try:
            yield
        finally:
            if self._descriptor is not None:
                fcntl.lockf(self._descriptor, fcntl.LOCK_UN, 1, offset)

    def close(self) -> None:
        """Release all locks."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)

    def _take(self, offset: int) -> bool:
        try:
            if self._descriptor is None:
                privatefolder.private_dir(self._path.parent)
                self._descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            fcntl.lockf(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, offset)
        except (BlockingIOError, PermissionError):
            return self._descriptor is None
        except OSError:
            return True
        return True
