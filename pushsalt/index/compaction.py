"""Decides when segments are merged, and merges them in a separate process, so that the writer does not wait.

The process is not waited for and may outlive its parent by one or two seconds. It holds locks that others need for
moments only, and if it is killed nothing is lost.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

#: the program of the process; kind and folders are arguments, never code
_CODE = "import sys; sys.path.insert(0, sys.argv[1]); from pushsalt.index.compactor import main; main(*sys.argv[2:])"

#: up to this number of segments nothing is merged: a new process opens all of them, about 0.1 ms each
FEW: Final = 6
#: with this number of segments a writer first merges some, or waits for the process that does
MOST: Final = 16


def worth(counts: Sequence[int], most: float = float("inf")) -> int:
    """How many of the newest segments to merge. ``counts``: entries of each segment, oldest first.

    ``most``: the limit for the entries of the merged segments. The newest segment is always among them. The oldest of
    them is at most as large as the others together, so each entry is rewritten O(log n) times.
    """
    total, chosen = 0, 1
    for number, count in enumerate(reversed(counts), 1):
        if number > 1 and total + count > most:
            break
        if count <= total:
            chosen = number
        total += count
    return chosen


def due(counts: Sequence[int]) -> int:
    """How many of the newest segments to merge now."""
    if len(counts) <= FEW:
        return 1
    return max(worth(counts), 2 if len(counts) >= MOST else 1)


class Child:
    """Runs at most one such process at a time."""

    def __init__(self) -> None:
        self._pid = 0
        self._parent = 0
        self._failed = False

    def start(self, kind: str, folder: Path) -> bool:
        """Start a process unless one is running; whether one is running now.

        False if processes cannot be started, or the last one failed: the caller then merges itself and gets the error.
        """
        self.reap()
        if self._pid:
            return True
        if self._failed:
            self._failed = False
            return False
        package = str(Path(__file__).resolve().parents[2])
        argv = [sys.executable, "-I", "-c", _CODE, package, kind, str(folder.absolute())]
        null = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in (0, 1, 2)]
        try:
            self._pid = os.posix_spawn(sys.executable, argv, os.environ, file_actions=null, setpgroup=0)
        except (OSError, ValueError):
            return False
        self._parent = os.getpid()
        return True

    def wait(self) -> None:
        """Wait until the process has ended."""
        self._ended(0)

    def reap(self) -> None:
        """Collect the exit status of the process, if it has ended."""
        self._ended(os.WNOHANG)

    def _ended(self, how: int) -> None:
        if not self._pid:
            return
        if self._parent != os.getpid():
            self._pid = 0
            return
        try:
            pid, status = os.waitpid(self._pid, how)
        except ChildProcessError:
            pid, status = self._pid, 0
        if pid:
            self._pid = 0
            self._failed = status != 0
