"""Evaluates the beacons of targets: one session for each target that has some, until it is closed.

``pushsalt watch`` does this for the targets that it watches, a kept session for those of its connections
(``pushsalt.watch.keptbeacons``). The beacons of a target are evaluated by one process at a time.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from pushsalt.errors import CommandError, TargetError
from pushsalt.job import Job
from pushsalt.run import single
from pushsalt.run.beaconing import Following
from pushsalt.run.runner import Runner
from pushsalt.watch.targetlocks import TargetLocks

if TYPE_CHECKING:
    from pushsalt.journal.interface import EventJournal
    from pushsalt.model import Target, TargetReturn
    from pushsalt.watch.clients import Clients

log = logging.getLogger(__name__)

#: Seconds after which a session that has failed is started again; doubled after each failure, up to the maximum.
_RETRY: Final = 2.0
_RETRY_MAX: Final = 60.0
#: Maximum number of sessions that are being started at the same time.
_STARTING: Final = 32
#: Maximum number of events that wait for a journal that cannot be written.
_PENDING: Final = 10_000


@dataclass(frozen=True)
class Evaluation:
    """How beacons are evaluated. ``ids`` returns the ids of the targets, and raises CommandError; ``say`` is called
    with texts for people, ``started`` with an id and the names of its beacons, ``failed`` with an id and an error.

    ``own_connections``: sessions use connections of ``Clients``, otherwise those of the project's keeper.
    ``unknown_pillar``: a target without cached pillar is asked whether it has beacons.
    """

    ids: Callable[[], Sequence[str]]
    say: Callable[[str], None] = lambda text: None
    started: Callable[[str, list[str]], None] = lambda id, names: None
    failed: Callable[[str, str], None] = lambda id, text: None
    own_connections: bool = True
    unknown_pillar: bool = False


@dataclass
class _Evaluated:
    """A target whose beacons are evaluated. ``digest``: that of everything that its beacons depend on."""

    digest: str
    task: asyncio.Task[None] | None = None
    #: the session must not be started again
    is_ending: bool = False
    #: the beacons of the current session have started
    has_started: bool = False


class Beacons:
    """Starts and ends the sessions."""

    def __init__(self, clients: Clients, journal: EventJournal, evaluation: Evaluation) -> None:
        self._clients = clients
        self._journal = journal
        self._evaluation = evaluation
        self._evaluated: dict[str, _Evaluated] = {}
        self._locks = TargetLocks(journal.path.with_name("beacons.lock"))
        self._starting = asyncio.Semaphore(_STARTING)
        self._pending: list[tuple[str, dict[str, Any]]] = []
        self._reported = ""

    @property
    def is_idle(self) -> bool:
        """Whether no target has beacons."""
        return all(each.task is None or each.task.done() for each in self._evaluated.values())

    async def update(self) -> None:
        """Start sessions for targets that have beacons now, end those of others, and renew those that have changed."""
        wanted = await asyncio.to_thread(self._wanted)
        await self._end([id for id, each in self._evaluated.items() if wanted.get(id) != each.digest])
        for id, digest in wanted.items():
            if id not in self._evaluated:
                self._evaluated[id] = evaluated = _Evaluated(digest)
                evaluated.task = asyncio.create_task(self._evaluate(id, evaluated), name=f"beacons {id}")
        if self._pending:
            await self._write([])

    async def close(self) -> None:
        """End all sessions, and their beacons with them."""
        await self._end(list(self._evaluated))
        self._locks.close()

    async def _end(self, ids: list[str]) -> None:
        ending = [self._evaluated.pop(id) for id in ids]
        for evaluated in ending:
            evaluated.is_ending = True
            if evaluated.task is not None:
                evaluated.task.cancel()
        await asyncio.gather(*(each.task for each in ending if each.task), return_exceptions=True)

    # targets ---------------------------------------------------------------------------------------------------------

    def _wanted(self) -> dict[str, str]:
        """id -> digest, of the targets that may have beacons."""
        try:
            ids = self._evaluation.ids()
        except CommandError:
            return {}
        wanted = {}
        for id in ids:
            try:
                target = self._clients.client.project.target(id)
            except TargetError:
                continue
            digest = self._digest(target) if not target.resource and target.transport != "offline" else ""
            if digest:
                wanted[id] = digest
        return wanted

    def _digest(self, target: Target) -> str:
        """A digest of the target's configured beacons, and of users' own modules; empty if there are no beacons.

        The pillar is the cached one, which runs of states renew.
        """
        project = self._clients.client.project
        cached = project.pillar_bank.get(target.key) if project.keeps_pillar else None
        pillar = cached if isinstance(cached, dict) else target.pillar
        given = [project.config.opts["beacons"], target.minion_opts.get("beacons"), pillar.get("beacons")]
        is_unknown = cached is None and self._evaluation.unknown_pillar and project.has_pillar
        if project.keeps_pillar and not any(given) and not is_unknown:
            return ""
        custom = project.custom_archive(str(project.config.opts.get("saltenv") or "base"))
        text = json.dumps([given, custom.digest if custom is not None else ""], default=str, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()

    # one target ------------------------------------------------------------------------------------------------------

    async def _evaluate(self, id: str, evaluated: _Evaluated) -> None:
        """Keep a session with a target: after an error another one is started."""
        async with self._locks.held(id):
            reported, pause = "", _RETRY
            while True:
                evaluated.has_started = False
                result = await self._session(id)
                if evaluated.is_ending or result.shape != "error":
                    return  # the session was ended, or the target has no beacons
                text = self._clients.redacted(str(result.ret["error"]["message"])).removeprefix(f"{id}: ")
                if text != reported:
                    self._evaluation.failed(id, text)
                    self._evaluation.say(f"{id}  beacons failed: {text}")
                reported = text
                if evaluated.has_started:
                    pause = _RETRY
                await asyncio.sleep(pause)
                pause = min(2 * pause, _RETRY_MAX)

    async def _session(self, id: str) -> TargetReturn:
        """Evaluate the beacons of a target until its session ends; returns the return of the job."""
        clients, released = self._clients, False

        def release() -> None:
            nonlocal released
            if not released:
                released = True
                self._starting.release()

        def started(id: str, names: list[str]) -> None:
            release()
            self._started(id, names)

        options = replace(clients.options, test=False, batch=None, timeout=None)
        following = Following(dict(clients.client.project.config.opts["beacons"]), started, self._received)
        job = Job("beacons", "beacons.poll", [following], {}, options, jid=clients.client.new_jid())
        kept = clients.kept() if self._evaluation.own_connections else None
        await self._starting.acquire()
        runner = Runner(clients.client.project, job, 1, within=True, kept=kept)
        try:
            return await single.run(runner, id)
        finally:
            release()
            await runner.close()

    def _started(self, id: str, names: list[str]) -> None:
        if id in self._evaluated:
            self._evaluated[id].has_started = True
        self._evaluation.started(id, names)
        self._evaluation.say(f"{id}  beacons: {', '.join(names)}")

    # events ----------------------------------------------------------------------------------------------------------

    async def _received(self, id: str, events: list[tuple[str, dict[str, Any]]]) -> None:
        await self._write([(self._clients.redacted(tag), self._clients.hidden(data)) for tag, data in events])

    async def _write(self, events: list[tuple[str, dict[str, Any]]]) -> None:
        """Write events into the journal. Those that cannot be written are kept for the next time."""
        batch, self._pending = [*self._pending, *events], []
        try:
            await asyncio.to_thread(self._journal.put_many, batch)
            self._reported = ""
        except (OSError, sqlite3.Error) as exc:
            text = f"{self._journal.place}: {getattr(exc, 'strerror', None) or exc}"
            if text != self._reported:
                log.error("%s; %s: events of beacons wait", text, self._journal.hint)
            self._reported = text
            self._pending = [*batch, *self._pending][-_PENDING:]
