"""The beacons of watched targets: a session for each target that has some, as long as the watch runs."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from pushsalt.errors import CommandError, TargetError
from pushsalt.job import Job
from pushsalt.run import single
from pushsalt.run.beaconing import Following
from pushsalt.run.runner import Runner

if TYPE_CHECKING:
    from pushsalt.job import Selection
    from pushsalt.journal.store import Journal
    from pushsalt.model import Target, TargetReturn
    from pushsalt.watch.clients import Clients

log = logging.getLogger(__name__)

#: Seconds until a session that has broken, or could not begin, is begun again; twice as many after each failure.
_AGAIN: Final = 2.0
_LATEST: Final = 60.0
#: Maximum number of events that wait for a journal that cannot be written.
_WAITING: Final = 10_000


@dataclass
class _Running:
    """The session of a target. ``digest``: of what its beacons depend on; ``stops``: it is not to be begun again."""

    digest: str
    task: asyncio.Task[None] | None = None
    stops: bool = False
    has_begun: bool = False


class Beacons:
    """Begins and ends the sessions; ``say`` is called with texts for people."""

    def __init__(self, clients: Clients, selection: Selection, journal: Journal, say: Callable[[str], None]) -> None:
        self._clients = clients
        self._selection = selection
        self._journal = journal
        self._say = say
        self._running: dict[str, _Running] = {}
        self._waiting: list[tuple[str, dict[str, Any]]] = []
        self._said = ""

    async def look(self) -> None:
        """Begin sessions for targets that have beacons now, end those of others, and renew those that have changed."""
        wanted = await asyncio.to_thread(self._wanted)
        await self._end([id for id, running in self._running.items() if wanted.get(id) != running.digest])
        for id, digest in wanted.items():
            if id not in self._running:
                self._running[id] = running = _Running(digest)
                running.task = asyncio.create_task(self._follow(id, running), name=f"beacons {id}")
        if self._waiting:
            await self._write([])

    async def close(self) -> None:
        """End all sessions, and their beacons with them."""
        await self._end(list(self._running))

    async def _end(self, ids: list[str]) -> None:
        ending = [self._running.pop(id) for id in ids]
        for running in ending:
            running.stops = True
            if running.task is not None:
                running.task.cancel()
        await asyncio.gather(*(running.task for running in ending if running.task), return_exceptions=True)

    # which targets ---------------------------------------------------------------------------------------------------

    def _wanted(self) -> dict[str, str]:
        """id -> digest, of the targets that may have beacons."""
        try:
            ids = self._clients.client.target(self._selection)
        except CommandError:
            return {}
        found = {}
        for id in ids:
            try:
                target = self._clients.client.project.target(id)
            except TargetError:
                continue
            digest = self._digest(target) if not target.resource and target.transport != "offline" else ""
            if digest:
                found[id] = digest
        return found

    def _digest(self, target: Target) -> str:
        """A digest of the target's configured beacons, and of users' own modules; empty if there are no beacons.

        The pillar is the cached one, which each round renews. Without such a cache the target decides.
        """
        project = self._clients.client.project
        kept = project.pillar_bank.get(target.key) if project.keeps_pillar else None
        pillar = kept if isinstance(kept, dict) else target.pillar
        given = [project.config.opts["beacons"], target.minion_opts.get("beacons"), pillar.get("beacons")]
        if project.keeps_pillar and not any(given):
            return ""
        custom = project.custom_archive(str(project.config.opts.get("saltenv") or "base"))
        text = json.dumps([given, custom.digest if custom is not None else ""], default=str, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()

    # one target ------------------------------------------------------------------------------------------------------

    async def _follow(self, id: str, running: _Running) -> None:
        """Keep the session of a target: after an error another one is begun."""
        said, pause = "", _AGAIN
        while True:
            running.has_begun = False
            result = await self._session(id)
            if running.stops or result.shape != "error":
                return  # it is to end, or there are no beacons
            text = str(result.ret["error"]["message"])
            if text != said:
                self._say(f"{id}  beacons: {self._clients.redacted(text)}")
            said = text
            if running.has_begun:
                pause = _AGAIN
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LATEST)

    async def _session(self, id: str) -> TargetReturn:
        clients = self._clients
        options = replace(clients.options, test=False, batch=None, timeout=None)
        following = Following(dict(clients.client.project.config.opts["beacons"]), self._begun, self._told)
        job = Job("beacons", "beacons.poll", [following], {}, options, jid=clients.client.new_jid())
        runner = Runner(clients.client.project, job, 1, within=True, kept=clients.kept())
        try:
            return await single.run(runner, id)
        finally:
            await runner.close()

    def _begun(self, id: str, names: list[str]) -> None:
        if id in self._running:
            self._running[id].has_begun = True
        self._say(f"{id}  beacons: {', '.join(names)}")

    # events ----------------------------------------------------------------------------------------------------------

    async def _told(self, id: str, events: list[tuple[str, dict[str, Any]]]) -> None:
        await self._write([(self._clients.redacted(tag), self._clients.hidden(data)) for tag, data in events])

    async def _write(self, events: list[tuple[str, dict[str, Any]]]) -> None:
        """Write events into the journal. Those that cannot be written are kept for the next time."""
        batch, self._waiting = [*self._waiting, *events], []
        try:
            await asyncio.to_thread(self._journal.put_many, batch)
            self._said = ""
        except (OSError, sqlite3.Error) as exc:
            text = f"{self._journal.path}: {getattr(exc, 'strerror', None) or exc}"
            if text != self._said:
                log.error("%s; check the free space and mode of its folder: events of beacons wait", text)
            self._said = text
            self._waiting = [*batch, *self._waiting][-_WAITING:]
