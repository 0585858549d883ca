"""The file ``lock`` of an index: who may write, and the mark, which says what was written last. Layout: ``format``."""

from __future__ import annotations

import contextlib
import fcntl
import os
from pathlib import Path

from pushsalt.index import format
from pushsalt.index.files import FLAGS


class WritersLock:
    """Only one process holds it; who uses it keeps its threads apart. Methods raise OSError."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._fd = -1
        self._forked = False
        self._boot = b""
        #: the mark as this process wrote it last
        self._marked = b""

    def take(self) -> None:
        """Wait for it."""
        if self._fd < 0 or self._forked:
            self.close()
            self._fd = os.open(self.path, os.O_RDWR | os.O_CREAT | FLAGS, 0o600)
            self._boot = boot()
        fcntl.flock(self._fd, fcntl.LOCK_EX)

    def give(self) -> None:
        fcntl.flock(self._fd, fcntl.LOCK_UN)

    def forked(self) -> None:
        """In a child: flock is shared with the parent through the descriptor, so the file is opened anew."""
        self._forked = self._fd >= 0

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
        self._forked = False

    # --- the mark --------------------------------------------------------------------------------------------------

    def stamp(self, generation: int, number: int) -> None:
        """Write the mark; the lock is held. What it stands for is done by then: an older mark only finds less."""
        self._marked = format.stamp(generation, number, self._boot)
        with contextlib.suppress(OSError):
            os.pwrite(self._fd, self._marked, 0)

    def is_stamped_by_us(self) -> bool:
        """Whether nobody else has written since this process did; the lock is held."""
        return bool(self._marked) and os.pread(self._fd, len(self._marked), 0) == self._marked

    def mark(self) -> tuple[int, int, bytes] | None:
        """Generation, number and boot, or None when there is no sound one."""
        return format.read_stamp(self.stamps())

    def stamps(self) -> bytes:
        """Both copies of the mark, as they stand there."""
        try:
            fd = os.open(self.path, os.O_RDONLY | FLAGS)
        except FileNotFoundError:
            return b""
        try:
            return os.pread(fd, 2 * format.STAMP_SIZE, 0)
        finally:
            os.close(fd)


def boot() -> bytes:
    """Which start of the machine this is; empty where the system does not say."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_bytes()[:8]
    except OSError:
        return b""
