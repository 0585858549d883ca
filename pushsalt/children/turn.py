"""Serializes the requests of a render process: one request renders at a time."""

from __future__ import annotations

import resource
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any, Final

from pushsalt.render.limits import Deadline, OutOfTime

#: Seconds of rendering after which a work shares its turn with others.
LONG: Final = 1.0
_PAGE: Final = resource.getpagesize()


class Turn:
    """The turn to render. A work that waits for an answer releases it."""

    def __init__(self, memory: int | None, on_full: Callable[[], None] = lambda: None) -> None:
        """``on_full`` is called once, when kept results use most of the process's memory."""
        self.lock = threading.Lock()
        self._giving = threading.Lock()
        self.holder: Work | None = None
        self.since = 0.0
        self._memory = memory
        self._first = 0
        self._is_full = False
        self._on_full = on_full

    def take(self, work: Work) -> None:
        """Wait for the turn. Raises OutOfTime if the work's time is over before."""
        deadline = work.deadline
        if not self.lock.acquire(timeout=-1 if deadline is None else deadline.left):
            raise OutOfTime
        work.has_turn, self.holder, self.since = True, work, time.monotonic()
        self._bound_memory(work)

    def give(self, work: Work) -> None:
        with self._giving:
            if work.has_turn:
                work.has_turn, self.holder = False, None
                self.lock.release()

    def share(self, works: Iterable[Work]) -> None:
        """Let other works render concurrently with one that has rendered for a long time, since it may never end."""
        with self._giving:
            holder = self.holder
            if holder is None or time.monotonic() - self.since < LONG:
                return
            if any(not work.has_turn and work is not holder for work in works):
                holder.has_turn, self.holder = False, None
                self.lock.release()

    def _bound_memory(self, work: Work) -> None:
        """Limit memory to that at the start of the request plus the limit; Python raises MemoryError beyond it.

        At least a quarter of the limit is always left for the work, also if other works have used memory meanwhile.
        """
        if self._memory is None:
            return
        with open("/proc/self/statm", "rb") as stream:  # noqa: PTH123 - each turn pays for it
            used = int(stream.read().split()[5]) * _PAGE
        if work.memory is None:
            work.memory = used
        self._first = self._first or used
        if used > self._first + 2 * self._memory and not self._is_full:
            self._is_full = True
            self._on_full()
        most = max(work.memory + self._memory, used + self._memory // 4)
        most = min(most, self._first + 4 * self._memory)
        resource.setrlimit(resource.RLIMIT_DATA, (most, resource.RLIM_INFINITY))


class Work:
    """One request in progress."""

    def __init__(self, message: dict[str, Any]) -> None:
        self.number = int(message["n"])
        self.target = int(message["h"])
        seconds = message.get("time")
        self.deadline = None if seconds is None else Deadline(float(seconds))
        self.is_again = bool(message.get("again"))
        #: the thread that renders it, while OutOfTime may be raised there
        self.thread: int | None = None
        self.has_turn = False
        #: bytes that the process used when the work began
        self.memory: int | None = None
