"""The keeper's side of a connection that a command uses: passes bytes between its streams and the command."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from pushsalt.errors import TargetError
from pushsalt.transport import Stream, lease
from pushsalt.transport.sshconnection import SshConnection

#: The number of the kept stream; streams that a command opens have higher numbers.
KEPT = 0


@dataclass
class Parked:
    """A kept stream and the data about it. ``stop``: bytes that end the session on it, if that has yet to end."""

    stream: Stream
    about: dict[str, Any]
    stop: bytes | None = None


@dataclass
class _Open:
    stream: Stream
    pump: asyncio.Task[None]
    draining: bool = False
    taken: int = 0


class Streams:
    """The streams of one connection. ``send`` queues bytes for the command, ``drain`` waits until it reads them.

    ``end_guests``: ends the streams of guests on the connection, and returns whether there were any.
    """

    def __init__(
        self,
        connection: SshConnection,
        send: Callable[[bytes], None],
        drain: Callable[[], Awaitable[None]],
        end_guests: Callable[[], Awaitable[bool]] | None = None,
    ) -> None:
        self._connection, self._send, self._drain = connection, send, drain
        self._end_guests = end_guests
        self._open: dict[int, _Open] = {}
        self._parked: Parked | None = None
        self._tasks: set[asyncio.Task[Any]] = set()

    def has(self, stream: Stream, about: dict[str, Any]) -> None:
        """Offer the kept stream to the command; if the command does not continue it, it stays kept."""
        self._parked = Parked(stream, about)

    def _resume(self) -> None:
        if self._parked is not None:
            stream = self._parked.stream
            self._parked = None
            stream._on_stderr = lambda data: self._send(lease.frame(b"e", KEPT, data))  # type: ignore[attr-defined]
            self._pump(KEPT, stream)

    async def run(self, reader: asyncio.StreamReader) -> bool:
        """Process the command's frames. Returns whether it has given the connection back properly."""
        while (frame := await lease.read(reader)) is not None:
            kind, number, data = frame
            if kind == b"d":
                return True
            if kind == b"r":
                self._resume()
            elif kind == b"o":
                await self._start(number, lease.values(data))
            elif number in self._open:
                await self._do(kind, number, data)
        return False

    async def stop(self) -> bool:
        """Abort all streams except the kept one; returns whether there were any."""
        numbers = list(self._open)
        for number in numbers:
            await self._stop(number)
        return bool(numbers)

    async def evict(self) -> bool:
        """Abort all streams, of which the guest is told; returns whether there were any."""
        numbers = list(self._open)
        for number in numbers:
            await self._stop(number)
            text = "a command needs its place: the server allows no further session on this connection"
            error = TargetError("connection_lost", text, "raise MaxSessions in sshd_config")
            self._send(lease.message(b"x", number, **lease.error(error)))
            self._send(lease.message(b"s", number, status=None))
        return bool(numbers)

    async def end(self) -> Parked | None:
        """Abort all streams except the kept one, which is returned."""
        await self.stop()
        for task in self._tasks:
            task.cancel()
        if self._parked is not None and self._parked.stream.exit_status is not None:
            self._parked = None
        return self._parked

    async def _start(self, number: int, values: dict[str, Any]) -> None:
        def heard(data: bytes) -> None:
            self._send(lease.frame(b"e", number, data))

        try:
            stream = await self._connection.open(values["words"], pty=bool(values["pty"]), on_stderr=heard)
        except TargetError as exc:
            if exc.kind != "no_shell" or not await self._make_room():
                self._send(lease.message(b"E", number, **lease.error(exc)))
                return
            try:
                stream = await self._connection.open(values["words"], pty=bool(values["pty"]), on_stderr=heard)
            except TargetError as again:
                self._send(lease.message(b"E", number, **lease.error(again)))
                return
        self._send(lease.frame(b"O", number))
        self._pump(number, stream)

    async def _make_room(self) -> bool:
        """End the waiting runtime, or the streams of guests, since some servers allow one session per connection.

        Returns whether there were any.
        """
        if self._parked is None:
            return self._end_guests is not None and await self._end_guests()
        stream = self._parked.stream
        self._parked = None
        stream.close()
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(stream.wait_closed(), 3)
        return True

    async def _do(self, kind: bytes, number: int, data: bytes) -> None:
        stream = self._open[number].stream
        if kind == b"i":
            stream.write(data)
            self._taken(number, len(data))
        elif kind == b"z":
            stream.write_eof()
        elif kind == b"c":
            stream.close()
        elif kind == b"a":
            await self._stop(number)
        elif kind == b"p":
            await self._park(number, Parked(stream, lease.values(data)))
        elif kind == b"b":
            values = lease.values(data)
            await self._park(number, Parked(stream, values["about"], values["stop"]))
            stream.write(values["last"])

    async def _park(self, number: int, parked: Parked) -> None:
        """Stop to pass on what this stream sends, and keep it."""
        stream = self._open.pop(number)
        await _cancelled(stream.pump)
        parked.stream._on_stderr = None  # type: ignore[attr-defined]
        before, self._parked = self._parked, parked
        if before is not None:
            before.stream.close()

    def _taken(self, number: int, size: int) -> None:
        """Tell the command how many bytes were passed on, once the connection accepts more."""
        stream = self._open[number]
        stream.taken += size
        if stream.draining:
            return
        stream.draining = True

        async def report() -> None:
            await stream.stream.drain()
            stream.draining, taken, stream.taken = False, stream.taken, 0
            self._send(lease.message(b"k", number, size=taken))

        self._later(report())

    def _later(self, work: Any) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _pump(self, number: int, stream: Stream) -> None:
        self._open[number] = _Open(stream, asyncio.ensure_future(self._up(number, stream)))

    async def _up(self, number: int, stream: Stream) -> None:
        try:
            while data := await stream.read():
                self._send(lease.frame(b"o", number, data))
                await self._drain()
            self._send(lease.frame(b"z", number))
        except TargetError as exc:
            self._send(lease.message(b"x", number, **lease.error(exc)))
        await stream.wait_closed()
        self._send(lease.message(b"s", number, status=stream.exit_status))

    async def _stop(self, number: int) -> None:
        stream = self._open.pop(number)
        stream.stream.abort()
        await _cancelled(stream.pump)


async def _cancelled(task: asyncio.Task[None]) -> None:
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError, ConnectionError):
        await task
