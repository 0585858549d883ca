"""The transport of managed resources: commands run on the manager, over one connection for all its resources.

A runtime that was started there for one resource can serve the next: such channels (``pushsalt.session.channel``) are
kept open while the connection is in use.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final, Protocol

from pushsalt import transport
from pushsalt.errors import TargetError
from pushsalt.model import Target
from pushsalt.transport import Connection, ConnectOptions, Stream

#: Concurrent commands on one connection: an OpenSSH server allows ten sessions by default.
SESSIONS: Final = 8
#: Seconds that an idle channel has to end.
CLOSE_TIMEOUT: Final = 3.0


class KeptChannel(Protocol):
    """The part of ``pushsalt.session.channel.Channel`` that is used here."""

    stream: Stream


@dataclass
class _Way:
    """The connection to a manager, the number of its users, and the channels that wait for their next session."""

    opening: asyncio.Task[Connection]
    users: int = 0
    sessions: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(SESSIONS))
    busy: int = 0
    idle: list[KeptChannel] = field(default_factory=list)

    async def begin(self) -> None:
        """Wait until the connection may have one more session."""
        await self.sessions.acquire()
        self.busy += 1

    def end(self) -> None:
        self.busy -= 1
        self.sessions.release()

    async def make_room(self, most: int) -> None:
        """Close idle channels until the number of idle and used ones is within the limit."""
        closing = []
        while self.idle and self.busy + len(self.idle) > most:
            closing.append(self.idle.pop(0).stream)
        for stream in closing:
            stream.close()
        for stream in closing:
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(stream.wait_closed(), CLOSE_TIMEOUT)

    @property
    def is_open(self) -> bool:
        opening = self.opening
        return opening.done() and not opening.cancelled() and opening.exception() is None

    async def close(self) -> None:
        await self.make_room(0)
        self.opening.cancel()
        done = (await asyncio.gather(self.opening, return_exceptions=True))[0]
        if not isinstance(done, BaseException):
            await done.close()


async def connect(target: Target, options: ConnectOptions) -> ResourceConnection:
    """A share of the connection to the manager. Raises TargetError as connecting to the manager does."""
    manager = options.inventory[target.manager]
    if manager.transport == "offline":
        raise TargetError(
            "offline",
            f"{target.id}: its manager {manager.id} is offline",
            "resources are reached through their managers: give it another transport",
        )
    ways: dict[str, _Way] = options.shared.setdefault("resource", {})
    way = ways.get(manager.id)
    if way is None:
        opening = asyncio.create_task(transport.connect(manager, options), name=f"connect {manager.id}")
        way = ways[manager.id] = _Way(opening)
    way.users += 1
    share = _Share(ways, manager.id, way)
    try:
        connection = await asyncio.shield(way.opening)
    except BaseException:
        await share.leave()
        raise
    return ResourceConnection(connection, share)


async def close(options: ConnectOptions) -> None:
    """Close the idle channels and connections, which are not used any more."""
    ways: dict[str, _Way] = options.shared.get("resource", {})
    while ways:
        await ways.popitem()[1].close()


@dataclass
class _Share:
    """One user's share of a connection to a manager; ``ways`` has the open connections, by manager."""

    ways: dict[str, _Way]
    manager: str
    way: _Way

    def forget(self) -> None:
        """Remove the connection from ``ways``, so that later users open a new one."""
        if self.ways.get(self.manager) is self.way:
            del self.ways[self.manager]

    async def leave(self) -> None:
        """Release the share. The last user keeps the connection open for the next; only one idle one is kept."""
        way = self.way
        way.users -= 1
        if way.users:
            return
        if not way.is_open:
            self.forget()
        if self.ways.get(self.manager) is not way:
            await way.close()
        for manager, other in list(self.ways.items()):
            if other is not way and not other.users:
                del self.ways[manager]
                await other.close()


class ResourceConnection:
    """A Connection that is one user's share of the connection to a manager: it has one session until it is closed."""

    several: Mapping[str, object] = MappingProxyType({"several": True})

    def __init__(self, connection: Connection, share: _Share) -> None:
        self.user = connection.user
        self._connection = connection
        self._share = share
        self._way = share.way
        self._has_session = False

    async def open(
        self, words: Sequence[str], *, pty: bool = False, on_stderr: Callable[[bytes], None] | None = None
    ) -> Stream:
        await self._begin()
        await self._way.make_room(SESSIONS)
        try:
            return await self._connection.open(words, pty=pty, on_stderr=on_stderr)
        except TargetError as exc:
            if exc.kind == "bootstrap_failed":  # the connection is broken
                self._share.forget()
            raise

    async def take(self) -> Any:
        """An idle channel, for a resource that the manager's runtime serves; None if no channel is idle."""
        await self._begin()
        while self._way.idle:
            channel = self._way.idle.pop()
            if channel.stream.exit_status is None:
                return channel
            channel.stream.abort()  # the runtime has ended meanwhile
        return None

    def keep(self, channel: KeptChannel) -> None:
        """Keep an idle channel for the next session."""
        self._way.idle.append(channel)

    def leave(self, channel: KeptChannel, last: bytes, stop: bytes) -> bool:
        return False

    async def _begin(self) -> None:
        if not self._has_session:
            await self._way.begin()
            self._has_session = True

    async def close(self) -> None:
        if self._has_session:
            self._has_session = False
            self._way.end()
        await self._share.leave()
