"""Progress of a run as calls on a Reporter. Core and shell call it, presentation fills it in; any may be left out.

Every method is called from the event loop's thread, is quick and never raises.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pushsalt.model import TargetReturn


@dataclass(frozen=True)
class BatchDone:
    """How far a rollout is after a batch. ``next_ids``: the targets of the next one."""

    number: int
    batches: int
    #: targets that are done, of all
    done: int
    targets: int
    changed: int
    failed: int
    unanswered: int
    next_ids: tuple[str, ...]


class Reporter:
    """Does nothing. Subclasses override what they show."""

    def run_started(self, ids: list[str], title: str) -> None:
        """The ids of the job, in order, and a description of the job."""

    def run_batched(self, size: int) -> None:
        """The limit of concurrent targets by ``--batch``."""

    def batch_started(self, number: int, batches: int, ids: list[str]) -> None:
        """A batch begins, of a rollout where each is done before the next one; numbers count from 1."""

    def batch_waits(self, seconds: float) -> None:
        """A batch is done, and the next one begins after so many seconds."""

    async def go_on(self, done: BatchDone) -> bool:
        """Whether the next batch may begin; asked between batches with ``--confirm``. This may take its time."""
        return True

    def target_phase(self, id: str, phase: str) -> None:
        """A target enters a phase: waiting, connect, bootstrap, grains, render, send, run, check, done."""

    def target_chunks(self, id: str, total: int) -> None:
        """The number of chunks that will run on the target."""

    def chunk_started(self, id: str, tag: str) -> None:
        """A chunk starts on the target; tag is ``module_|-id_|-name_|-function``."""

    def chunk_done(self, id: str, tag: str, ret: dict[str, Any]) -> None:
        """A chunk's return, as the target sent it."""

    def event(self, id: str, tag: str, data: dict[str, Any]) -> None:
        """A state with ``fire_event`` is done (the tag is ``salt/state_result/…``), or ``event.send`` was called."""

    def target_done(self, result: TargetReturn) -> None:
        """The target's one return."""

    def remote_progress(self, name: str, words: str) -> None:
        """The progress of fetching a git remote, as text; empty at the end."""

    def warning(self, id: str | None, text: str) -> None:
        """A warning (an old cache, a skipped file)."""

    def run_finished(self) -> None:
        """All targets have their return, or the run was stopped."""
