"""Replacing the log of an index: the lock for that, and the file ``log.new``, which is renamed to ``log``."""

from __future__ import annotations

import contextlib
import fcntl
import os
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

from pushsalt.index import files, format
from pushsalt.index.files import FLAGS
from pushsalt.index.format import MAGIC


class RewriteLock:
    """A lock between processes and their threads: its owner may replace the log. Methods raise OSError."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._thread = 0

    @contextlib.contextmanager
    def hold(self, wait: bool) -> Iterator[bool]:
        """A context with the lock; yields False if another process has it and ``wait`` is false. It may be nested."""
        if self.is_mine():
            yield True
            return
        fd = os.open(self.path, os.O_RDWR | os.O_CREAT | FLAGS, 0o600)
        try:
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            except BlockingIOError:
                yield False
                return
            self._thread = threading.get_ident()
            try:
                yield True
            finally:
                self._thread = 0
        finally:
            os.close(fd)

    def is_mine(self) -> bool:
        """Whether this thread has it."""
        return self._thread == threading.get_ident()

    def forked(self) -> None:
        """Called in a child after fork: the thread that had the lock does not exist there."""
        self._thread = 0


def write_new_log(folder: Path, kind: str, segments: Sequence[str], payloads: Sequence[bytes], generation: int) -> int:
    """Write ``log.new`` with these segments and writes; returns its descriptor. On errors the file is removed."""
    parts = [MAGIC, format.frame(0, format.encode(format.join([kind, str(generation), *segments])))]
    parts += [format.frame(place, payload) for place, payload in enumerate(payloads, 1)]
    path = folder / "log.new"
    path.unlink(missing_ok=True)
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | FLAGS, 0o600)
    try:
        files.write(fd, b"".join(parts))
    except BaseException:
        os.close(fd)
        path.unlink(missing_ok=True)
        raise
    return fd
