"""HTTP connections with time limits for slow clients, in addition to the timeouts of uvicorn.

uvicorn closes connections that are idle between two requests. This protocol also limits the time until the head of a
request is complete, and the time for which a client does not read. ``bodies`` limits the time of bodies.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

#: Time limit in seconds from the first byte of a request, or from the connection, until its head is complete.
HEAD: Final = 10.0
#: Seconds without reading after which the connection is closed.
READ: Final = 30.0
#: Maximum bytes of a head.
HEAD_SIZE: Final = 32768


class Protocol(H11Protocol):
    """One connection."""

    _head: asyncio.TimerHandle | None = None
    _read: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._head = self.loop.call_later(HEAD, self._close)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        is_waiting = self.conn.their_state is h11.IDLE and bool(self.conn.trailing_data[0])
        if not is_waiting:
            self._forget_head()
        elif self._head is None:
            self._head = self.loop.call_later(HEAD, self._close)

    def pause_writing(self) -> None:
        super().pause_writing()
        if self._read is None:
            self._read = self.loop.call_later(READ, self._close)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._forget_read()

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget_head()
        self._forget_read()
        super().connection_lost(exc)

    def _close(self) -> None:
        self.transport.abort()

    def _forget_head(self) -> None:
        if self._head is not None:
            self._head.cancel()
            self._head = None

    def _forget_read(self) -> None:
        if self._read is not None:
            self._read.cancel()
            self._read = None
