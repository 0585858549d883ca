"""Rewriting segments in a process of its own, so that neither the writer that noticed nor its event loop waits.

The process is not waited for and may outlive its parent by the second or two that it takes; it holds no lock that
others need but for moments, and if it is killed nothing is lost.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

#: kind -> what the process runs; the folders are arguments, never code
_CODE = "import sys; sys.path.insert(0, sys.argv[1]); from pushsalt.index.compaction import main; main(*sys.argv[2:])"

#: seconds in which readers go over to the new segment before this process lets go of the old one, as the last one:
#: that is when the system clears the removed file away, and somebody has to wait for it
_LINGER = 0.3


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


def main(kind: str, folder: str) -> None:
    """Rewrite what is worth it. A cache that cannot be written is said by who writes to it, not here."""
    from pushsalt.errors import IndexCorrupt
    from pushsalt.index import GrainIndex, ResourceIndex

    try:
        index: GrainIndex | ResourceIndex = GrainIndex(folder) if kind == "grains" else ResourceIndex(folder)
        with index:
            index.maintain()
            time.sleep(_LINGER)
    except (OSError, IndexCorrupt):
        sys.exit(1)
