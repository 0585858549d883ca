"""The deadline of a rendering. The caller sets it; ``OutOfTime`` is raised in the rendering thread.

Code that cannot be interrupted ends with its process. A callback is notified of each file, to report the slow one.

Memory is limited for the process: Python raises MemoryError at the limit, which is an ordinary error.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pushsalt.errors import RenderError


class OutOfTime(BaseException):
    """The time limit of this target's rendering is exceeded. No Exception, so that templates cannot catch it.

    ``error`` is the complete error of the first place where it was raised.
    """

    def __init__(self, error: RenderError | None = None) -> None:
        super().__init__("the time for rendering is over")
        self.error = error


class Deadline:
    """A time limit, ``seconds`` from now."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._end = time.monotonic() + seconds

    @property
    def left(self) -> float:
        """Seconds left, at least 0."""
        return max(0.0, self._end - time.monotonic())

    def __str__(self) -> str:
        return f"rendering was not done after {self.seconds:.3g} s, and was stopped"


class _Thread(threading.local):
    deadline: Deadline | None = None
    #: called with the file that is being rendered, '' for none
    tell: Callable[[str], object] | None = None
    path: str = ""


_thread = _Thread()


@contextmanager
def within(deadline: Deadline | None, tell: Callable[[str], object] | None = None) -> Iterator[None]:
    """A context with this deadline for the thread. ``tell`` is called with each rendered file, '' for none."""
    before, _thread.deadline = _thread.deadline, deadline
    previous, _thread.tell = _thread.tell, tell
    try:
        yield
    finally:
        _thread.deadline, _thread.tell = before, previous


@contextmanager
def rendering(path: str) -> Iterator[None]:
    """A context in which the file ``path`` is rendered. Raises OutOfTime if the time is over."""
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
    """Raises OutOfTime if the time is over."""
    if _thread.deadline is not None and not _thread.deadline.left:
        raise OutOfTime


def words() -> str:
    """The reason why a rendering was stopped, for messages."""
    return str(_thread.deadline or "rendering was stopped")
