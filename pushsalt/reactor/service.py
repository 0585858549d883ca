"""Follows the journal and reacts to each of its events once.

Each step is first stored in the journal (``pushsalt.journal.reactions``): that an event is taken, if there is a reactor
SLS for it, that each of its reactions begins and is done, and that the event is done. A new process continues what an
earlier one has left unfinished. An event that a reaction causes does not reach the SLS of that reaction again, so that
loops end.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar

from pushsalt.errors import CommandError, FunctionError, PushsaltError
from pushsalt.journal import cause
from pushsalt.journal.reactions import NAME
from pushsalt.reactor.calling import Means, UnknownError, do
from pushsalt.reactor.rendering import Rendering
from pushsalt.run.runner import close_connecting, connect_options
from pushsalt.transport.kept import KeptConnections
from pushsalt.workers.jobevents import reactions_of

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from pushsalt.job import JobOptions
    from pushsalt.journal.interface import EventJournal
    from pushsalt.journal.reactions import Begun
    from pushsalt.journal.store import Event
    from pushsalt.orchestrate.jobs import Jobs
    from pushsalt.orchestrate.reactormap import ReactorMap
    from pushsalt.reactor.calls import Call
    from pushsalt.workers.jobevents import AnyReactions

log = logging.getLogger(__name__)

#: Seconds between two looks at the journal, and between two attempts to write into it.
_LOOK: Final = 0.2
_TRY_AGAIN: Final = 2.0
#: Seconds without a reaction after which connections are closed, and git remotes looked at.
_IDLE: Final = 30.0
#: Number of events that are read at once.
_MANY: Final = 200
#: Tags of the events that the reactor sends itself.
FAILED: Final = "pushsalt/react/failed/"
UNKNOWN: Final = "pushsalt/react/unknown/"
LOOP: Final = "pushsalt/react/loop/"

Result = TypeVar("Result")


@dataclass(frozen=True)
class Reaction:
    """A reaction that has ended; ``trouble``: why it failed, without secrets."""

    tag: str
    sls: str
    title: str
    trouble: str = ""


class Service:
    """The reactor of one project. ``say`` is called with each reaction that has ended."""

    def __init__(
        self,
        client: Jobs,
        journal: EventJournal,
        reactor: ReactorMap,
        options: JobOptions,
        say: Callable[[Reaction], None],
    ) -> None:
        self._client = client
        self._journal = journal
        self._reactor = reactor
        self._options = options
        self._say = say
        self._rendering = Rendering(client, options)
        self._free = asyncio.Semaphore(max(1, int(client.project.config.opts["reactor_worker_threads"])))
        self._tasks: set[asyncio.Task[None]] = set()
        self._stop = asyncio.Event()
        self._once = False
        self._loops: set[tuple[str, str]] = set()
        self._kept: KeptConnections | None = None
        self.failed = 0

    def stop(self) -> None:
        """Take no more events; reactions that have begun are finished."""
        self._stop.set()

    async def run(self, *, once: bool = False, since: float | None = None) -> None:
        """React to events until ``stop``; with ``once``, to those in the journal and to those that reactions cause.

        ``since``: earlier events are skipped. Raises CommandError if the journal cannot be used.
        """
        self._once = once
        project = self._client.project
        project.pool.start()
        await project.prepare(self._stop)
        reactions = await self._durably(lambda: reactions_of(self._journal))
        if since is not None:
            await self._durably(lambda: self._skip(self._journal.since(since)))
        try:
            for number in await self._durably(reactions.taken):
                await self._begin(self._again(reactions, number))
            await self._follow(reactions)
            await self._settled()
        finally:
            for task in self._tasks:
                task.cancel()
            await self._close_connections()

    async def _follow(self, reactions: AnyReactions) -> None:
        idle = time.monotonic()
        while not self._stop.is_set():
            number = await self._durably(lambda: self._journal.cursor(NAME)) or 0
            events = await self._durably(lambda number=number: self._journal.after(number, _MANY))  # type: ignore[misc]
            for event in events:
                names = self._reactor.matching(event.tag)
                if names:
                    await self._durably(lambda event=event: reactions.take(event.number))  # type: ignore[misc]
                    await self._begin(self._react(reactions, event, names, {}))
                if self._stop.is_set():
                    return
            if events:
                await self._durably(lambda: self._skip(events[-1].number))  # noqa: B023
            elif self._tasks:
                idle = time.monotonic()
                await asyncio.wait(self._tasks, timeout=_LOOK, return_when=asyncio.FIRST_COMPLETED)
            elif self._once:
                return
            else:
                if time.monotonic() - idle > _IDLE:
                    idle = time.monotonic()
                    await self._close_connections()
                    await self._client.project.prepare(self._stop)  # git remotes that are due
                await self._pause(_LOOK)

    def _skip(self, number: int) -> None:
        if number > (self._journal.cursor(NAME) or 0):
            self._journal.move(NAME, number)

    # one event -------------------------------------------------------------------------------------------------------

    async def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        """Start the work on an event as soon as the number of concurrent reactions allows it."""
        await self._free.acquire()
        self._free.release()
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        while len(self._tasks) >= 2 * _MANY:
            await asyncio.wait(self._tasks, return_when=asyncio.FIRST_COMPLETED)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (trouble := task.exception()) is not None:
            if self._once and isinstance(trouble, CommandError):
                self._stop.set()
            log.error("a reaction has failed: %s: %s", type(trouble).__name__, trouble, exc_info=trouble)

    async def _again(self, reactions: AnyReactions, number: int) -> None:
        """Continue with an event that an earlier process has taken."""
        event = await self._durably(lambda: self._journal.at(number))
        if event is None:  # the journal has removed it to keep its bounds
            await self._durably(lambda: reactions.done(number, [], ()))
            return
        begun = await self._durably(lambda: reactions.begun(number))
        await self._react(reactions, event, self._reactor.matching(event.tag), begun)

    async def _react(self, reactions: AnyReactions, event: Event, names: list[str], begun: dict[str, Begun]) -> None:
        troubles: list[tuple[str, dict[str, Any]]] = []
        works = []
        for name in names:
            try:
                files = await asyncio.to_thread(self._reactor.files, name)
            except PushsaltError as exc:
                troubles += self._failed(event, name, "", exc)
                continue
            for sls in files:
                if sls in event.cause[1:]:
                    troubles += self._looped(event, sls)
                    continue
                try:
                    async with self._free:
                        calls = await self._rendering.calls(sls, event)
                except PushsaltError as exc:
                    troubles += self._failed(event, sls, "", exc)
                    continue
                for place, call in enumerate(calls):
                    key = f"{sls} {place} {call.id}"
                    works.append(self._do(reactions, event, sls, call, key, begun.get(key)))
        await asyncio.gather(*works)
        await self._durably(lambda: reactions.done(event.number, troubles, event.cause))

    async def _do(
        self, reactions: AnyReactions, event: Event, sls: str, call: Call, key: str, begun: Begun | None
    ) -> None:
        """Run one reaction, unless it is already done."""
        if begun is not None and begun.is_done:
            return
        why = (*(event.cause or (event.id,)), sls)
        troubles: list[tuple[str, dict[str, Any]]] = []

        async def returned(id: str) -> None:
            await self._durably(lambda: reactions.returned(event.number, key, id))

        async with self._free:
            jid = self._client.new_jid() if begun is None else begun.jid
            if begun is None:
                await self._durably(lambda: reactions.begins(event.number, key, jid))
            try:
                with cause.of_reaction(why):
                    client = self._client.within(self._connections())
                    await do(Means(client, self._options, returned), call, jid, begun)
            except PushsaltError as exc:
                troubles = self._failed(event, sls, call.title, exc, jid=jid, id=call.id)
            except Exception as exc:
                log.debug("%s: %s failed", sls, call.title, exc_info=True)
                wrapped = FunctionError("exception", f"{type(exc).__name__}: {exc}", "", type(exc).__name__)
                troubles = self._failed(event, sls, call.title, wrapped, jid=jid, id=call.id)
            else:
                self._say(Reaction(event.tag, sls, call.title))
            await self._durably(lambda: reactions.ends(event.number, key, troubles, why))

    # events of the reactor -------------------------------------------------------------------------------------------

    def _failed(
        self, event: Event, sls: str, title: str, exc: PushsaltError, **more: Any
    ) -> list[tuple[str, dict[str, Any]]]:
        text = self._client.redactor().text(str(exc))
        self.failed += 1
        self._say(Reaction(event.tag, sls, title or "render", text))
        kind = UNKNOWN if isinstance(exc, UnknownError) else FAILED
        data = {"event": event.id, "tag": event.tag, "sls": sls, "fun": title, "error": text, **more}
        return [(f"{kind}{event.id}", data)]

    def _looped(self, event: Event, sls: str) -> list[tuple[str, dict[str, Any]]]:
        """Report an event that a reaction of this SLS has caused, once for each event at the start of a loop."""
        pair = (event.cause[0], sls)
        if pair in self._loops or event.tag.startswith(LOOP):
            return []
        self._loops.add(pair)
        text = f"the event comes of a reaction of {sls} itself: it does not react again"
        self._say(Reaction(event.tag, sls, "stopped", text))
        data = {"event": event.id, "tag": event.tag, "sls": sls, "first": event.cause[0], "error": text}
        return [(f"{LOOP}{event.id}", data)]

    # the journal, connections ----------------------------------------------------------------------------------------

    async def _durably(self, work: Callable[[], Result]) -> Result:
        """Call a function that uses the journal and return its value; it is repeated while the journal is unusable.

        With ``once``, the first failure raises CommandError.
        """
        logged = ""
        while True:
            try:
                return await asyncio.to_thread(work)
            except (OSError, sqlite3.Error) as exc:
                text = f"{self._journal.place}: {getattr(exc, 'strerror', None) or exc}"
                if self._once:
                    raise CommandError(text, self._journal.hint) from None
                if text != logged:
                    log.error("%s; %s: it is tried again", text, self._journal.hint)
                logged = text
                await asyncio.sleep(_TRY_AGAIN)

    def _connections(self) -> KeptConnections:
        if self._kept is None:
            from pushsalt.job import Job

            self._kept = KeptConnections(connect_options(self._client.project, Job("call", options=self._options)))
        return self._kept

    async def _close_connections(self) -> None:
        kept, self._kept = self._kept, None
        if kept is not None:
            await kept.close()
            await close_connecting(kept.options)

    async def _settled(self) -> None:
        while self._tasks:
            await asyncio.wait(self._tasks)

    async def _pause(self, seconds: float) -> None:
        try:
            await asyncio.wait_for(self._stop.wait(), seconds)
        except asyncio.TimeoutError:
            return
