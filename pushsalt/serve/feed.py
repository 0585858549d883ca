"""Streams events of the journal as server-sent events. Salt: ``/events``.

The ``id`` of an event in the stream is its number in the journal. A client that connects again sends the last id that
it has received (``Last-Event-ID``; browsers do so), and gets all later events that are still in the journal.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
import sqlite3
import time
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Final

from pushsalt.serve.answers import Refused

if TYPE_CHECKING:
    from pushsalt.journal.interface import EventJournal
    from pushsalt.journal.store import Event

log = logging.getLogger(__name__)

#: Seconds between two queries of the journal, and between two comments that keep the connection open.
_INTERVAL: Final = 0.2
_ALIVE: Final = 15.0
#: Maximum number of events that are read at once.
_BATCH: Final = 200
#: The first line: milliseconds after which a client connects again, as in Salt.
BEGIN: Final = "retry: 400\n"
_JID: Final = re.compile(r"salt/(?:job|run)/([0-9]{20})/")
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f\u2028\u2029]")


class Feed:
    """The streams of one journal."""

    def __init__(self, journal: EventJournal, most: int) -> None:
        """``most``: maximum number of concurrent streams."""
        self._journal = journal
        self._most = most
        self._streams = 0
        self._stop = asyncio.Event()
        self._last = 0
        self._queried = 0.0
        self._querying = asyncio.Lock()

    @property
    def count(self) -> int:
        """Number of open streams."""
        return self._streams

    def stop(self) -> None:
        """End all streams."""
        self._stop.set()

    def begin(self, after: int | None) -> int:
        """The number of the event after which a new stream begins: ``after``, or the newest one. Raises Refused."""
        if self._streams >= self._most:
            raise Refused(503, f"{self._most} clients already follow the events", {"Retry-After": "10"})
        try:
            last = self._journal.last()
        except (OSError, sqlite3.Error) as exc:
            raise Refused(503, f"the journal of events cannot be read: {exc}") from None
        return last if after is None or after > last else after

    async def stream(
        self, number: int, may_see: Callable[[Event], bool], is_valid: Callable[[], bool]
    ) -> AsyncIterator[str]:
        """The text of a stream with the events after ``number``, until ``is_valid`` returns False."""
        self._streams += 1
        try:
            yield BEGIN + "\n"
            sent = time.monotonic()
            while not self._stop.is_set() and is_valid():
                events = await self._after(number)
                if events:
                    number = events[-1].number
                    text = "".join(text_of(event) for event in events if may_see(event))
                    if text:
                        sent = time.monotonic()
                        yield text
                elif time.monotonic() - sent > _ALIVE:
                    sent = time.monotonic()
                    yield ": no new events\n\n"
                else:
                    await self._pause()
        finally:
            self._streams -= 1

    async def _after(self, number: int) -> list[Event]:
        """The next events. The journal is queried a few times a second for all streams together."""
        try:
            async with self._querying:
                if time.monotonic() - self._queried >= _INTERVAL:
                    self._last = await asyncio.to_thread(self._journal.last)
                    self._queried = time.monotonic()
            return await asyncio.to_thread(self._journal.after, number, _BATCH) if self._last > number else []
        except (OSError, sqlite3.Error) as exc:
            log.error("%s: %s", self._journal.place, exc)
            return []

    async def _pause(self) -> None:
        try:
            await asyncio.wait_for(self._stop.wait(), _INTERVAL)
        except asyncio.TimeoutError:
            return


def jid_of(event: Event) -> str:
    """The JID of the job that an event is about; empty for other events."""
    match = _JID.match(event.tag)
    return match[1] if match else ""


def text_of(event: Event) -> str:
    """An event in the format of the stream: as in Salt, ``tag`` and ``data``, which contains ``_stamp``."""
    data = {"tag": event.tag, "id": event.id, "data": {**event.data, "_stamp": event.time}}
    return f"id: {event.number}\ntag: {_CONTROL.sub('?', event.tag)}\ndata: {json.dumps(data)}\n\n"


def last_seen(header: str | None) -> int | None:
    """The number in a ``Last-Event-ID`` header; None without one."""
    return int(header) if header and header.isascii() and header.isdigit() and len(header) < 19 else None
