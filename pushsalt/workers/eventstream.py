"""The journal of events in JetStream: one message for each event, which all controllers of a project share.

    stream PUSHSALT_EVENTS   pushsalt.events.log            events; the number of an event is that of its message
                             pushsalt.events.part.NAME.N    parts of events that are larger than a message
    bucket pushsalt-events   cursors, and the state of ``react`` and ``watch`` (``eventstate.py``)
    bucket pushsalt-locks   which process reacts (``eventstate.py``); entries end by themselves

Messages and values are sealed with a key that only the controllers have. An event has its id as the id of its message,
so that one that is stored again, since the answer of the server was lost, is stored once.

The methods are those of ``pushsalt.journal.store.Journal``. They are called in any thread, and run in a thread of this
object, which has the connection.
"""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import threading
import time
from collections.abc import Coroutine, Sequence
from concurrent.futures import TimeoutError as CallTimeoutError
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from pushsalt.errors import CommandError, PushsaltError
from pushsalt.journal import cause
from pushsalt.journal.store import Bounds, Event, as_text
from pushsalt.workers import connection as nats
from pushsalt.workers import messages, names, parties
from pushsalt.workers.messages import MessageError
from pushsalt.workers.reading import Reader

if TYPE_CHECKING:
    from pushsalt.config import Config
    from pushsalt.workers.connection import Connection
    from pushsalt.workers.parties import Box

_T = TypeVar("_T")

#: Seconds of a call before it fails.
_PATIENCE: Final = 30.0
#: Most events that are kept in memory for readers, messages that are stored at the same time, and that are asked for.
_KEPT: Final = 5000
_STORING: Final = 200
_BATCH: Final = 1000
#: Purposes of boxes.
_EVENT: Final = "event"
_VALUE: Final = "value"
_PART: Final = "part of an event"

#: An event that is to be stored: id, tag, time, data and cause as texts.
Row = tuple[str, str, float, str, str]


class JournalError(OSError):
    """The journal cannot be used now."""


class Lock(Protocol):
    """A right that only one process has."""

    async def held(self) -> None:
        """Return if this process has it. Raises CommandError otherwise."""


class StreamJournal:
    """A journal in JetStream. Its methods raise JournalError."""

    def __init__(self, config: Config, url: str, bounds: Bounds) -> None:
        """Events get the cause of the context in which this object was made."""
        self._cause = cause.current()
        self._config = config
        self._url = url
        self._bounds = bounds
        self.path = config.cache_dir / "events" / "journal.sqlite3"
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._pid = 0
        self._connection: Connection | None = None
        #: held by what reads a value and then stores it
        self.changing = asyncio.Lock()
        self._connecting = asyncio.Lock()
        self._reading = asyncio.Lock()
        #: what must be held for each call, see ``eventstate.only_one``
        self.lock: Lock | None = None
        self._box: Box | None = None
        self._reader: Reader | None = None
        #: events after the number ``_from``, without gaps, to the last one that the reader has read
        self._events: list[Event] = []
        self._from = 0

    @property
    def place(self) -> str:
        """Where it is, for messages."""
        return f"the events at the NATS server {nats.shown(self._url)}"

    @property
    def hint(self) -> str:
        """The hint of the error of a journal that cannot be used."""
        return "check the NATS server, and the option that names it"

    # calls ------------------------------------------------------------------------------------------------------------

    def call(self, work: Coroutine[Any, Any, _T]) -> _T:
        """Run a coroutine in this object's thread, and return its result. Raises JournalError."""
        future = asyncio.run_coroutine_threadsafe(asyncio.wait_for(self._held(work), _PATIENCE), self._running())
        try:
            return future.result()
        except (asyncio.TimeoutError, TimeoutError, CallTimeoutError):
            raise JournalError(f"the server does not answer within {_PATIENCE:.0f} s") from None
        except (PushsaltError, MessageError) as exc:
            hint = getattr(exc, "hint", "")
            raise JournalError(f"{exc}; {hint}" if hint else str(exc)) from None

    async def _held(self, work: Coroutine[Any, Any, _T]) -> _T:
        if self.lock is not None:
            try:
                await self.lock.held()
            except BaseException:
                work.close()
                raise
        return await work

    def _running(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None or self._pid != os.getpid():
                self._pid, self._connection, self._reader = os.getpid(), None, None
                self._connecting, self._reading, self.changing = asyncio.Lock(), asyncio.Lock(), asyncio.Lock()
                self._loop = loop = asyncio.new_event_loop()
                threading.Thread(target=_serve, args=(loop,), name="pushsalt-events-server", daemon=True).start()
            return self._loop

    async def connected(self) -> Connection:
        """The connection. Raises CommandError."""
        async with self._connecting:
            if self._connection is None or self._connection.nc.is_closed:
                party = parties.controllers_of(self._config, self._url)
                self._box = parties.Box(parties.events_secret(party))
                folder = parties.keys_folder_of(self._config)
                made = await nats.connect(self._url, folder, "pushsalt events")
                try:
                    await made.setup_events(self._bounds.seconds, self._bounds.size)
                except BaseException:
                    await made.close()
                    raise
                self._connection, self._reader = made, None
        return self._connection

    def close(self) -> None:
        """Close the connection; the next use opens it again."""
        with self._lock:
            loop, self._loop = self._loop, None
            if loop is None or self._pid != os.getpid():
                return
        made, self._connection, self._reader = self._connection, None, None
        if made is not None:
            asyncio.run_coroutine_threadsafe(made.close(), loop).result(_PATIENCE)
        loop.call_soon_threadsafe(loop.stop)

    # values -----------------------------------------------------------------------------------------------------------

    async def get_value(self, key: str) -> dict[str, Any] | None:
        """A value of the bucket; None without one. Raises CommandError."""
        made = await self.connected()
        data = await made.get(names.EVENTS_BUCKET, key)
        return None if data is None else self.opened(key, data)

    def opened(self, key: str, data: bytes) -> dict[str, Any]:
        """The value of a key in its sealed form. Raises WrongBoxError, MessageError."""
        assert self._box is not None
        return messages.unpack_data(self._box.open(data, f"{_VALUE} {key}"))

    async def put_value(self, key: str, value: dict[str, Any]) -> None:
        """Put a value into the bucket. Raises CommandError."""
        made = await self.connected()
        assert self._box is not None
        await made.put(names.EVENTS_BUCKET, key, self._box.seal(messages.pack_data(value), f"{_VALUE} {key}"))

    def cursor(self, name: str) -> int | None:
        value = self.call(self.get_value(names.cursor_key(name)))
        return None if value is None else int(value["number"])

    def move(self, name: str, number: int) -> None:
        self.call(self.put_value(names.cursor_key(name), {"name": name, "number": number}))

    # writing ----------------------------------------------------------------------------------------------------------

    def put(self, tag: str, data: dict[str, Any]) -> Event:
        [event] = self.put_many([(tag, data)])
        return event

    def put_many(self, events: Sequence[tuple[str, dict[str, Any]]]) -> list[Event]:
        rows = self.rows_of(events, self._cause)
        numbers = self.call(self.store(rows))
        return [
            Event(number, row[0], row[1], row[2], data, self._cause)
            for number, row, (_, data) in zip(numbers, rows, events, strict=True)
        ]

    @staticmethod
    def rows_of(events: Sequence[tuple[str, dict[str, Any]]], reason: cause.Cause) -> list[Row]:
        """The events as they are stored; they are the same events wherever these rows are stored again."""
        stamp, text = time.time(), cause.as_text(reason)
        return [(os.urandom(16).hex(), tag, stamp, as_text(data), text) for tag, data in events]

    @property
    def cause(self) -> cause.Cause:
        """The cause of events."""
        return self._cause

    async def store(self, rows: Sequence[Row]) -> list[int]:
        """Store events in their order; returns their numbers. Raises CommandError."""
        made, numbers = await self.connected(), []
        for at in range(0, len(rows), _STORING):
            numbers += await asyncio.gather(*(self._store(made, row) for row in rows[at : at + _STORING]))
        return numbers

    async def _store(self, made: Connection, row: Row) -> int:
        assert self._box is not None
        data = messages.pack_data({"row": list(row)})
        if len(data) > messages.PART:
            name, starts = secrets.token_hex(8), range(0, len(data), messages.PART)
            if len(starts) > messages.MOST_PARTS:
                raise CommandError(f"the event {row[1]} is too large", "at most 100 MB, compressed")
            for n, at in enumerate(starts):
                part = self._box.seal(data[at : at + messages.PART], f"{_PART} {name} {n}")
                await made.store(names.event_part_subject(name, n), part, f"{name}.{n}")
            data = messages.pack_data({"parts": [name, len(starts)]})
        return await made.store(names.EVENTS_LOG, self._box.seal(data, _EVENT), row[0])

    # reading ----------------------------------------------------------------------------------------------------------

    async def _event(self, number: int, data: bytes) -> Event | None:
        """The event of a message; None for one that no controller has stored."""
        assert self._box is not None
        try:
            found = messages.unpack_data(self._box.open(data, _EVENT))
            if "parts" in found:
                found = messages.unpack_data(await self._joined(*found["parts"]))
            id, tag, stamp, text, reason = found["row"]
            return Event(number, id, tag, stamp, json.loads(text), cause.from_text(reason))
        except (PushsaltError, MessageError, ValueError, TypeError, KeyError) as exc:
            if isinstance(exc, nats.ServerError) and not isinstance(exc, nats.MissingError):
                raise
            nats.log.warning("the event %d at the NATS server is left out: %s", number, exc)
            return None

    async def _joined(self, name: str, number: int) -> bytes:
        made, parts = await self.connected(), []
        assert self._box is not None
        for n in range(min(number, messages.MOST_PARTS)):
            with nats.explained("a part of an event cannot be read"):
                found = await made.js.get_last_msg(names.EVENTS_STREAM, names.event_part_subject(name, n), direct=True)
            parts.append(self._box.open(found.data, f"{_PART} {name} {n}"))
        return b"".join(parts)

    def after(self, number: int, limit: int = 1000) -> list[Event]:
        return self.call(self._after(number, limit))

    async def _after(self, number: int, limit: int) -> list[Event]:
        made = await self.connected()
        async with self._reading:
            reader = self._reader
            if reader is None or number < self._from or number > reader.seen:
                if reader is not None:
                    self._reader = None
                    await reader.close()
                reader = Reader(made, names.EVENTS_LOG, number + 1, "e", names.EVENTS_STREAM)
                await reader.open()
                self._reader, self._events, self._from = reader, [], number
            found = [event for event in self._events if event.number > number]
            while len(found) < limit:
                got = 0
                async for _, data in reader.some(_BATCH, 0):
                    got += 1
                    event = await self._event(reader.seen, data)
                    if event is not None:
                        self._events.append(event)
                        found.append(event)
                if not got:
                    break
            if len(self._events) > _KEPT:
                self._from = self._events[-_KEPT - 1].number
                del self._events[:-_KEPT]
            return found[:limit]

    async def ids_after(self, number: int) -> set[str]:
        """The ids of the events after this number. Raises CommandError."""
        made, found = await self.connected(), set()
        reader = Reader(made, names.EVENTS_LOG, number + 1, "e", names.EVENTS_STREAM)
        await reader.open()
        try:
            left = reader.there
            while left > 0:
                before = left
                async for _, data in reader.some(_BATCH, 0):
                    left -= 1
                    event = await self._event(reader.seen, data)
                    found.update([event.id] if event is not None else [])
                if left == before:
                    raise nats.ServerError("the events cannot be read", "see the log of the NATS server")
        finally:
            await reader.close()
        return found

    def at(self, number: int) -> Event | None:
        return self.call(self._at(number))

    async def _at(self, number: int) -> Event | None:
        found = await self._message(number)
        return None if found is None or found[0] != number else await self._event(*found)

    async def _message(self, number: int) -> tuple[int, bytes] | None:
        """The first event's message with this number or a later one; None without one. Raises ServerError."""
        made = await self.connected()
        try:
            with nats.explained("the events cannot be read"):
                found = await made.js.get_msg(
                    names.EVENTS_STREAM, seq=max(1, number), subject=names.EVENTS_LOG, next=True
                )
        except nats.MissingError:
            return None
        return int(found.seq or 0), bytes(found.data or b"")

    def since(self, stamp: float) -> int:
        return self.call(self._since(stamp))

    async def _since(self, stamp: float) -> int:
        """By bisection: times of events increase with their numbers, but for clocks that differ."""
        low, high = await self._first(), await self.last_number()
        if not high:
            return 0
        newest = await self._at(high)
        if newest is None or newest.stamp < stamp:
            return high
        while low < high:
            middle = (low + high) // 2
            found = await self._message(middle)
            event = await self._event(*found) if found is not None else None
            if found is None or (event is not None and event.stamp >= stamp):
                high = middle
            else:
                low = found[0] + 1
        return low - 1

    def first(self) -> int:
        return self.call(self._first())

    async def _first(self) -> int:
        found = await self._message(1)
        return found[0] if found is not None else 0

    def last(self) -> int:
        return self.call(self.last_number())

    async def last_number(self) -> int:
        """As ``last``. Raises CommandError."""
        made = await self.connected()
        try:
            with nats.explained("the events cannot be read"):
                found = await made.js.get_last_msg(names.EVENTS_STREAM, names.EVENTS_LOG, direct=True)
        except nats.MissingError:
            return 0
        return int(found.seq or 0)


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    """The thread of a journal."""
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
        loop.run_until_complete(loop.shutdown_asyncgens())
    finally:
        loop.close()
