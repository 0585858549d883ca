"""What lies behind a target: commands for it run on its manager, over one connection for all that it manages."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from pushsalt import transport
from pushsalt.errors import TargetError
from pushsalt.model import Target
from pushsalt.transport import Connection, ConnectOptions, Stream

#: Commands at a time on one connection: an OpenSSH server takes ten sessions unless it is told otherwise.
SESSIONS: Final = 8


@dataclass
class _Way:
    """The connection to a manager, and how many use it."""

    opening: asyncio.Task[Connection]
    users: int = 0
    sessions: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(SESSIONS))


async def connect(target: Target, options: ConnectOptions) -> ResourceConnection:
    """A share in the manager's connection. Raises TargetError as that one does."""
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
    try:
        connection = await asyncio.shield(way.opening)
    except BaseException:
        await _leave(ways, manager.id, way)
        raise
    return ResourceConnection(connection, lambda: _leave(ways, manager.id, way), way.sessions)


async def _leave(ways: dict[str, _Way], manager: str, way: _Way) -> None:
    way.users -= 1
    if way.users:
        return
    if ways.get(manager) is way:
        del ways[manager]
    way.opening.cancel()
    done = (await asyncio.gather(way.opening, return_exceptions=True))[0]
    if not isinstance(done, BaseException):
        await done.close()


class ResourceConnection:
    """A Connection (see the package) that is one user's share: one of the sessions is its own until it is closed."""

    def __init__(
        self, connection: Connection, leave: Callable[[], Awaitable[None]], sessions: asyncio.Semaphore
    ) -> None:
        self.user = connection.user
        self._connection = connection
        self._leave = leave
        self._sessions = sessions
        self._has_session = False

    async def open(
        self, words: Sequence[str], *, pty: bool = False, on_stderr: Callable[[bytes], None] | None = None
    ) -> Stream:
        if not self._has_session:
            await self._sessions.acquire()
            self._has_session = True
        return await self._connection.open(words, pty=pty, on_stderr=on_stderr)

    async def close(self) -> None:
        if self._has_session:
            self._sessions.release()
        await self._leave()
