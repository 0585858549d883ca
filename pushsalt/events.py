"""The interface by which a run reports its progress. Core and shell call a Reporter; presentation implements it.

Every method is called from the event loop's thread, is quick and never raises.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pushsalt.model import TargetReturn


@dataclass(frozen=True)
class BatchDone:
    """The progress of a rollout after a batch. ``next_ids``: the targets of the next batch."""

    number: int
    batches: int
    #: the number of targets that are done, in all batches
    done: int
    targets: int
    changed: int
    failed: int
    unanswered: int
    next_ids: tuple[str, ...]


class Reporter:
    """Observes a run. The methods do nothing; subclasses override those that they need."""

    def run_started(self, ids: list[str], title: str) -> None:
        """The ids of the job, in order, and a description of the job."""

    def run_batched(self, size: int) -> None:
        """The run has a limit of concurrent targets, from ``--batch``."""

    def run_sited(self, sites: Mapping[str, str]) -> None:
        """Workers run the job: the site of each target, by id."""

    def sites_manned(self, workers: Mapping[str, int]) -> None:
        """The number of workers that each site has now, in a job that workers run. Sites without any may be missing."""

    def batch_started(self, number: int, batches: int, ids: list[str]) -> None:
        """A batch begins, in a rollout that completes each batch before the next. ``number`` counts from 1."""

    def batch_waits(self, seconds: float) -> None:
        """A batch is done; the next one begins after this number of seconds."""

    async def go_on(self, done: BatchDone) -> bool:
        """Whether the next batch may begin. With ``--confirm`` it is awaited between batches, without a time limit."""
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
        """A target is done; this is its only return."""

    def remote_progress(self, name: str, words: str) -> None:
        """The progress of fetching a git remote, as text; empty at the end."""

    def warning(self, id: str | None, text: str) -> None:
        """A warning (an old cache, a skipped file)."""

    def run_finished(self) -> None:
        """All targets have their return, or the run was stopped."""
