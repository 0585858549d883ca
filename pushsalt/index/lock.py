"""The file ``lock`` of an index: the writers' lock, and the mark of the last write. Layout: ``format``."""

from __future__ import annotations

import contextlib
import fcntl
import os
from pathlib import Path

from pushsalt.index import format
from pushsalt.index.files import FLAGS


class WritersLock:
    """A lock between processes; the caller must exclude its other threads. Methods raise OSError."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._fd = -1
        self._forked = False
        self._boot = b""
        #: the mark that this process wrote last
        self._marked = b""

    def take(self) -> None:
        """Wait for the lock and take it."""
        if self._fd < 0 or self._forked:
            self.close()
            self._fd = os.open(self.path, os.O_RDWR | os.O_CREAT | FLAGS, 0o600)
            self._boot = boot()
        fcntl.flock(self._fd, fcntl.LOCK_EX)

    def give(self) -> None:
        fcntl.flock(self._fd, fcntl.LOCK_UN)

    def forked(self) -> None:
        """Called in a child after fork: its descriptor shares the flock with the parent, so the file is reopened."""
        self._forked = self._fd >= 0

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
        self._forked = False

    # --- the mark --------------------------------------------------------------------------------------------------

    def stamp(self, generation: int, number: int) -> None:
        """Write the mark, after the write itself; the lock is held. An older mark would only detect less damage."""
        self._marked = format.stamp(generation, number, self._boot)
        with contextlib.suppress(OSError):
            os.pwrite(self._fd, self._marked, 0)

    def is_stamped_by_us(self) -> bool:
        """Whether this process made the last write; the lock is held."""
        return bool(self._marked) and os.pread(self._fd, len(self._marked), 0) == self._marked

    def mark(self) -> tuple[int, int, bytes] | None:
        """(generation, number, boot) of the mark, or None if it is damaged or missing."""
        return format.read_stamp(self.stamps())

    def stamps(self) -> bytes:
        """The bytes of both copies of the mark."""
        try:
            fd = os.open(self.path, os.O_RDONLY | FLAGS)
        except FileNotFoundError:
            return b""
        try:
            return os.pread(fd, 2 * format.STAMP_SIZE, 0)
        finally:
            os.close(fd)


def boot() -> bytes:
    """The boot id of the machine; empty if the system has none."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_bytes()[:8]
    except OSError:
        return b""
