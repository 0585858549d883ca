"""How a job is stopped, in two steps.

After the first step no further target begins. On targets that run states, the running state ends, and those after it
are returned as not run; other targets are cancelled. The second step cancels all targets, which kills the processes
there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Protocol


class Ending(Protocol):
    """The part of ``pushsalt.run.work.Work`` that stopping uses."""

    def stop_softly(self) -> bool:
        """End the run of states after the running one; returns whether states were running."""


class Stopping:
    """The first step sets ``requested``, the second ``at_once``. ``works``: id -> work of a running target."""

    def __init__(self, requested: asyncio.Event | None = None) -> None:
        self.requested = requested or asyncio.Event()
        self.at_once = asyncio.Event()
        self.works: dict[str, Ending] = {}
        self._ending: set[str] = set()

    @property
    def is_ending(self) -> bool:
        """Whether running states still delay the end of the first step."""
        return not self.at_once.is_set() and bool(self._ending & self.works.keys())

    def request(self) -> None:
        """Take the first step."""
        self.requested.set()

    def stop(self) -> None:
        """Take both steps."""
        self.requested.set()
        self.at_once.set()

    def cancel(self, running: Mapping[asyncio.Task[object], str]) -> None:
        """Carry out the last requested step for these tasks; ``running``: task -> id."""
        for task, id in running.items():
            work = self.works.get(id)
            if not self.at_once.is_set() and work is not None and work.stop_softly():
                self._ending.add(id)
            else:
                task.cancel()
