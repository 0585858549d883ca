"""How a job is stopped, in two steps.

First no further target begins, and where states run, the one under way ends and those after it are returned as not run;
targets in any other step are cancelled. The second step cancels all, which kills what runs on the targets.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Protocol


class Ending(Protocol):
    """A target's part of a job that may be ended."""

    def stop_softly(self) -> bool:
        """Have the states end before the next; whether any are under way."""


class Stopping:
    """``requested`` is set by the first step, ``at_once`` by the second. ``works``: the running parts, by target."""

    def __init__(self, requested: asyncio.Event | None = None) -> None:
        self.requested = requested or asyncio.Event()
        self.at_once = asyncio.Event()
        self.works: dict[str, Ending] = {}
        self._ending: set[str] = set()

    @property
    def is_ending(self) -> bool:
        """Whether states are still under way that the first step lets end."""
        return not self.at_once.is_set() and bool(self._ending & self.works.keys())

    def request(self) -> None:
        """The first step."""
        self.requested.set()

    def stop(self) -> None:
        """Both steps."""
        self.requested.set()
        self.at_once.set()

    def cancel(self, running: Mapping[asyncio.Task[object], str]) -> None:
        """Do the step that was requested last to these tasks, which are named by their targets."""
        for task, id in running.items():
            work = self.works.get(id)
            if not self.at_once.is_set() and work is not None and work.stop_softly():
                self._ending.add(id)
            else:
                task.cancel()
