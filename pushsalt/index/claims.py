"""Claims of segments that a process merges: the file ``merge.lock``, whose content is valid while it is locked.

A merge is slow, and meanwhile other processes write the log into new segments. They do not merge claimed segments.
Claims are made and read within ``Journal.rewriting``, so two processes never merge the same segment; the claims of a
killed process end with its ``flock``.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator, Sequence

from pushsalt.index import files


class Claims:
    """The claims of one index. Methods raise OSError."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._fd = -1

    @contextlib.contextmanager
    def hold(self, *, wait: bool) -> Iterator[bool]:
        """Take the lock for merging; False if another process has it and ``wait`` is false."""
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
        """Claim these segments; called within ``hold``."""
        os.ftruncate(self._fd, 0)
        os.pwrite(self._fd, "\n".join(names).encode(), 0)

    def others(self) -> set[str] | None:
        """The segments that another process has claimed; None if none is merging."""
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
        """The descriptor of the locked file, or -1."""
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
