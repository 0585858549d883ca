"""One delivery of a shard to a worker, from its opening to its acknowledgement."""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol

from pushsalt.errors import EXIT_OK, PushsaltError, TargetError
from pushsalt.jobs.jid import began
from pushsalt.model import TargetReturn
from pushsalt.workers import connection as nats
from pushsalt.workers import messages, names
from pushsalt.workers.messages import Answer, Head, MessageError, NewerError
from pushsalt.workers.parties import CONTROLLER, Box
from pushsalt.workers.reading import read_all
from pushsalt.workers.worker_job import WorkerJob

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractAsyncContextManager

    from pushsalt.workers.connection import Connection
    from pushsalt.workers.messages import Description
    from pushsalt.workers.parties import Party

log = logging.getLogger(__name__)

#: After so many lost workers, or deliveries to workers that cannot use it, a shard is set aside.
DELIVERIES: Final = 5
#: Seconds until a refused shard is delivered again.
LATER: Final = 1.0
#: Kinds of jobs that may not run twice, and that targets do not keep.
_ONCE: Final = frozenset({"planned", "raw"})
#: What to do about a target whose worker was lost.
LOST_HINT: Final = "look at the log of the site's workers and at the target, then run it again"


#: Most shards of which a worker remembers that it has finished them.
_FINISHED: Final = 10_000
#: Seconds for which a look at the returns that are stored is new enough to begin a target.
_FRESH: Final = 1.0


class GivenBackError(Exception):
    """A shard cannot run now: it is delivered again."""


class Host(Protocol):
    """What a delivery needs of its worker."""

    site: str
    id: str
    connection: Connection
    party: Party
    #: held by the shard that runs, of those that were delivered before
    again: asyncio.Lock
    #: the last shards that this worker has finished: their job and number
    finished: dict[tuple[str, int], None]

    def count(self, number: int) -> None:
        """Change the number of targets in hand."""

    def job(self, description: Description) -> AbstractAsyncContextManager[WorkerJob]:
        """The job of a description. Raises PushsaltError if it cannot be prepared."""

    async def stop_step(self, job: WorkerJob) -> None:
        """Take the step of stopping that was ordered before. Raises GivenBackError if the server does not tell."""


class Shard:
    """One delivery of a shard."""

    def __init__(self, worker: Host, message: Any) -> None:
        self._worker = worker
        self._message = message
        self._connection = worker.connection
        self._party = worker.party
        self._deliveries = int(message.metadata.num_delivered)
        self._head = Head("shard", "")
        #: targets whose returns are stored, and the workers that have taken it, if it was delivered before
        self._stored: set[str] = set()
        self._takers: set[str] = set()
        #: good returns of other shards of the job, by id: a job that is resumed has a target in several shards
        self._answers: dict[str, Answer] = {}
        #: manager -> what it manages, of the managed resources among the targets
        self._resources: dict[str, dict[str, Any]] = {}
        self._looking = asyncio.Lock()
        self._looked = 0.0

    async def run(self) -> None:
        """Run it; it is acknowledged at the end."""
        try:
            self._head = head = messages.decode(self._message.data)
            if head.kind != "shard" or head.site != self._worker.site:
                raise MessageError(f"the shard is for the site {head.site}")
            data = self._party.open(CONTROLLER, head.job, f"job {head.jid}")
            description = messages.unpack_description(data)
            if description.jid != head.jid:
                raise MessageError("its description is for another job")
            if age(head.jid) > nats.KEEP:
                raise MessageError("its job is older than work is kept: it may be a replay")
            box = Box(description.key)
            content = box.open(head.box, head.purpose)
            ids, self._resources = messages.unpack_ids(content), messages.unpack_resources(content)
        except NewerError as exc:
            self._head = exc.head
            return await self._refuse(f"{exc}: upgrade the workers of the site {self._worker.site}")
        except (MessageError, PushsaltError) as exc:
            if not self._head.jid:
                log.error("a message of the site's work is dropped: %s", exc)
                return await self._done()
            return await self._refuse(str(exc))
        if (head.jid, head.n) in self._worker.finished:
            log.warning("job %s: shard %d was finished here before: it is dropped", head.jid, head.n)
            return await self._done()
        self._worker.count(len(ids))
        try:
            await self._run(description, box, ids)
        finally:
            self._worker.count(-len(ids))

    async def _run(self, description: messages.Description, box: Box, ids: list[str]) -> None:
        """Run it. One that was delivered before runs alone among those, so that one that ends workers ends itself.

        The first delivery may come late, such as after a partition, when another worker has had the shard.
        """
        if self._deliveries == 1 and await self._claim(box):
            return await self._run_now(description, box, ids, again=False)
        async with self._worker.again:
            await self._read_stored(box, set(ids))
            log.info("job %s: shard %d is delivered again (%d)", self._head.jid, self._head.n, self._deliveries)
            await self._run_now(description, box, ids, again=True)

    async def _run_now(self, description: messages.Description, box: Box, ids: list[str], *, again: bool) -> None:
        worker = self._worker
        todo = [id for id in ids if id not in self._stored]
        lost = len(self._takers - {worker.id})
        if again and not await self._claim(box):
            await self._tell("taken", box)
        if todo and lost >= DELIVERIES:
            await self._give_up(box, todo, f"{lost} workers of the site {worker.site} were lost while they had it")
        elif todo and again and self._takers and description.kind in _ONCE:
            await self._give_up(box, todo, "its worker was lost while it ran, and it is not run twice")
        elif todo:
            try:
                async with worker.job(description) as job:
                    await worker.stop_step(job)
                    await asyncio.to_thread(job.take_over, self._resources)
                    await self._run_targets(job, todo, again or description.resumes)
            except PushsaltError as exc:
                return await self._refuse(f"the project cannot be used: {exc}")
        await self._tell("done", box)
        worker.finished[self._head.jid, self._head.n] = None
        if len(worker.finished) > _FINISHED:
            del worker.finished[next(iter(worker.finished))]
        await self._done()

    async def _run_targets(self, job: WorkerJob, ids: list[str], again: bool) -> None:
        tasks: dict[asyncio.Task[object], str] = {}
        is_stored = partial(self._is_stored, job.box, set(ids))
        for id in ids:
            refused = partial(self._refused_by_server, job, id)
            store = partial(self._store, job.box, refused=refused)
            work = job.run(id, self._head.n, store, again, is_stored)
            task: asyncio.Task[object] = asyncio.create_task(work, name=f"target {id}")
            tasks[task] = job.tasks[task] = id
        try:
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
                job.tasks.pop(task, None)

    async def _give_up(self, box: Box, ids: list[str], why: str) -> None:
        log.error("job %s: shard %d is set aside: %s", self._head.jid, self._head.n, why)
        for id in ids:
            error = TargetError("worker_lost", f"{id}: {why}: the outcome is unknown", LOST_HINT)
            await self._store(box, Answer(TargetReturn(id, error.as_return(), "error", error.exit_code)))

    @staticmethod
    def _refused_by_server(job: WorkerJob, id: str, why: str) -> None:
        """Tell the controllers that follow the job; the return stays at the target until it is stored."""
        job.project.reporter.warning(id, f"its return is not stored yet: {why}; trying again")

    async def _store(self, box: Box, answer: Answer, refused: Callable[[str], None] | None = None) -> None:
        """Store the return of a target; ``refused`` as in ``Connection.store``."""
        id, head = answer.result.id, self._head
        which = messages.short(id)
        head = Head("return", head.jid, self._worker.site, head.n, self._worker.id, version=head.version, text=which)
        for part in messages.split(head, messages.pack_answer(answer), box):
            await self._send(part, id, refused)

    async def _send(self, head: Head, id: str = "", refused: Callable[[str], None] | None = None) -> None:
        subject = names.returns_subject(self._worker.site, self._worker.id, head.jid)
        await self._connection.store(subject, messages.encode(head), messages.message_id(head, id), refused=refused)

    async def _tell(self, kind: str, box: Box) -> None:
        await self._send(self._said(kind, box))

    def _said(self, kind: str, box: Box) -> Head:
        shard = self._head  # the controller that has handed it out reads its version
        head = Head(kind, shard.jid, self._worker.site, shard.n, self._worker.id, version=shard.version)
        return messages.sealed(head, messages.pack_data({"deliveries": self._deliveries}), box)

    async def _claim(self, box: Box) -> bool:
        """Tell that this worker takes the shard, as the first one; False, and nothing is told, if another one did."""
        head = self._said("taken", box)
        subject = names.returns_subject(self._worker.site, self._worker.id, head.jid)
        answer = await self._connection.stored(subject, messages.encode(head), messages.claim_id(head))
        return not answer.duplicate

    async def _refuse(self, why: str) -> None:
        """Leave the shard to another worker; after enough deliveries it is set aside."""
        worker = self._worker
        aside = self._deliveries > DELIVERIES
        log.error("job %s: shard %d is %s: %s", self._head.jid, self._head.n, "set aside" if aside else "refused", why)
        kind = "aside" if aside else "refused"
        head = Head(kind, self._head.jid, worker.site, self._head.n, worker.id)
        sealed = self._party.seal(CONTROLLER, messages.pack_data({"why": why[:500]}), head.purpose)
        await self._send(replace(head, box=sealed))
        if aside:
            await self._done()
        else:
            await self._message.nak(delay=LATER)

    async def _done(self) -> None:
        """Acknowledge the shard, and wait for the server's answer."""
        for _ in range(5):
            try:
                await self._message.ack_sync(timeout=2)
                return
            except Exception as exc:  # the connection is lost, or the server does not answer
                log.debug("a shard is not acknowledged yet: %s", exc)
                self._message._ackd = False
                await asyncio.sleep(1.0)

    async def _read_stored(self, box: Box, ids: set[str]) -> None:
        """Read which targets of this shard have stored returns, and which workers have taken it."""
        subject = names.returns_subject(self._worker.site, "*", self._head.jid)
        stored = Stored(self._head, box, ids)
        async for _, data in read_all(self._connection, subject, self._worker.site):
            stored.take(data)
        self._stored, self._takers, self._answers = stored.ids, stored.takers, stored.answers
        self._looked = time.monotonic()

    async def _is_stored(self, box: Box, ids: set[str], id: str, certain: bool) -> bool:
        """Whether a target has a stored return; ``certain``: wait until the server tells.

        A good return of another shard of the job is stored again for this one, whose return counts.
        """
        async with self._looking:
            while id not in self._stored and (certain or time.monotonic() - self._looked > _FRESH):
                try:
                    await self._read_stored(box, ids)
                    break
                except nats.ServerError as exc:  # without certainty the target itself is asked, too
                    log.debug("job %s: %s", self._head.jid, exc)
                    if not certain:
                        break
                    await asyncio.sleep(LATER)
        if id not in self._stored and id in self._answers:
            await self._store(box, self._answers[id])
            self._stored.add(id)
        return id in self._stored


def age(jid: str) -> float:
    """Seconds since a job began."""
    time_of = began(jid)
    return time.time() - time_of.timestamp() if time_of is not None else 0.0


class Stored:
    """What is stored about a shard, of messages that its workers have proved. Pure: no connection, no clock.

    ``ids`` and ``takers`` are those of the shard itself, ``answers`` the good returns that other shards of the job have
    for its targets.
    """

    def __init__(self, shard: Head, box: Box, ids: set[str]) -> None:
        self._shard = shard
        self._box = box
        self._wanted = ids
        self._parts = messages.Parts()
        #: the targets with a return
        self.ids: set[str] = set()
        #: the workers that have taken the shard
        self.takers: set[str] = set()
        #: good returns of other shards, by id
        self.answers: dict[str, Answer] = {}

    def take(self, data: bytes) -> None:
        """Take a message of the stream of returns. One without a proof, or of another job, does not count."""
        try:
            head = messages.decode(data)
            if (head.jid, head.site) != (self._shard.jid, self._shard.site):
                return
            same = head.n == self._shard.n
            if head.kind == "taken" and same:
                self._box.open(head.box, head.purpose)
                self.takers.add(head.worker)
            elif head.kind == "return":
                whole = self._parts.joined(head, self._box.open(head.box, head.purpose))
                if whole is not None:
                    answer = messages.unpack_answer(whole)
                    if answer.result.id not in self._wanted:
                        return
                    if same:
                        self.ids.add(answer.result.id)
                    elif answer.result.exit_code == EXIT_OK:  # a job is resumed where it has no good return
                        self.answers[answer.result.id] = answer
        except (MessageError, PushsaltError) as exc:
            log.debug("job %s: a stored message does not count: %s", self._shard.jid, exc)
