"""``pushsalt worker follow``: brings what jobs of other controllers learn into the caches and the record of this one.

The NATS server keeps two durable consumers for each follower: of the states of jobs, and of the stream of returns. What
is taken from them is acknowledged when it is stored here; if the follower ends before, it comes again, which changes
nothing. The messages of a job count as they do for the controller that has begun it (``pushsalt.workers.ledger``), so
its earlier ones are read first.
"""

from __future__ import annotations

import asyncio
import fcntl
import logging
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pushsalt import privatefolder
from pushsalt.errors import CommandError, PushsaltError
from pushsalt.jobs.database import path_of
from pushsalt.jobs.jid import is_jid
from pushsalt.jobs.jobs import JobError, Jobs, KeptJob
from pushsalt.jobs.model import JobEnd
from pushsalt.jobs.record import JobRecord
from pushsalt.run.jobrecord import bounds_of
from pushsalt.run.observers import redacted
from pushsalt.workers import connection as nats
from pushsalt.workers import learning, messages, names, parties, state
from pushsalt.workers.connection import Connection, Pull
from pushsalt.workers.dispatch import site_or_none
from pushsalt.workers.ledger import Ledger
from pushsalt.workers.reading import Reader

if TYPE_CHECKING:
    from pushsalt.run.project import Project
    from pushsalt.workers.messages import Answer

log = logging.getLogger(__name__)

#: Messages of one request, and seconds that a request waits for one.
_BATCH: Final = 200
_WAIT: Final = 2.0
#: Seconds after which the server delivers again what was not acknowledged.
_ACK_WAIT: Final = 60.0
#: Seconds after which the data of a job without news is dropped; it is read again when there are some.
_IDLE: Final = 30.0
#: Seconds by which the ends of a job in two records may differ without another command having resumed it.
_LATER: Final = 5.0
#: Most jobs that have ended, or are this controller's, whose messages are passed over without a question.
_OVER: Final = 10_000
_ALL: Final = 2**63
#: Seconds until the connection is tried again.
_AGAIN: Final = 2.0


@dataclass
class _Job:
    """A job of another controller. ``record`` is None if jobs of its kind are not recorded."""

    state: state.JobState
    ledger: Ledger
    record: JobRecord | None
    #: the number of the last message that was read
    seen: int = 0
    news: float = field(default_factory=time.monotonic)


class Follower:
    """Keeps caches and record of a project up to date. ``say`` is called with a text for each job that has ended."""

    def __init__(self, project: Project, url: str, say: Callable[[str], None] = lambda text: None) -> None:
        """Load the keys. Raises UsageError for unusable keys, CommandError for an unusable cache folder."""
        self._project = project
        self._url = url
        self._say = say
        self._party = parties.controllers(project, url)
        self._jobs: dict[str, _Job] = {}
        #: JID -> the number up to which messages of a job are passed over
        self._over: dict[str, int] = {}
        self._recorded = Jobs(project.config.cache_dir)
        self._connection: Connection
        self._name = state.controller_name(project.config.cache_dir)

    async def run(self, stopped: asyncio.Event, *, once: bool = False) -> None:
        """Follow until ``stopped`` is set; with ``once``, to the end of what is stored now. Raises CommandError."""
        with _only_one(self._project.config.cache_dir / "workers" / "follow.lock"):
            folder = parties.keys_folder(self._project)
            self._connection = await nats.connect(self._url, folder, "pushsalt worker follow", patient=not once)
            try:
                await self._connection.setup([])
                await self._follow(stopped, once)
            finally:
                for jid in list(self._jobs):
                    await self._leave(jid)
                await self._connection.close()

    async def _follow(self, stopped: asyncio.Event, once: bool) -> None:
        states = _Consumer(self._connection, f"KV_{names.JOBS_BUCKET}", self._name, self._took_state)
        returns = _Consumer(self._connection, names.RETURNS_STREAM, self._name, self._took_return)
        while not stopped.is_set():
            try:
                number = await states.take(0)
                number += await returns.take(0 if once or number else _WAIT)
                await self._commit()
                await states.acknowledge()
                await returns.acknowledge()
            except nats.ServerError as exc:
                if once:
                    raise
                log.warning("%s; trying again", exc)
                await states.reset()
                await returns.reset()
                await asyncio.sleep(_AGAIN)
                continue
            if once and not number:
                return
            for jid in [jid for jid, job in self._jobs.items() if time.monotonic() - job.news > _IDLE]:
                await self._leave(jid)

    async def _commit(self) -> None:
        for job in self._jobs.values():
            if job.record is not None:
                await job.record.committed()

    # jobs -------------------------------------------------------------------------------------------------------------

    async def _took_state(self, message: Any) -> None:
        """A job has begun or ended."""
        jid = message.subject.rpartition(".")[2]
        if is_jid(jid) and message.data:
            await self._news(jid)

    async def _took_return(self, message: Any) -> None:
        """A message about a job."""
        jid = message.subject.rpartition(".")[2]
        job = self._jobs.get(jid)
        number = int(message.metadata.sequence.stream)
        if job is None:
            if number > self._over.get(jid, 0):
                await self._news(jid)
        elif number > job.seen:
            job.seen, job.news = number, time.monotonic()
            await self._take(job, message.subject, message.data, message.metadata.timestamp.timestamp())

    async def _news(self, jid: str) -> None:
        """Read the state of a job, and what is stored about it, unless it is a job of this controller."""
        found = await self._state(jid)
        if found is None or (jid not in self._jobs and not self._is_wanted(found)):
            self._pass_over(jid, _ALL)
            return
        job = self._jobs.get(jid)
        if job is None:
            job = self._jobs[jid] = self._begun(found)
        job.state, job.news = found, time.monotonic()
        await self._read(job)
        if found.end:
            await self._end(jid)

    async def _state(self, jid: str) -> state.JobState | None:
        try:
            return await state.load(self._connection, self._party, jid)
        except nats.ServerError:
            raise
        except (PushsaltError, messages.MessageError, KeyError, TypeError) as exc:
            log.debug("the job %s is left out: %s", jid, exc)  # of another project, or of a newer version
            return None

    def _pass_over(self, jid: str, number: int) -> None:
        self._over.pop(jid, None)
        self._over[jid] = number
        if len(self._over) > _OVER:
            del self._over[next(iter(self._over))]

    def _is_wanted(self, found: state.JobState) -> bool:
        """Whether a job is another controller's and has no end here, or an earlier one; or this one's, and was lost."""
        recorded = self._record_of(found.start.jid)
        if recorded is None:
            return found.controller != self._name
        return recorded.is_left or recorded.state == "lost" or found.end > (recorded.end or found.end) + _LATER

    def _record_of(self, jid: str) -> KeptJob | None:
        try:
            return self._recorded.get(jid)
        except JobError:
            return None

    def _begun(self, found: state.JobState) -> _Job:
        project, start = self._project, found.start
        site = partial(site_or_none, project)
        ledger = Ledger(start.jid, found.key, partial(log.warning, "job %s: %s", start.jid), site, self._party)
        record = None
        if project.config.opts["job_cache"] and not start.options.get("plan"):
            is_known = self._record_of(start.jid) is not None
            warn = partial(project.reporter.warning, None)
            record = JobRecord(
                path_of(project.config.cache_dir), warn, bounds_of(project.config.opts), resumes=is_known
            )
            record.job_begins(start)
        return _Job(found, ledger, record, found.first - 1)

    async def _read(self, job: _Job) -> None:
        """Read what is stored of a job and was not read yet."""
        jid = job.state.start.jid
        reader = Reader(self._connection, names.returns_subject(jid=jid), job.seen + 1)
        await reader.open()
        try:
            left = reader.there
            while left > 0:
                before = left
                async for subject, data in reader.some(min(_BATCH, left), 5.0):
                    left -= 1
                    await self._take(job, subject, data, reader.time)
                if left == before:
                    raise nats.ServerError(f"the returns of the job {jid} cannot be read", "see the server's log")
            job.seen = max(job.seen, reader.seen)
        finally:
            await reader.close()

    async def _take(self, job: _Job, subject: str, data: bytes, at: float) -> None:
        """A message about a job, which was stored at this time (seconds since the epoch)."""
        answer = job.ledger.take(subject, data)
        if answer is None:
            return
        await asyncio.to_thread(self._keep, job, answer, at)

    def _keep(self, job: _Job, answer: Answer, at: float) -> None:
        project = self._project
        project.redactor.add_secrets(*answer.secrets)
        if answer.pillar is not None:
            project.redactor.add_pillar(answer.pillar)
        try:
            learning.remember(project, answer, at)
        except Exception as exc:  # the content is foreign
            log.warning("job %s: what is told about %s cannot be used: %s", job.ledger.jid, answer.result.id, exc)
        if job.record is not None:
            job.record.target_returned(redacted(answer.result, project.redactor))

    async def _end(self, jid: str) -> None:
        job = self._jobs.pop(jid)
        self._pass_over(jid, job.seen)
        found = job.state
        if job.record is not None:
            job.record.job_ends(JobEnd(found.exit_code, "done" if found.state == "done" else "interrupted", found.end))
            await job.record.committed()
        self._say(f"{jid}  {found.start.fun}  {len(found.start.ids)} targets")

    async def _leave(self, jid: str) -> None:
        """Drop the data of a job that has not ended."""
        job = self._jobs.pop(jid)
        if job.record is not None:
            job.record.job_ends(JobEnd(0, "running"))
            await job.record.committed()


class _Consumer:
    """The durable consumer of a follower on one stream; ``take`` is awaited with each message."""

    def __init__(self, connection: Connection, stream: str, name: str, took: Callable[[Any], Any]) -> None:
        self._connection = connection
        self._stream = stream
        self._name = f"follow-{name}"
        self._took = took
        self._pull: Pull | None = None
        self._last: Any = None

    async def take(self, seconds: float) -> int:
        """Take messages that come within this time; returns their number. Raises ServerError."""
        if self._pull is None:
            await self._open()
        assert self._pull is not None
        number = 0
        try:
            async for message in self._pull.messages(_BATCH, seconds):
                await self._took(message)
                self._last, number = message, number + 1
                seconds = 0
        except LookupError:
            self._pull = None
        return number

    async def acknowledge(self) -> None:
        """Acknowledge all messages that were taken."""
        message, self._last = self._last, None
        if message is not None:
            with suppress(Exception):  # what is not acknowledged comes again
                await message.ack_sync(timeout=5)

    async def reset(self) -> None:
        """Begin again after the last message that was acknowledged."""
        pull, self._pull, self._last = self._pull, None, None
        if pull is not None:
            await pull.close()

    async def _open(self) -> None:
        """Create the consumer, or continue with it: after the last message that was acknowledged."""
        from nats.js import api

        js, start = self._connection.js, 1
        with nats.explained("the stream cannot be followed"):
            with suppress(nats.MissingError), nats.explained("the consumer"):
                info = await js.consumer_info(self._stream, self._name)
                start = int(info.ack_floor.stream_seq) + 1 if info.ack_floor else 1
                if info.num_ack_pending:  # of an earlier follower: they would come again after a time only
                    await js.delete_consumer(self._stream, self._name)
            config = api.ConsumerConfig(
                durable_name=self._name,
                deliver_policy=api.DeliverPolicy.BY_START_SEQUENCE,
                opt_start_seq=start,
                ack_policy=api.AckPolicy.ALL,
                ack_wait=_ACK_WAIT,
                max_ack_pending=-1,
                inactive_threshold=nats.KEEP,
            )
            try:
                await js.consumer_info(self._stream, self._name)
            except Exception:
                await js.add_consumer(self._stream, config)
        self._pull = Pull(self._connection, self._stream, self._name)


@contextmanager
def _only_one(path: Path) -> Iterator[None]:
    """No other process follows for these caches meanwhile. Raises CommandError."""
    try:
        privatefolder.private_dir(path.parent)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as exc:
        raise CommandError(f"{path}: {exc.strerror or exc}", "check the cache folder") from None
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise CommandError("another `pushsalt worker follow` uses this cache folder", "one is enough") from None
        yield
    finally:
        os.close(descriptor)
