"""Connections that several jobs of one command use one after the other, such as the steps of an orchestration."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from pushsalt import transport
from pushsalt.errors import TargetError

if TYPE_CHECKING:
    from pushsalt.model import Target
    from pushsalt.transport import Connection, ConnectOptions, Stream

log = logging.getLogger(__name__)


class KeptConnections:
    """Idle connections by target. Only those of transports whose connections have ``is_open`` are kept."""

    def __init__(self, options: ConnectOptions) -> None:
        self.options = options
        self._idle: dict[str, list[Connection]] = {}
        self._closed = False

    async def connect(self, target: Target) -> Connection:
        """An idle connection of the target that is still open, or a new one. Raises TargetError."""
        idle = self._idle.get(target.key, [])
        while idle:
            connection = idle.pop()
            if is_open(connection):
                log.debug("%s: the connection of an earlier step is used", target.id)
                return _Kept(self, target, connection, used=True)
            await transport.disconnect(connection)
        return _Kept(self, target, await transport.connect(target, self.options), used=False)

    async def give_back(self, target: Target, connection: Connection) -> None:
        """Keep an open connection for the next job, or close it."""
        if self._closed or not is_open(connection):
            await transport.disconnect(connection)
        else:
            self._idle.setdefault(target.key, []).append(connection)

    async def close(self) -> None:
        """Close all idle connections; those in use are closed when they are given back."""
        self._closed = True
        for connections in self._idle.values():
            for connection in connections:
                await transport.disconnect(connection)
        self._idle.clear()


def is_open(connection: Connection) -> bool:
    """Whether a connection can be used again, as far as the controller knows."""
    return bool(getattr(connection, "is_open", False))


class _Kept:
    """A connection in use; ``close`` gives it back."""

    def __init__(self, keeper: KeptConnections, target: Target, connection: Connection, *, used: bool) -> None:
        self.user = connection.user
        self._keeper, self._target, self._connection, self._used = keeper, target, connection, used

    async def open(
        self, words: Sequence[str], *, pty: bool = False, on_stderr: Callable[[bytes], None] | None = None
    ) -> Stream:
        try:
            return await self._connection.open(words, pty=pty, on_stderr=on_stderr)
        except TargetError as exc:
            if not self._used or is_open(self._connection):
                raise
            log.debug("%s: the kept connection has broken (%s): a new one is opened", self._target.id, exc.message)
        await transport.disconnect(self._connection)
        self._connection, self._used = await transport.connect(self._target, self._keeper.options), False
        return await self._connection.open(words, pty=pty, on_stderr=on_stderr)

    async def close(self) -> None:
        await self._keeper.give_back(self._target, self._connection)
