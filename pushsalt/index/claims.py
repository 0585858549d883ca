"""Who merges segments, and which: the file ``merge.lock``, held by ``flock`` while the names in it count.

A merge takes its time, while others go on to write the log into new segments. What is claimed they leave alone. Claims
are made and looked at by who holds ``Journal.rewriting``, so that nobody merges what another one is about to claim; a
killed process's claims end with its lock.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator, Sequence

from pushsalt.index import files


class Claims:
    """Of one index. Methods raise OSError."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._fd = -1

    @contextlib.contextmanager
    def hold(self, *, wait: bool) -> Iterator[bool]:
        """Be the one who merges; False when another one is and ``wait`` is not."""
        with self._locked(wait=wait) as fd:
            if fd < 0:
                yield False
                return
            self._fd = fd
            self.make(())
            try:
                yield True
            finally:
                self.make(())
                self._fd = -1

    def make(self, names: Sequence[str]) -> None:
        """Claim these segments, within ``hold``."""
        os.ftruncate(self._fd, 0)
        os.pwrite(self._fd, "\n".join(names).encode(), 0)

    def others(self) -> set[str] | None:
        """What another one has claimed; None when nobody merges."""
        with self._locked(wait=False) as fd:
            if fd >= 0:
                return None
        fd = os.open(self._path, os.O_RDONLY | files.FLAGS)
        try:
            return set(files.read(fd, 0).decode().split("\n"))
        finally:
            os.close(fd)

    @contextlib.contextmanager
    def _locked(self, *, wait: bool) -> Iterator[int]:
        """The descriptor, or -1."""
        fd = os.open(self._path, os.O_RDWR | os.O_CREAT | files.FLAGS, 0o600)
        try:
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            except BlockingIOError:
                yield -1
            else:
                yield fd
        finally:
            os.close(fd)


__all__ = ["Claims"]
