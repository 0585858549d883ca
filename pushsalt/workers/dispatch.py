"""Hands out the targets of a job to the workers of their sites, and gives their returns to the job.

``Dispatcher.run_one`` takes the place of ``pushsalt.run.single.run``: batches, limits for failures, the record, the
view and the exit code are those of every job. Targets that begin at the same time and have the same site travel
together, in shards.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from pushsalt.errors import PushsaltError, TargetError
from pushsalt.model import TargetReturn
from pushsalt.run.fanout import failure
from pushsalt.run.single import run
from pushsalt.workers import connection as nats
from pushsalt.workers import learning, local, messages, names, parties, state
from pushsalt.workers.ledger import CONTROLLER_TOKEN, Ledger, Shard
from pushsalt.workers.messages import Description, Head
from pushsalt.workers.reading import Reader
from pushsalt.workers.seal import Keys
from pushsalt.workers.watching import Watch

if TYPE_CHECKING:
    from pushsalt.job import Settings
    from pushsalt.jobs.model import JobStart
    from pushsalt.run.batchcheck import BatchCheck
    from pushsalt.run.project import Project
    from pushsalt.run.runner import Runner

log = logging.getLogger(__name__)

#: Seconds that a stopped job waits for the returns of its targets, after each step.
_STOPPING: Final = 5.0
#: Seconds for which a full store is waited for: by a shard, and before the first one.
FULL: Final = 60.0
_BEGIN: Final = 5.0
#: Most bytes of shards that are being stored at the same time.
_STORING: Final = 64
#: Kinds of jobs whose targets return what has run if they are stopped.
_RUNS_STATES: Final = frozenset({"apply", "planned"})


class Dispatcher:
    """The shards of one job; ``open`` first, and ``close`` at the end."""

    begins_early = False

    def __init__(
        self,
        project: Project,
        settings: Settings,
        runner: Runner,
        url: str,
        ids: Sequence[str],
        within: bool = False,
    ) -> None:
        """``within``: a job within another one, which other controllers do not need to know."""
        self.check: BatchCheck | None = None
        self._project, self._settings = project, settings
        self._runner, self._job = runner, runner.job
        self._url = url
        self._ids = list(ids)
        self._within = within
        self._connection: nats.Connection
        self._party: parties.Party
        self._ledger: Ledger
        self._sites: dict[str, str] = {}
        self._jobs: dict[str, bytes] = {}
        self._first = 1
        self._returns: dict[str, asyncio.Future[TargetReturn]] = {}
        self._pending: dict[str, list[str]] = {}
        self._flushing = False
        self._storing = asyncio.Semaphore(_STORING)
        self._tasks: set[asyncio.Task[Any]] = set()
        self._watch: Watch
        self._running: set[str] = set()
        #: site -> what names its part of the plan that is run
        self._plans: dict[str, dict[str, Any]] = {}
        self._stopped = 0
        self._is_open = self._runs_in_process = False
        self._state: state.JobState | None = None
        #: id -> exit code of its return
        self._codes: dict[str, int] = {}

    # the beginning and the end ----------------------------------------------------------------------------------------

    async def open(self, start: JobStart) -> JobStart:
        """Connect, send the project, and announce the job, whose begin is returned. Raises CommandError."""
        project, job = self._project, self._job
        self._sites = {id: site_of(project, id) for id in self._ids}
        sites = sorted(set(self._sites.values()))
        self._party = parties.controllers(project, self._url)
        self._connection = await nats.connect(self._url, parties.keys_folder(project))
        self._is_open = True
        await self._connection.setup(sites)
        before = await state.load(self._connection, self._party, job.jid) if job.resumes else None
        if job.resumes and before is None:  # workers have nothing of it: this process has run it
            self._runs_in_process = True
            return start
        key = before.key if before is not None else os.urandom(32)
        site = partial(site_or_none, project)
        self._ledger = Ledger(job.jid, key, partial(project.reporter.warning, None), site, self._party)
        if before is not None:
            self._first = before.first
        else:
            self._first = await self._connection.last_sequence() + 1
        reader = Reader(self._connection, names.returns_subject(jid=job.jid), self._first)
        await reader.open()
        if before is not None:
            await self._read_backlog(reader)
        again = None if job.collects else self._begin_again
        self._watch = Watch(self._connection, self._ledger, project.reporter, self._answer, again)
        if not job.collects:
            if before is not None:
                await self._recall_stop(sites)
            await self._describe(sites)
        self._state = before
        if before is None and not self._within:
            name = state.controller_name(project.config.cache_dir)
            self._state = state.JobState(start, key, self._first, controller=name)
            await state.save(self._connection, self._party, self._state, patience=_BEGIN)
        await self._connection.nc.subscribe(names.progress_subject(jid=job.jid), cb=self._progressed)
        if not self._within:
            project.reporter.run_sited(self._sites)
        with contextlib.suppress(nats.ServerError):
            await self._watch.count_workers()
        self._spawn(self._follow(reader))
        self._spawn(self._watch.run())
        return start

    async def _recall_stop(self, sites: list[str]) -> None:
        """Remove the order to stop of an earlier command: the job goes on. Raises ServerError."""
        bucket = names.STOPPED_BUCKET
        for site in sites:
            with nats.explained("the order to stop cannot be removed"):
                await self._connection.js.purge_stream(f"KV_{bucket}", subject=f"$KV.{bucket}.{self._job.jid}.{site}")

    async def _describe(self, sites: list[str]) -> None:
        """Send the project, and seal the description of the job for each site."""
        job = self._job
        project = await self._uploaded(sites)
        for site in sites:
            plan = {}
            if job.kept is not None:
                from pushsalt.workers import plans

                ids = [id for id in self._ids if self._sites[id] == site]
                self._plans[site] = plan = await plans.store(
                    self._connection, self._party, job.jid, site, job.kept, ids
                )
            description = Description(
                jid=job.jid,
                kind=job.kind,
                fun=job.fun,
                args=job.args,
                kwargs=job.kwargs,
                options=messages.options_of(job.options),
                project=project[site],
                key=self._ledger.box(site).key,
                resumes=job.resumes,
                runtime=parties.runtime_secret(self._party, site),
                plan=plan,
                records=job.record is not None,
            )
            data = messages.pack_description(description)
            self._jobs[site] = self._party.seal(site, data, f"job {job.jid}")

    async def _uploaded(self, sites: list[str]) -> dict[str, dict[str, Any]]:
        """Send the project; what names it at each site. Without keys, workers on this machine use it where it is."""
        if not isinstance(self._party, Keys):
            return {site: {"local": local.given(self._project, self._settings)} for site in sites}
        from pushsalt.workers import objects

        stored = await objects.upload(self._connection.nc, self._project, sites, self._party)
        return {site: stored.of(site) for site in sites}

    async def close(self) -> None:
        """Store the end of the job if all targets have their return, and close the connection and the runner."""
        try:
            if self._is_open:
                await self._close()
        finally:
            await self._runner.close()

    async def _close(self) -> None:
        if self._state is not None and set(self._ids) <= self._codes.keys():
            was_stopped = self._runner.stopping.requested.is_set()
            ended = replace(
                self._state,
                end=time.time(),
                exit_code=max(self._codes.values(), default=0),
                state="interrupted" if was_stopped else "done",
            )
            with contextlib.suppress(PushsaltError, asyncio.TimeoutError):
                await asyncio.wait_for(state.save(self._connection, self._party, ended), _STOPPING)
                await asyncio.wait_for(self._remove_plans(), _STOPPING)
        self._is_open = False
        await nats.end(self._tasks)
        for future in self._returns.values():
            future.cancel()
        await self._connection.close()

    async def _remove_plans(self) -> None:
        for site, named in self._plans.items():
            from pushsalt.workers import plans

            await plans.remove(self._connection, self._job.jid, site, named)

    def _spawn(self, work: Any) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (trouble := task.exception()):
            log.debug("workers", exc_info=trouble)
            hint = "see the log of the NATS server; `pushsalt jobs wait` collects the returns later"
            for id in list(self._returns):
                self._answer(failure(id, TargetError("worker_lost", f"{id}: its return is not known: {trouble}", hint)))

    # one target -------------------------------------------------------------------------------------------------------

    async def run_one(self, id: str) -> TargetReturn:
        """The return of a target, from a worker of its site."""
        if self._runs_in_process:
            return await run(self._runner, id)
        future = self._future(id)
        self._runner.stopping.works[id] = _Remote(self, id)
        if not future.done() and not self._is_awaited(id):
            if self._job.collects:
                self._answer(failure(id, self._no_data_of_job(id)))
            else:
                self._begin(id)
        try:
            result = await self._ended_or_stopped(id, future)
        finally:
            self._runner.stopping.works.pop(id, None)
            self._returns.pop(id, None)
            self._running.discard(id)
        self._codes[id] = result.exit_code
        if self._runner.on_value is not None:
            await self._runner.keep(result)
            await self._runner.tell_value(result)
        return result

    async def _ended_or_stopped(self, id: str, future: asyncio.Future[TargetReturn]) -> TargetReturn:
        stopping = self._runner.stopping
        try:
            return await asyncio.shield(future)
        except asyncio.CancelledError:
            if not stopping.requested.is_set():
                raise
        for _ in range(2):
            self.stop(at_once=stopping.at_once.is_set())
            try:
                await asyncio.wait({future}, timeout=_STOPPING)
                break
            except asyncio.CancelledError:
                continue
        if future.done() and not future.cancelled():
            return future.result()
        hint = f"`pushsalt jobs wait {self._job.jid}` collects its return, if there will be one"
        error = TargetError("interrupted", f"{id}: stopped; its worker has not said what was done", hint)
        return failure(id, error)

    def _is_awaited(self, id: str) -> bool:
        """Whether a shard of an earlier command has the target, and its return is still to come."""
        n = self._ledger.at.get(id)
        if n is None or id not in self._ledger.shards[n].open:
            return False
        return self._job.collects or not self._ledger.shards[n].is_over

    def _no_data_of_job(self, id: str) -> TargetError:
        jid = self._job.jid
        return TargetError(
            "connection_lost",
            f"{id}: no worker has the job {jid}, and no return of it is stored",
            f"`pushsalt jobs resume {jid}` runs the job there",
        )

    def _begin_again(self, ids: list[str]) -> None:
        """Hand out targets whose shard of an earlier command is gone; those that are not awaited yet begin later."""
        for id in ids:
            if id in self._returns and not self._returns[id].done():
                self._begin(id)

    def _begin(self, id: str) -> None:
        """Let a target begin, together with others that begin in this turn of the event loop."""
        self._pending.setdefault(self._sites[id], []).append(id)
        if not self._flushing:
            self._flushing = True
            asyncio.get_running_loop().call_later(0, lambda: asyncio.get_running_loop().call_soon(self._flush))

    def _flush(self) -> None:
        self._flushing = False
        pending, self._pending = self._pending, {}
        for site, ids in pending.items():
            size = shard_size(len(ids), self._watch.workers.get(site, 1))
            for at in range(0, len(ids), size):
                shard = self._ledger.add(self._ledger.last + 1, site, ids[at : at + size])
                self._spawn(self._hand_out(shard))

    async def _hand_out(self, shard: Shard) -> None:
        """Store a shard: first among the returns, so that other controllers know of it, then in the site's queue."""
        jid, box = self._job.jid, self._ledger.box(shard.site)
        resources = _resources(self._project, shard.ids)
        data = messages.pack_ids(shard.ids, resources)
        handed = Head("handed", jid, shard.site, shard.n, CONTROLLER_TOKEN)
        handed = messages.sealed(handed, data, box)
        is_new = bool(resources) or self._job.kept is not None or self._job.record is not None
        version = messages.VERSION if is_new else messages.OLDEST
        head = Head("shard", jid, shard.site, shard.n, job=self._jobs[shard.site], version=version)
        head = messages.sealed(head, data, box)
        store, patience = self._connection.store, FULL
        try:
            async with self._storing:
                subject = names.returns_subject(shard.site, CONTROLLER_TOKEN, jid)
                await store(subject, messages.encode(handed), messages.message_id(handed), patience=patience)
                subject = names.work_subject(shard.site)
                shard.seq = await store(subject, messages.encode(head), messages.message_id(head), patience=patience)
        except nats.FullError as exc:
            shard.done = shard.given_up = True
            for result in self._ledger.close(shard, "store_full", f"nothing was done: {exc}", exc.hint):
                self._answer(result)

    # returns ----------------------------------------------------------------------------------------------------------

    async def _read_backlog(self, reader: Reader) -> None:
        """Read the stored returns of the job, before it continues."""
        left = reader.there
        while left > 0:
            got = 0
            async for subject, data in reader.some(min(500, left), 5.0):
                got += 1
                answer = self._ledger.take(subject, data)
                if answer is not None and self._job.collects:
                    await learning.learn(self._runner, answer)
                    self._future(answer.result.id).set_result(answer.result)
            left = left - got if got else 0

    def _future(self, id: str) -> asyncio.Future[TargetReturn]:
        return self._returns.setdefault(id, asyncio.get_running_loop().create_future())

    async def _follow(self, reader: Reader) -> None:
        """Take the messages about the job as they are stored."""
        try:
            while True:
                async for subject, data in reader.some():
                    answer = self._ledger.take(subject, data)
                    if answer is not None:
                        await learning.learn(self._runner, answer)
                        self._answer(answer.result)
        finally:
            await reader.close()

    def _answer(self, result: TargetReturn) -> None:
        future = self._returns.get(result.id)
        if future is not None and not future.done():
            future.set_result(result)

    # progress and stopping --------------------------------------------------------------------------------------------

    async def _progressed(self, message: Any) -> None:
        """The progress of targets, for the view."""
        try:
            head = messages.decode(message.data)
            data = messages.unpack_data(self._ledger.box(head.site).open(head.box, head.purpose))
            for event in data.get("events") or ():
                self._show(event, head.site)
        except (messages.MessageError, PushsaltError, TypeError, ValueError, IndexError) as exc:
            log.debug("progress is not shown: %s", exc)

    def _show(self, event: list[Any], site: str) -> None:
        id, what, *values = event
        reporter = self._project.reporter
        if not isinstance(id, str) or id not in self._returns or self._sites.get(id) != site:
            return
        if what == "phase":
            if self._job.kind in _RUNS_STATES:  # the progress of its states may come later
                self._running.add(id)
            reporter.target_phase(id, str(values[0]))
        elif what == "chunks":
            self._running.add(id)
            reporter.target_chunks(id, int(values[0]))
        elif what == "start":
            reporter.chunk_started(id, str(values[0]))
        elif what == "state":
            tag, result, changed, comment = values
            ret = {"result": result, "changes": {"changed": True} if changed else {}, "comment": str(comment)}
            reporter.chunk_done(id, str(tag), ret)
        elif what == "warning":
            reporter.warning(id, str(values[0]))

    def runs_states(self, id: str) -> bool:
        """Whether a worker runs states on a target now, or is about to."""
        return id in self._running and id in self._returns

    def stop(self, at_once: bool) -> None:
        """Order the workers to take a step of stopping, once each."""
        step = 1 + at_once
        if step > self._stopped and self._is_open:
            self._stopped = step
            self._spawn(self._order_stop(at_once))

    async def _order_stop(self, at_once: bool) -> None:
        jid = self._job.jid
        for site in sorted({shard.site for shard in self._ledger.shards.values() if shard.open}):
            box = self._ledger.box(site).seal(messages.pack_data({"at_once": at_once}), f"stop {jid} {site}")
            order = messages.encode(Head("stop", jid, site, box=box))
            # first for a store that is full; again, since a worker that takes a shard now reads the bucket
            await self._publish_order(jid, order)
            await self._connection.put(names.STOPPED_BUCKET, f"{jid}.{site}", box)
            await self._publish_order(jid, order)

    async def _publish_order(self, jid: str, order: bytes) -> None:
        with contextlib.suppress(Exception):
            await self._connection.nc.publish(names.control_subject(jid), order)


class _Remote:
    """A target at a worker, for ``pushsalt.run.stopping``."""

    def __init__(self, dispatcher: Dispatcher, id: str) -> None:
        self._dispatcher = dispatcher
        self._id = id

    def stop_softly(self) -> bool:
        self._dispatcher.stop(at_once=False)
        return self._dispatcher.runs_states(self._id)


def shard_size(number: int, workers: int) -> int:
    """The number of targets of a shard, so that each worker of the site gets some."""
    return max(1, min(messages.SHARD, -(-number // (2 * max(1, workers)))))


def site_of(project: Project, id: str) -> str:
    """The site of a target: the inventory key ``site``; that of its manager for a resource. Raises UsageError."""
    target = project.target(id)
    if target.resource:
        target = project.inventory.targets.get(target.manager, target)
    return names.check_site(target.site or names.DEFAULT_SITE)


def _resources(project: Project, ids: list[str]) -> dict[str, Any]:
    """manager -> what it manages, of the managed resources among these targets: no worker may know them yet."""
    managers = {target.manager for target in map(project.target, ids) if target.resource}
    return {manager: project.managed.declared(manager) for manager in sorted(managers)}


def site_or_none(project: Project, id: str) -> str | None:
    """The site of a target, if it is known."""
    with contextlib.suppress(PushsaltError):
        return site_of(project, id)
    return None
