"""``pushsalt worker``: takes shards of its site, runs them as a controller would, and stores the returns.

A shard is acknowledged when all its returns are stored. While it runs, the server is told so every few seconds; if this
process dies, the server delivers the shard to another worker, which reads the returns that are stored, and asks the
other targets first whether they have run, or run, the job (``Job.resumes``).
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import re
import secrets
import socket
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pushsalt import __version__
from pushsalt.errors import PushsaltError
from pushsalt.job import DEFAULT_CONCURRENCY
from pushsalt.redact import Redactor
from pushsalt.workers import connection as nats
from pushsalt.workers import local, messages, names, parties, plans
from pushsalt.workers.connection import Connection, Pull
from pushsalt.workers.delivery import LATER, GivenBackError, Shard
from pushsalt.workers.messages import Head, MessageError
from pushsalt.workers.parties import Box
from pushsalt.workers.seal import Keys
from pushsalt.workers.siteproject import SiteProject
from pushsalt.workers.worker_job import Progress, Projects, WorkerJob

if TYPE_CHECKING:
    from pushsalt.events import Reporter

log = logging.getLogger(__name__)

#: Seconds between two signs of life for a shard.
_ALIVE: Final = nats.ACK_WAIT / 4
#: Seconds for which the connections of a job are kept after its last shard.
_LINGER: Final = 2.0
#: Seconds between messages of progress.
_TELL: Final = 0.2


def worker_id() -> str:
    """An id that no other worker has: the host, the process and a random part."""
    host = re.sub(r"[^A-Za-z0-9_-]", "-", socket.gethostname().split(".")[0])[:16].strip("-_") or "worker"
    return f"{host}-{os.getpid()}-{secrets.token_hex(2)}"


class Worker:
    """A worker of one site. ``run`` works until it is stopped."""

    def __init__(
        self,
        site: str,
        url: str,
        cache_dir: Path,
        *,
        folder: Path | None = None,
        width: int = DEFAULT_CONCURRENCY,
        id: str = "",
    ) -> None:
        """``folder``: keys and credentials of the site; ``width``: most connections with targets at a time.

        Raises UsageError for keys that cannot be used.
        """
        self.site = site
        self.id = id or worker_id()
        self._url = url
        self._folder = folder
        self.party = parties.site(folder, url)
        self._cache_dir = cache_dir
        self._width = width
        self._places = asyncio.Semaphore(width)
        self._projects = Projects(self._project)
        self.connection: Connection
        self._jobs: dict[str, asyncio.Task[WorkerJob]] = {}
        self._users: dict[asyncio.Task[WorkerJob], int] = {}
        #: the last shards that this worker has finished: their job and number
        self.finished: dict[tuple[str, int], None] = {}
        self._shards: set[asyncio.Task[None]] = set()
        #: held by the shard that runs, of those that were delivered before
        self.again = asyncio.Lock()
        #: targets in hand
        self.busy = 0
        self._changed = asyncio.Event()
        self._since = time.time()

    async def run(self, stopped: asyncio.Event, ready: Callable[[], None] = lambda: None) -> None:
        """Work until ``stopped`` is set, and then until the shards in hand are done. Raises CommandError."""
        self.connection = await nats.connect(self._url, self._folder, f"pushsalt worker {self.id}", patient=True)
        try:
            await self._ensure_site(stopped)
            await self.connection.nc.subscribe(names.control_subject(), cb=self._ordered)
            presence = asyncio.create_task(self._be_present())
            taking = asyncio.create_task(self._take_shards())
            stop = asyncio.create_task(stopped.wait())
            ready()
            try:
                await asyncio.wait({taking, presence, stop}, return_when=asyncio.FIRST_COMPLETED)
                for done in (taking, presence):
                    if done.done():
                        done.result()
                taking.cancel()
                if self._shards:
                    log.warning("stopping: %d shards are in hand; a second signal ends at once", len(self._shards))
                    await asyncio.wait(self._shards)
            finally:
                await nats.end([presence, taking, stop, *self._shards])
            await self.connection.put(names.WORKERS_BUCKET, names.presence_key(self.site, self.id), b"gone")
        finally:
            await nats.end({*self._jobs.values(), *self._users})
            self._projects.close()
            await self.connection.close()

    async def _ensure_site(self, stopped: asyncio.Event) -> None:
        """Wait until the streams of the site are there; without keys, create them."""
        told = False
        while not stopped.is_set():
            with contextlib.suppress(nats.ServerError, Exception):
                if await self.connection.has_site(self.site):
                    return
            if self._folder is None:
                await self.connection.setup([self.site])
                return
            if not told:
                why = "the first controller that uses it creates it; at a leaf node the URL needs ?domain=NAME"
                log.warning("the site %s has no stream yet: %s", self.site, why)
                told = True
            await asyncio.sleep(1.0)

    # presence and orders ----------------------------------------------------------------------------------------------

    async def _be_present(self) -> None:
        """Renew the entry of this worker."""
        key = names.presence_key(self.site, self.id)
        reconnects = 0
        while True:
            if reconnects != (reconnects := self.connection.nc.stats["reconnects"]):
                await self._stop_steps()
            entry = {
                "v": messages.VERSION,
                "id": self.id,
                "version": __version__,
                "since": self._since,
                "busy": self.busy,
            }
            await self.connection.put(names.WORKERS_BUCKET, key, messages.pack_data(entry))
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._changed.wait(), nats.RENEW)
            self._changed.clear()
            await asyncio.sleep(0.5)

    async def _ordered(self, message: Any) -> None:
        """An order of a controller for a running job."""
        try:
            head = messages.decode(message.data)
            task = self._jobs.get(head.jid)
            if head.kind == "stop" and task is not None and _is_ready(task):
                job = task.result()
                data = messages.unpack_data(job.box.open(head.box, stop_purpose(head.jid, self.site)))
                job.stop(bool(data.get("at_once")))
        except (MessageError, PushsaltError) as exc:
            log.debug("an order is ignored: %s", exc)

    async def _stop_steps(self) -> None:
        """Take the steps of stopping that were ordered while this worker had no connection."""
        for task in list(self._jobs.values()):
            if _is_ready(task):
                with contextlib.suppress(GivenBackError):
                    await self.stop_step(task.result())

    async def stop_step(self, job: WorkerJob) -> None:
        """Take the step of stopping that was ordered before. Raises GivenBackError if the server does not tell."""
        try:
            stored = await self.connection.get(names.STOPPED_BUCKET, f"{job.jid}.{self.site}")
            if stored:
                data = messages.unpack_data(job.box.open(stored, stop_purpose(job.jid, self.site)))
                job.stop(bool(data.get("at_once")))
        except nats.ServerError as exc:
            raise GivenBackError(f"job {job.jid}: whether it was stopped is not known: {exc}") from None
        except (MessageError, PushsaltError) as exc:
            log.warning("job %s: an order to stop is ignored: %s", job.jid, exc)

    # shards -----------------------------------------------------------------------------------------------------------

    async def _take_shards(self) -> None:
        """Take shards as long as there are free places for targets."""
        pull = Pull(self.connection, names.work_stream(self.site), names.CONSUMER)
        while True:
            if self.busy >= self._width:
                await asyncio.wait(self._shards, return_when=asyncio.FIRST_COMPLETED)
                continue
            try:
                async for message in pull.messages(1):
                    task = asyncio.create_task(self._guarded(message))
                    self._shards.add(task)
                    task.add_done_callback(self._shards.discard)
                    await asyncio.sleep(0)
            except LookupError:
                await asyncio.sleep(1.0)
                if self._folder is None:
                    with contextlib.suppress(nats.ServerError):
                        await self.connection.setup([self.site])

    async def _guarded(self, message: Any) -> None:
        """A shard from its delivery to its acknowledgement; it is delivered again after an error."""
        alive = asyncio.create_task(self._keep_alive(message))
        try:
            await Shard(self, message).run()
        except asyncio.CancelledError:
            with contextlib.suppress(Exception):
                await message.nak()
            raise
        except Exception as exc:
            log.error("a shard is given back: %s", exc)
            log.debug("the shard", exc_info=True)
            with contextlib.suppress(Exception):
                await message.nak(delay=LATER)
        finally:
            alive.cancel()

    @staticmethod
    async def _keep_alive(message: Any) -> None:
        while True:
            await asyncio.sleep(_ALIVE)
            with contextlib.suppress(Exception):
                await message.in_progress()

    def count(self, number: int) -> None:
        """Change the number of targets in hand."""
        self.busy += number
        self._changed.set()

    # jobs -------------------------------------------------------------------------------------------------------------

    async def _project(self, named: dict[str, Any], reporter: Reporter) -> SiteProject:
        """The project that a description names. Raises PushsaltError."""
        if not isinstance(self.party, Keys):
            settings = local.settings_of(named.get("local"), self._cache_dir / "caches")
            return await asyncio.to_thread(SiteProject.of, settings, reporter)
        from pushsalt.workers import objects

        path = await objects.materialize(self.connection.nc, named, self._cache_dir / "projects", self.party)
        settings = objects.settings_of(path, self._cache_dir / "caches")
        project = await asyncio.to_thread(SiteProject.of, settings, reporter)
        objects.furnish(project, self._folder)
        return project

    @contextlib.asynccontextmanager
    async def job(self, description: messages.Description) -> AsyncIterator[WorkerJob]:
        """The job of a description, which its shards share. Raises PushsaltError if it cannot be prepared."""
        jid = description.jid
        task = self._jobs.get(jid)
        if task is None or (description.resumes and _is_ready(task) and task.result().stopping.requested.is_set()):
            task = self._jobs[jid] = asyncio.create_task(self._begin(description), name=f"job {jid}")
        self._users[task] = self._users.get(task, 0) + 1
        try:
            yield await asyncio.shield(task)
        finally:
            self._users[task] -= 1
            if not self._users[task]:
                asyncio.get_running_loop().call_later(
                    0 if not task.done() or task.exception() else _LINGER, self._release, jid, task
                )

    async def _begin(self, description: messages.Description) -> WorkerJob:
        jid, loop = description.jid, asyncio.get_running_loop()
        told: list[Any] = []
        redactor = Redactor()
        box = Box(description.key)

        def send() -> None:
            events, told[:] = list(told), []
            head = Head("progress", jid, self.site, worker=self.id)
            head = messages.sealed(head, messages.pack_data({"events": redactor.data(events)}), box)
            subject = names.progress_subject(self.site, jid)
            loop.create_task(_quietly(self.connection.nc.publish(subject, messages.encode(head))))

        def tell(event: list[Any]) -> None:
            if not told:
                loop.call_later(_TELL, send)
            told.append(event)

        project = await self._projects.take(description.project, Progress(tell))
        redactor = project.redactor
        plan = None
        if description.kind == "planned":
            plan = await plans.fetch(self.connection, self.party, jid, self.site, description.plan, project)
        job = WorkerJob(description, project, self._places, self._width, plan)
        await job.prepare()
        return job

    def _release(self, jid: str, task: asyncio.Task[WorkerJob]) -> None:
        """Close a job that has no shard here any more."""
        if self._users.get(task) != 0:
            return  # it has shards again, or is closed
        del self._users[task]
        if self._jobs.get(jid) is task:
            del self._jobs[jid]
        if _is_ready(task):
            self._shards.add(closing := asyncio.ensure_future(self._closed(task.result())))
            closing.add_done_callback(self._shards.discard)

    async def _closed(self, job: WorkerJob) -> None:
        await job.close()
        self._projects.give_back(job.description.project, job.project)


def _is_ready(task: asyncio.Task[WorkerJob]) -> bool:
    return task.done() and not task.cancelled() and not task.exception()


def stop_purpose(jid: str, site: str) -> str:
    """The purpose of the box of an order to stop."""
    return f"stop {jid} {site}"


async def _quietly(work: Awaitable[Any]) -> None:
    with contextlib.suppress(Exception):
        await work
