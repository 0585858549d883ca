"""The deadline of a rendering. Whoever lets it run sets it; ``OutOfTime`` is raised in the thread that renders.

What cannot be interrupted ends with its process. So that people know what it was, each file can be told as it begins.

Memory needs nothing here: a process has a limit, and Python raises MemoryError at it, which is an error as any other.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pushsalt.errors import RenderError


class OutOfTime(BaseException):
    """The time for this target's rendering is over. Not an Exception: nothing that is rendered may go on after it.

    ``error`` is the first place where that was noticed, complete for people.
    """

    def __init__(self, error: RenderError | None = None) -> None:
        super().__init__("the time for rendering is over")
        self.error = error


class Deadline:
    """``seconds`` from now on."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._end = time.monotonic() + seconds

    @property
    def left(self) -> float:
        """Seconds, 0 at least."""
        return max(0.0, self._end - time.monotonic())

    def __str__(self) -> str:
        return f"rendering was not done after {self.seconds:.3g} s, and was stopped"


class _Thread(threading.local):
    deadline: Deadline | None = None
    #: is told which file is rendered now, '' for none
    tell: Callable[[str], object] | None = None
    path: str = ""


_thread = _Thread()


@contextmanager
def within(deadline: Deadline | None, tell: Callable[[str], object] | None = None) -> Iterator[None]:
    """What this thread renders in here has so much time. ``tell`` is told of each file, '' when none is rendered."""
    before, _thread.deadline = _thread.deadline, deadline
    told, _thread.tell = _thread.tell, tell
    try:
        yield
    finally:
        _thread.deadline, _thread.tell = before, told


@contextmanager
def rendering(path: str) -> Iterator[None]:
    """The file ``path`` is rendered in here. Raises OutOfTime when the time is over."""
    check()
    if _thread.tell is None:
        yield
        return
    before, _thread.path = _thread.path, path
    _thread.tell(path)
    try:
        yield
    finally:
        _thread.path = before
        _thread.tell(before)


def check() -> None:
    """Raises OutOfTime when the time is over."""
    if _thread.deadline is not None and not _thread.deadline.left:
        raise OutOfTime


def words() -> str:
    """What ended a rendering, for people."""
    return str(_thread.deadline or "rendering was stopped")
