"""The command's side of connections that the keeper of a kept session holds; ``transport.lease`` has the messages."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import secrets
import socket
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pushsalt.broker.client import peer_uid
from pushsalt.errors import TargetError
from pushsalt.model import Target
from pushsalt.transport import Connection, ConnectOptions, Stream, lease
from pushsalt.transport.stream import Gate, Inbox, keep_tail

log = logging.getLogger(__name__)

#: How many times the keeper may ask for further jump hosts.
_JUMPS = 20
#: Time limit for a place in the keeper's backlog, and pause between attempts, in seconds.
_PATIENCE, _PAUSE = 10.0, 0.01
#: Seconds for the keeper's word that it has the request.
_ANSWER = 20.0


class Keeper:
    """Gets connections from the keeper whose socket has this path. ``seconds``: how long it keeps an idle one open.

    ``starting``: waits until a keeper that is being started listens. ``beacons``: starts the process that evaluates
    beacons.
    """

    def __init__(
        self,
        path: str,
        seconds: float,
        starting: Callable[[], None] | None = None,
        beacons: Callable[[], None] | None = None,
    ) -> None:
        self.path, self.seconds = path, seconds
        self._starting = starting
        self._beacons = beacons
        self._started: asyncio.Task[None] | None = None
        #: what listens there does not answer as a keeper does
        self._is_none = False
        self._token = secrets.token_hex(8)
        self._environment = lease.environment(os.environ)

    def start_beacons(self) -> None:
        """Start the process that evaluates the beacons of the session's targets; from any thread, once."""
        beacons, self._beacons = self._beacons, None
        if beacons is not None:
            threading.Thread(target=beacons, name="start beacons").start()

    async def connect(self, target: Target, options: ConnectOptions) -> Connection | None:
        """A connection with the target; None if the keeper cannot make one. Raises TargetError."""
        return await self._connected(target, options)

    async def _connected(self, target: Target, options: ConnectOptions) -> BrokeredConnection | None:
        jumps: dict[str, Any] = {}
        for name in target.jump:
            self._add(name, options.inventory, jumps)
        for _ in range(_JUMPS):
            opened = await self._opened()
            if opened is None:
                return None
            reader, writer = opened
            writer.write(lease.message(b"l", **self._lease_request(target, options, jumps)))
            try:
                connection, missing = await self._answer(target, reader, writer)
            except BaseException:
                writer.close()
                raise
            if not missing:
                if connection is None:
                    writer.close()
                return connection
            writer.close()
            for name in missing:
                self._add(name, options.inventory, jumps)
        return None

    def _lease_request(self, target: Target, options: ConnectOptions, jumps: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "token": self._token,
            "environment": self._environment,
            "seconds": self.seconds,
            "level": logging.getLogger().getEffectiveLevel(),
            "target": lease.of_target(target),
            "options": lease.of_options(options),
            "jumps": dict(jumps),
        }

    def _add(self, name: str, inventory: Mapping[str, Target], jumps: dict[str, Any]) -> None:
        """Add the inventory's entries of this jump host, and of the jump hosts before it."""
        if name in jumps:
            return
        target = inventory.get(name)
        jumps[name] = None if target is None else lease.of_target(target)
        for each in target.jump if target is not None else ():
            self._add(each, inventory, jumps)

    async def _opened(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter] | None:
        if self._starting is not None:
            if self._started is None:
                self._started = asyncio.ensure_future(asyncio.to_thread(self._starting))
            await asyncio.shield(self._started)
            self._starting = None
        if self._is_none:
            return None
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        sock.setblocking(False)
        try:
            for _ in range(int(_PATIENCE / _PAUSE)):
                try:
                    sock.connect(self.path)
                except BlockingIOError:  # its backlog is full
                    await asyncio.sleep(_PAUSE)
                    continue
                break
            if peer_uid(sock) == os.geteuid():
                return await asyncio.open_unix_connection(sock=sock)
        except OSError as exc:
            log.debug("the session's keeper is not there: %s", exc)
        sock.close()
        return None

    async def _answer(
        self, target: Target, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> tuple[BrokeredConnection | None, list[str]]:
        try:
            frame = await asyncio.wait_for(lease.read(reader), _ANSWER)
        except asyncio.TimeoutError:
            frame = None
        if frame is None or frame[0] != b"w":
            log.debug("%s: what listens on the session's socket is no keeper", target.id)
            self._is_none = True
            return None, []
        while (frame := await lease.read(reader)) is not None:
            kind, _, data = frame
            if kind == b"L":
                values = lease.values(data)
                return BrokeredConnection(target, reader, writer, values["user"], values["about"]), []
            if kind == b"N":
                return None, [str(name) for name in lease.values(data)["names"]]
            if kind == b"E":
                raise lease.raised(lease.values(data))
            if kind == b"A":
                return None, []
            if kind == b"g":
                show(data)
        return None, []


class GuestKeeper(Keeper):
    """Lends connections that the keeper has, while commands use them, too; it makes none."""

    def __init__(self, path: str) -> None:
        super().__init__(path, 0.0)

    async def connect(self, target: Target, options: ConnectOptions) -> Connection:
        """A connection that the keeper has. Raises TargetError if it has none."""
        connection = await self._connected(target, options)
        if connection is None:
            raise TargetError("unreachable", f"{target.id}: the session keeps no connection", "connect to it again")
        return _Lent(connection)

    def _lease_request(self, target: Target, options: ConnectOptions, jumps: Mapping[str, Any]) -> dict[str, Any]:
        return {**super()._lease_request(target, options, jumps), "guest": True}


class _Lent:
    """A lent connection, whose channels are not kept for other commands."""

    def __init__(self, connection: BrokeredConnection) -> None:
        self.user = connection.user
        self._connection = connection

    async def open(
        self, words: Sequence[str], *, pty: bool = False, on_stderr: Callable[[bytes], None] | None = None
    ) -> Stream:
        return await self._connection.open(words, pty=pty, on_stderr=on_stderr)

    async def close(self) -> None:
        await self._connection.close()


def show(data: bytes) -> None:
    """Log a line of the keeper's log output."""
    values = lease.values(data)
    logging.getLogger(str(values["name"])).log(int(values["level"]), "%s", values["text"])


class BrokeredConnection:
    """A connection that the keeper holds and that this command uses.

    ``about``: the data that an earlier command stored with its kept stream, which ``resume`` continues; None without
    such a stream.
    """

    def __init__(
        self,
        target: Target,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        user: str | None,
        about: dict[str, Any] | None,
    ) -> None:
        self.id, self.user, self.about = target.id, user, about
        self._reader, self._writer = reader, writer
        self._streams: dict[int, BrokeredStream] = {}
        self._starting: dict[int, asyncio.Future[None]] = {}
        self._number = 0
        self._gone = False
        #: cleared while a stream has more unread bytes than its limit
        self.reading = asyncio.Event()
        self.reading.set()
        self._task = asyncio.ensure_future(self._read())

    @property
    def is_open(self) -> bool:
        return not self._gone

    def send(self, data: bytes) -> None:
        if not self._gone:
            self._writer.write(data)

    async def open(
        self, words: Sequence[str], *, pty: bool = False, on_stderr: Callable[[bytes], None] | None = None
    ) -> BrokeredStream:
        self._number += 1
        number = self._number
        stream = self._streams[number] = BrokeredStream(self, number, on_stderr)
        started = self._starting[number] = asyncio.get_running_loop().create_future()
        if self._gone:
            raise self._lost("before anything was run", "bootstrap_failed")
        command: Any = words if isinstance(words, str) else list(words)
        self.send(lease.message(b"o", number, words=command, pty=pty))
        try:
            await started
        except TargetError:
            self._streams.pop(number, None)
            raise
        finally:
            self._starting.pop(number, None)
        return stream

    def resume(self, on_stderr: Callable[[bytes], None]) -> BrokeredStream:
        """Continue the kept stream."""
        self.about = None
        stream = self._streams[0] = BrokeredStream(self, 0, on_stderr)
        self.send(lease.frame(b"r"))
        return stream

    def drop(self) -> None:
        """End the kept stream."""
        if self.about is not None:
            self.resume(lambda data: None).abort()

    def park(self, stream: BrokeredStream, about: Mapping[str, Any]) -> None:
        """Let the keeper keep the stream for the next command."""
        self._streams.pop(stream.number, None)
        self.send(lease.message(b"p", stream.number, **about))

    def leave(self, stream: BrokeredStream, last: bytes, stop: bytes, about: Mapping[str, Any]) -> None:
        """Let the keeper write the last bytes of a session, and keep the stream once the session is over, or else end
        it with ``stop``."""
        self._streams.pop(stream.number, None)
        self.send(lease.message(b"b", stream.number, last=last, stop=stop, about=dict(about)))

    async def close(self) -> None:
        """Give the connection back. Streams that are still open are aborted."""
        self.send(lease.frame(b"d"))
        self._gone = True
        self._writer.close()
        self._task.cancel()
        with contextlib.suppress(asyncio.CancelledError, OSError):
            await self._task
        for stream in list(self._streams.values()):
            stream.ended()

    def _lost(self, when: str, kind: str = "connection_lost") -> TargetError:
        hint = "it is safe to run again" if kind != "connection_lost" else "look at the target, and run again"
        return TargetError(kind, f"{self.id}: the keeper of the session ended {when}", hint)

    async def _read(self) -> None:
        try:
            while (frame := await lease.read(self._reader)) is not None:
                self._take(*frame)
                if not self.reading.is_set():
                    await self.reading.wait()
        finally:
            self._gone = True
            for started in self._starting.values():
                if not started.done():
                    started.set_exception(self._lost("before anything was run", "bootstrap_failed"))
            for stream in list(self._streams.values()):
                stream.broke(self._lost("in mid-run"))

    def _take(self, kind: bytes, number: int, data: bytes) -> None:
        started = self._starting.get(number)
        if kind == b"g":
            show(data)
        elif kind == b"O" and started is not None and not started.done():
            started.set_result(None)
        elif kind == b"E" and started is not None and not started.done():
            started.set_exception(lease.raised(lease.values(data)))
        elif number in self._streams:
            self._streams[number].take(kind, data)


class BrokeredStream:
    """The stream of one command."""

    def __init__(self, connection: BrokeredConnection, number: int, on_stderr: Callable[[bytes], None] | None) -> None:
        self.number = number
        self.stderr = bytearray()
        self.exit_status: int | None = None
        self._connection, self._on_stderr = connection, on_stderr
        self._inbox = Inbox(connection.reading.clear, connection.reading.set)
        self._gate = Gate()
        self._ahead = 0
        self._over = asyncio.Event()
        self._closing = False

    def take(self, kind: bytes, data: bytes) -> None:
        """Process a frame of the keeper for this stream."""
        if kind == b"o":
            self._inbox.feed(data)
        elif kind == b"e":
            keep_tail(self.stderr, data)
            if self._on_stderr is not None:
                self._on_stderr(data)
        elif kind == b"z":
            self._inbox.end()
        elif kind == b"x":
            self._inbox.end(lease.raised(lease.values(data)))
        elif kind == b"k":
            self._ahead -= int(lease.values(data)["size"])
            if self._ahead < lease.WINDOW:
                self._gate.open()
        elif kind == b"s":
            self.exit_status = lease.values(data)["status"]
            self.ended()

    def ended(self) -> None:
        self._inbox.end()
        self._gate.open()
        self._over.set()

    def broke(self, error: TargetError) -> None:
        self._inbox.end(error)
        self.ended()

    async def read(self) -> bytes:
        return await self._inbox.read()

    def write(self, data: bytes) -> None:
        if data and not self._closing and not self._over.is_set():
            self._ahead += len(data)
            if self._ahead >= lease.WINDOW:
                self._gate.close()
            for at in range(0, len(data), lease.WINDOW):
                self._connection.send(lease.frame(b"i", self.number, data[at : at + lease.WINDOW]))

    def write_eof(self) -> None:
        if not self._closing:
            self._connection.send(lease.frame(b"z", self.number))

    async def drain(self) -> None:
        await self._gate.wait()

    async def wait_closed(self) -> None:
        await self._over.wait()

    def close(self) -> None:
        self._inbox.end()
        if not self._closing:
            self._closing = True
            self._connection.send(lease.frame(b"c", self.number))

    def abort(self) -> None:
        if not self._over.is_set():
            self._closing = True
            self._connection.send(lease.frame(b"a", self.number))
            self.ended()
