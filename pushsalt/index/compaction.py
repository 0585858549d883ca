"""When segments are merged, and how in a process of its own, so that neither the writer nor its event loop waits.

The process is not waited for and may outlive its parent by the second or two that it takes; it holds no lock that
others need but for moments, and if it is killed nothing is lost.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

#: kind -> what the process runs; the folders are arguments, never code
_CODE = "import sys; sys.path.insert(0, sys.argv[1]); from pushsalt.index.compactor import main; main(*sys.argv[2:])"

#: segments of resources up to which nothing is merged: a fresh process opens all of them, some 0.1 ms each
FEW: Final = 6
#: who finds so many goes on when some are merged: it merges them, or waits for who does
MOST: Final = 16


def worth(counts: Sequence[int], most: float = float("inf")) -> int:
    """How many of the newest segments are to be made one, given how much is in each, oldest first: ``most`` in all.

    The newest is always among them. The oldest of them is at most as large as the others together: that bounds how
    often an entry is written anew by the logarithm of how many there are.
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
    """How many of the newest are to be made one now."""
    if len(counts) <= FEW:
        return 1
    return max(worth(counts), 2 if len(counts) >= MOST else 1)


class Child:
    """At most one such process at a time."""

    def __init__(self) -> None:
        self._pid = 0
        self._parent = 0
        self._failed = False

    def start(self, kind: str, folder: Path) -> bool:
        """Whether one is at work now. False where processes cannot be started, and after one that failed:

        who does the work at once then sees why.
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
        """Until it has ended."""
        self._ended(0)

    def reap(self) -> None:
        """Take note of its end, if it has ended."""
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
