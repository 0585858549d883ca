"""The service of ``pushsalt watch``: runs rounds at intervals and scheduled jobs, and provides metrics."""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from pushsalt.errors import CommandError, PushsaltError
from pushsalt.orchestrate import rollouts, runnercalls

if TYPE_CHECKING:
    from pushsalt.watch.beacons import Beacons
    from pushsalt.watch.clients import Clients
    from pushsalt.watch.metrics import Metrics
    from pushsalt.watch.rounds import Rounds
    from pushsalt.watch.schedule import Entry

log = logging.getLogger(__name__)

#: Maximum delay of a round by ``--jitter``, as a part of the interval.
_JITTER: Final = 0.1
#: Maximum seconds of one wait for a time of the clock, so that a changed clock is noticed.
_LOOK: Final = 30.0


@dataclass(frozen=True)
class Interval:
    """Seconds between the begins of two rounds; ``jitter``: each begins with a random delay."""

    seconds: float
    jitter: bool = False


class Service:
    """Runs ``rounds`` and ``beacons``, if something is watched, and the jobs of a schedule.

    ``written`` is called when the figures have changed.
    """

    def __init__(
        self,
        clients: Clients,
        metrics: Metrics,
        say: Callable[[str], None],
        *,
        rounds: Rounds | None = None,
        beacons: Beacons | None = None,
        interval: Interval = Interval(0.0),
        schedule: Sequence[Entry] = (),
        written: Callable[[], None] = lambda: None,
    ) -> None:
        self._clients = clients
        self._metrics = metrics
        self._say = say
        self._rounds = rounds
        self._beacons = beacons
        self._interval = interval
        self._schedule = schedule
        self._written = written
        self._stop = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._running: dict[str, int] = {}

    def stop(self, exit_code: int) -> None:
        """End the service; running jobs are stopped as by the first Ctrl-C."""
        self._stop.set()
        self._clients.stop(exit_code)

    async def run(self, *, once: bool = False) -> None:
        """Run until ``stop``; with ``once``, one round. Raises CommandError for a round that can never succeed."""
        project = self._clients.client.project
        project.pool.start()
        await project.prepare(self._stop)
        try:
            if once:
                await self._round(first=True)
                return
            loops = [asyncio.ensure_future(self._entry(entry)) for entry in self._schedule]
            if self._rounds is not None:
                loops.append(asyncio.ensure_future(self._every()))
            await asyncio.gather(*loops)
            while self._tasks:
                await asyncio.wait(self._tasks)
        finally:
            if self._beacons is not None:
                await self._beacons.close()
            await self._clients.close()

    # rounds ----------------------------------------------------------------------------------------------------------

    async def _every(self) -> None:
        due, first = time.monotonic(), True
        if self._beacons is not None:
            await self._beacons.update()
        while not self._stop.is_set():
            later = random.random() * _JITTER * self._interval.seconds  # noqa: S311 - no secret
            if self._interval.jitter and await self._until(later):
                return
            await self._round(first=first)
            if self._beacons is not None and not self._stop.is_set():
                await self._beacons.update()
            first = False
            due = max(due + self._interval.seconds, time.monotonic())
            if await self._until(due - time.monotonic()):
                return
            if not self._tasks:
                await self._clients.client.project.prepare(self._stop)  # git remotes that are due

    async def _round(self, *, first: bool) -> None:
        assert self._rounds is not None
        try:
            await self._rounds.round()
        except CommandError as exc:
            if first:
                raise
            log.error("%s", self._clients.redacted(str(exc)))
        self._written()

    async def _until(self, seconds: float) -> bool:
        """Wait so many seconds. Returns whether the service is to end."""
        with suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._stop.wait(), max(0.0, seconds))
        return self._stop.is_set()

    # the schedule ----------------------------------------------------------------------------------------------------

    async def _entry(self, entry: Entry) -> None:
        """Begin the job of an entry at its times. They are clock times, and the clock may be set meanwhile."""
        due = entry.first(time.time())
        while not self._stop.is_set():
            left = due - time.time()
            if left > 0:
                if await self._until(min(left, _LOOK)):
                    return
                continue
            self._begin(entry)
            due = entry.after(max(due, time.time() - entry.seconds))

    def _begin(self, entry: Entry) -> None:
        if self._running.get(entry.name, 0) >= entry.maxrunning:
            log.info("schedule: %s: %d are under way: it is not run", entry.name, entry.maxrunning)
            self._metrics.count(entry.name, "scheduled_skipped_total")
            return
        self._running[entry.name] = self._running.get(entry.name, 0) + 1
        task = asyncio.create_task(self._job(entry))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _job(self, entry: Entry) -> None:
        trouble = ""
        try:
            trouble = await self._called(entry)
        except PushsaltError as exc:
            trouble = str(exc)
        except Exception as exc:
            log.debug("schedule: %s failed", entry.name, exc_info=True)
            trouble = f"{type(exc).__name__}: {exc}"
        finally:
            self._running[entry.name] -= 1
        self._metrics.count(entry.name, "scheduled_runs_total")
        if trouble:
            self._metrics.count(entry.name, "scheduled_failures_total")
        how = f"failed: {self._clients.redacted(trouble)}" if trouble else "done"
        self._say(f"schedule: {entry.name}  {entry.function}  {how}")
        self._written()

    async def _called(self, entry: Entry) -> str:
        """Call the function of an entry. Returns why it failed; empty if it did not."""
        client, options = self._clients.one(), self._clients.options
        client.keeps_jobs = entry.return_job
        args, kwargs = list(entry.args), dict(entry.kwargs)
        with self._clients.running(client):
            if entry.tgt is None:
                answer = await runnercalls.call(client, options, entry.function, args, kwargs)
                return "" if answer["success"] else "it returned a failure"
            options = replace(rollouts.options(options, {}), returners=entry.returners)
            selection = rollouts.selection(entry.tgt, entry.tgt_type)
            returns = await client.run_async(selection, entry.function, args, kwargs, options)
            failed = [id for id, result in returns.items() if result.exit_code]
            return f"on {', '.join(failed)}" if failed else ""
