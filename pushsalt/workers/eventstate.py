"""The state of ``react`` and ``watch`` beside a journal in JetStream, in the bucket of its cursors.

    react.NUMBER             an event that was taken: its reactions that were begun, by name, with their JIDs
    returned.NUMBER.HASH     a target that has returned for a reaction
    watched.WHAT.HASH        the drifted states of a target at the last check

The classes have the methods of ``pushsalt.journal.reactions.Reactions`` and ``pushsalt.journal.watched.Watched``, and
raise OSError.

A value and the events about its change cannot be stored in one step. So the value is stored with the events first
(``pending``), then the events, then the value alone. A process that finds pending events looks whether they are among
the events since then, and stores them if they are not: none is lost, and none is stored twice.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import os
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from pushsalt.errors import CommandError
from pushsalt.journal.reactions import NAME, Begun
from pushsalt.journal.watched import Drift, what_of
from pushsalt.workers import connection as nats
from pushsalt.workers import names
from pushsalt.workers.eventstream import JournalError, Row, StreamJournal
from pushsalt.workers.reading import read_all

if TYPE_CHECKING:
    from pushsalt.journal.cause import Cause

log = logging.getLogger(__name__)

#: Seconds between two renewals of a lock, and between two attempts to get one.
_RENEW: Final = nats.LOCK / 3
_LOOK: Final = 0.5
_PREFIX: Final = f"$KV.{names.EVENTS_BUCKET}."


def _hash(*texts: str) -> str:
    return hashlib.sha256(json.dumps(texts).encode()).hexdigest()[:32]


class _State:
    """Values with pending events."""

    def __init__(self, journal: StreamJournal) -> None:
        self.journal = journal

    async def values(self, prefix: str) -> dict[str, dict[str, Any]]:
        """key -> value, of the keys that begin with this prefix. Raises CommandError."""
        made, found = await self.journal.connected(), {}
        async for subject, data in read_all(made, f"{_PREFIX}{prefix}", "e", stream=f"KV_{names.EVENTS_BUCKET}"):
            key = subject.removeprefix(_PREFIX)
            found[key] = self.journal.opened(key, data)
        return found

    async def put(self, key: str, value: dict[str, Any], rows: Sequence[Row] = ()) -> None:
        """Store a value, and events about it, each once. Raises CommandError."""
        if rows:
            since = await self.journal.last_number()
            await self.journal.put_value(key, {**value, "pending": [list(row) for row in rows], "since": since})
            await self.journal.store(rows)
        await self.journal.put_value(key, value)

    async def settled(self, key: str, value: dict[str, Any]) -> dict[str, Any]:
        """The value, after its pending events are stored. Raises CommandError."""
        if "pending" not in value:
            return value
        there = await self.journal.ids_after(int(value["since"]))
        rows: list[Row] = [(*row,) for row in value["pending"] if row[0] not in there]
        await self.journal.store(rows)
        value = {name: each for name, each in value.items() if name not in ("pending", "since")}
        await self.journal.put_value(key, value)
        return value

    async def remove(self, pattern: str) -> None:
        """Remove keys. Raises CommandError."""
        made = await self.journal.connected()
        with nats.explained("the state of reactions cannot be removed"):
            await made.js.purge_stream(f"KV_{names.EVENTS_BUCKET}", subject=f"{_PREFIX}{pattern}")


class StreamReactions:
    """The state of the reactor of one journal."""

    def __init__(self, journal: StreamJournal) -> None:
        self._journal = journal
        self._state = _State(journal)
        self._call = journal.call
        self._call(self._begin())

    async def _begin(self) -> None:
        """A process that has ended may have taken an event, and not moved the cursor."""
        numbers = await self._numbers()
        kept = await self._journal.get_value(names.cursor_key(NAME))
        if numbers and numbers[-1] > (int(kept["number"]) if kept is not None else 0):
            await self._move(numbers[-1])

    async def _move(self, number: int) -> None:
        await self._journal.put_value(names.cursor_key(NAME), {"name": NAME, "number": number})

    async def _numbers(self) -> list[int]:
        numbers = []
        for key, value in (await self._state.values("react.*")).items():
            value = await self._state.settled(key, value)
            if value.get("done"):
                await self._forget(int(key.split(".")[1]))
            else:
                numbers.append(int(key.split(".")[1]))
        return sorted(numbers)

    def take(self, number: int) -> None:
        self._call(self._take(number))

    async def _take(self, number: int) -> None:
        await self._state.put(f"react.{number}", {"reactions": {}})
        await self._move(number)

    def taken(self) -> list[int]:
        return self._call(self._numbers())

    async def _of(self, number: int) -> dict[str, Any]:
        found = await self._journal.get_value(f"react.{number}")
        return await self._state.settled(f"react.{number}", found) if found is not None else {"reactions": {}}

    def begun(self, number: int) -> dict[str, Begun]:
        return self._call(self._begun(number))

    async def _begun(self, number: int) -> dict[str, Begun]:
        ids: dict[str, set[str]] = {}
        for each in (await self._state.values(f"returned.{number}.*")).values():
            ids.setdefault(str(each["name"]), set()).add(str(each["id"]))
        reactions = (await self._of(number))["reactions"]
        return {
            name: Begun(str(each["jid"]), bool(each["done"]), frozenset(ids.get(name, ())))
            for name, each in reactions.items()
        }

    def begins(self, number: int, name: str, jid: str) -> None:
        self._call(self._change(number, name, {"jid": jid, "done": False}, []))

    async def _change(self, number: int, name: str, change: dict[str, Any], rows: list[Row]) -> None:
        async with self._journal.changing:
            value = await self._of(number)
            reaction = {"jid": "", "done": False, **value["reactions"].get(name, {}), **change}
            value = {**value, "reactions": {**value["reactions"], name: reaction}}
            await self._state.put(f"react.{number}", value, rows)

    def returned(self, number: int, name: str, id: str) -> None:
        key = f"returned.{number}.{_hash(name, id)}"
        self._call(self._journal.put_value(key, {"name": name, "id": id}))

    def ends(self, number: int, name: str, events: Sequence[tuple[str, dict[str, Any]]], cause: Cause) -> None:
        rows = self._journal.rows_of(events, cause)
        self._call(self._change(number, name, {"done": True}, rows))

    def done(self, number: int, events: Sequence[tuple[str, dict[str, Any]]], cause: Cause) -> None:
        self._call(self._done(number, self._journal.rows_of(events, cause)))

    async def _done(self, number: int, rows: list[Row]) -> None:
        async with self._journal.changing:
            await self._state.put(f"react.{number}", {**await self._of(number), "done": True}, rows)
            await self._forget(number)

    async def _forget(self, number: int) -> None:
        await self._state.remove(f"returned.{number}.*")
        await self._state.remove(f"react.{number}")


class StreamWatched:
    """The drift of targets from the states of these SLS."""

    def __init__(self, journal: StreamJournal, sls: Sequence[str]) -> None:
        self._journal = journal
        self._state = _State(journal)
        self._what = what_of(sls)

    def _key(self, id: str) -> str:
        return f"watched.{self._what}.{_hash(id)}"

    def tags(self, id: str) -> list[str]:
        return self._journal.call(self._tags(id))

    async def _tags(self, id: str) -> list[str]:
        found = await self._journal.get_value(self._key(id))
        if found is None:
            return []
        return list(map(str, (await self._state.settled(self._key(id), found))["tags"]))

    def change(self, id: str, tags: Sequence[str], event: tuple[str, dict[str, Any]]) -> None:
        rows = self._journal.rows_of([event], self._journal.cause)
        value = {"what": self._what, "id": id, "tags": list(tags)}
        self._journal.call(self._state.put(self._key(id), value, rows))


def drifted(journal: StreamJournal) -> list[Drift]:
    """The targets that had drifted at the last check, by id. Raises OSError."""
    values = journal.call(_State(journal).values("watched.>")).values()
    found = [Drift(str(each["what"]), str(each["id"]), tuple(map(str, each["tags"]))) for each in values]
    return sorted((each for each in found if each.tags), key=lambda each: (each.id, each.what))


@contextmanager
def only_one(journal: StreamJournal, wait: Callable[[str], bool], what: str) -> Iterator[None]:
    """Hold the lock ``what`` of the controllers of a project.

    While another process has it, ``wait`` is called with a message, and returns whether to wait further. Raises
    CommandError if not, and for a server that cannot be used. If the lock is lost, since the server is away for longer
    than it is valid, calls of the journal fail until this process has it again.
    """
    lock = _Lock(journal, what)
    try:
        while (holder := journal.call(lock.take())) is not None:
            text = f"another `pushsalt {what}` follows this journal ({holder})"
            if not wait(text):
                raise CommandError(text, "one is enough: stop the other one first")
    except JournalError as exc:
        raise CommandError(f"{journal.place}: {exc}", "check the server") from None
    journal.lock = lock
    try:
        yield
    finally:
        journal.lock = None
        try:
            journal.call(lock.end())
        except JournalError as exc:
            log.debug("the lock ends by itself: %s", exc)


class _Lock:
    """An entry that ends by itself unless it is renewed; ``held`` before each use of what it protects."""

    def __init__(self, journal: StreamJournal, what: str) -> None:
        self._journal = journal
        self._subject = f"$KV.{names.LOCKS_BUCKET}.{what}"
        self._key = what
        self._sequence = 0
        self._until = 0.0
        self._renewing: asyncio.Task[None] | None = None

    async def take(self) -> str | None:
        """Take the lock. If another process has it, return the name of that process. Raises CommandError."""
        from nats.js import errors

        made = await self._journal.connected()
        loop = asyncio.get_running_loop()
        begin = loop.time()
        headers = {"Nats-Expected-Last-Subject-Sequence": str(self._sequence)}
        holder = f"{socket.gethostname()}, process {os.getpid()}"
        try:
            with nats.explained("the lock cannot be taken"):
                try:
                    answer = await made.js.publish(
                        self._subject, holder.encode(), timeout=nats.CONNECT, headers=headers
                    )
                except errors.BadRequestError:  # another one has it, or had it meanwhile
                    self._sequence, self._until = 0, 0.0
                    found = await made.get(names.LOCKS_BUCKET, self._key) or b"it has just ended"
                    return found.decode("utf-8", "replace")
        except nats.ServerError:
            if loop.time() < self._until:
                return None
            raise
        self._sequence, self._until = int(answer.seq), begin + nats.LOCK
        if self._renewing is None:
            self._renewing = loop.create_task(self._renew())
        return None

    async def _renew(self) -> None:
        while True:
            await asyncio.sleep(_RENEW)
            try:
                await self.take()
            except (CommandError, OSError) as exc:
                log.debug("the lock is not renewed yet: %s", exc)

    async def held(self) -> None:
        """Return if the lock is held. Raises CommandError otherwise."""
        if asyncio.get_running_loop().time() >= self._until:
            holder = await self.take()
            if holder is not None:
                raise CommandError(f"another process has taken over: {holder}", "it is asked again")

    async def end(self) -> None:
        """Give it up. Raises CommandError."""
        if self._renewing is not None:
            self._renewing.cancel()
        if asyncio.get_running_loop().time() < self._until:
            made = await self._journal.connected()
            with nats.explained("the lock cannot be ended"):
                await made.js.purge_stream(f"KV_{names.LOCKS_BUCKET}", subject=self._subject)
