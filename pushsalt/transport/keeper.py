"""The keeper: the process that holds the SSH connections of a kept session (``transport.lease`` has its messages).

A connection is used by one command at a time. When a command gives it back, the keeper keeps it open, with one runtime
on the target that waits for its next session, for the idle time that the command has set. A command gets a kept
connection only if a login with the current configuration, ssh_config, known_hosts and key files would be equal
(``transport.identity``) and the server still answers. Otherwise the keeper makes a new connection.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import socket
import time
from collections import Counter
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Final

from pushsalt.broker.client import peer_uid
from pushsalt.errors import TargetError
from pushsalt.model import Target
from pushsalt.transport import lease, ssh
from pushsalt.transport.followers import Followers
from pushsalt.transport.identity import Identities
from pushsalt.transport.leased import Streams
from pushsalt.transport.sshconnection import SshConnection

log = logging.getLogger(__name__)

#: Seconds since a server's last data after which it is checked before use, and seconds for its answer.
FRESH: Final = 2.0
ANSWER: Final = 3.0
#: Seconds for the end of a session that a command has left to the keeper.
ENDING: Final = 5.0
#: Backlog of the socket: a command opens one connection to it for each target.
BACKLOG: Final = 4096
#: Maximum number of idle connections with one target.
IDLE: Final = 2

_lease: ContextVar[Lease | None] = ContextVar("lease", default=None)


def main(listener: socket.socket, life: int, seconds: float) -> None:
    """Keep connections until none is left and no command has asked for one for ``seconds``, or until the broker ends.

    ``life``: a pipe that is closed when the broker ends.
    """
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    root = logging.getLogger()
    root.handlers[:] = [_Forward()]
    root.setLevel(logging.DEBUG)
    logging.getLogger("asyncssh").setLevel(logging.WARNING)
    logging.getLogger("asyncio").setLevel(logging.WARNING)
    asyncio.run(Keeper(seconds).serve(listener, life))


class _Forward(logging.Handler):
    """Sends log messages to the command whose connection they are about."""

    def emit(self, record: logging.LogRecord) -> None:
        user = _lease.get()
        if user is not None and record.levelno >= user.level:
            text = record.getMessage()
            user.send(lease.message(b"g", level=record.levelno, name=record.name, text=text))


@dataclass
class Kept:
    """An idle connection. ``stream``: that of a runtime that waits for its next session; ``about``: data about it."""

    target: Target
    identity: str
    connection: SshConnection
    seconds: float
    stream: Any = None
    about: dict[str, Any] = field(default_factory=dict)
    #: the end of the last session on the stream, if a command has left that to the keeper
    ending: asyncio.Task[None] | None = None
    since: float = field(default_factory=time.monotonic)
    clocks: tuple[float, float] = field(default_factory=lambda: (time.monotonic(), time.time()))
    timer: asyncio.TimerHandle | None = None
    watch: asyncio.Task[None] | None = None
    #: the streams of guests, which use the connection together with commands
    guests: list[Streams] = field(default_factory=list)

    async def end_guests(self) -> bool:
        """End the streams of guests; returns whether there were any."""
        ended = [await guest.evict() for guest in self.guests]
        return any(ended)


class Names(dict[str, Target]):
    """Jump hosts by their ids in the inventory. An id that the command has not answered for raises MissingError."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        super().__init__({name: lease.to_target(value) for name, value in given.items() if value is not None})
        self._none = {name for name, value in given.items() if value is None}

    def get(self, name: str, default: Any = None) -> Any:
        if name not in self and name not in self._none:
            raise MissingError(name)
        return super().get(name, default)


class MissingError(Exception):
    """The command has not sent yet whether this jump host is an id of its inventory."""


class Keeper:
    """The kept connections, by target."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.idle: dict[str, list[Kept]] = {}
        self.in_use: dict[str, list[Kept]] = {}
        self.used = 0
        self.followers = Followers(self._connected)
        self._given_back: Counter[str] = Counter()
        #: id -> number of connections that are tested for a command
        self._taking: Counter[str] = Counter()
        self._shared: dict[str, tuple[float, dict[str, Any]]] = {}
        self._done = asyncio.Event()
        self._asked = time.monotonic()
        self._tasks: set[asyncio.Task[Any]] = set()
        self.environment = ""
        self.identities = Identities()

    async def serve(self, listener: socket.socket, life: int) -> None:
        loop = asyncio.get_running_loop()
        loop.add_reader(life, self._done.set)
        self.environment = lease.environment(os.environ)
        server = await asyncio.start_unix_server(self._client, sock=listener, backlog=BACKLOG)
        loop.call_later(max(1.0, self.seconds), self._look)
        async with server:
            await self._done.wait()
        await asyncio.gather(*(self._close(kept) for several in list(self.idle.values()) for kept in list(several)))

    def _look(self) -> None:
        """End if there are no connections and no command has asked for one for ``seconds``; else check again later."""
        now = time.monotonic()
        left = self._asked + self.seconds - now
        if left <= 0 and not self.used and not self.idle:
            self._done.set()
        else:
            asyncio.get_running_loop().call_later(max(1.0, left), self._look)

    def stop(self) -> None:
        """Keep no connections from now on; the process ends when the last used one is given back."""
        self.seconds = 0.0
        self._asked = 0.0
        if not self.used and not self.idle:
            self._done.set()

    async def _client(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        sock = writer.get_extra_info("socket")
        frame = None
        if peer_uid(sock) == os.geteuid():
            self._asked = time.monotonic()
            frame = await lease.read(reader)
        with contextlib.suppress(ConnectionError, ValueError, KeyError):
            if frame is not None and frame[0] == b"l":
                writer.write(lease.frame(b"w"))
                await Lease(self, reader, writer).run(frame[2])
            elif frame is not None and frame[0] in b"?q":
                await self._control(frame, writer)
            elif frame is not None and frame[0] == b"f":
                await self.followers.follow(reader, writer, self._done)
        writer.close()
        self._asked = time.monotonic()

    # --- requests of ``pushsalt session``

    async def _control(self, frame: tuple[bytes, int, bytes], writer: asyncio.StreamWriter) -> None:
        kept = [each for several in self.idle.values() for each in several]
        if frame[0] == b"q":
            ids = lease.values(frame[2])["ids"]
            kept = [each for each in kept if ids is None or each.target.id in ids]
            await asyncio.gather(*(self._close(each) for each in kept))
            if ids is None:
                self.stop()
        now = time.monotonic()
        rows = []
        for each in kept:
            id, idle = each.target.id, now - each.since
            names, error = self.followers.beacons.get(id, ([], ""))
            rows.append({"id": id, "idle": idle, "left": each.seconds - idle, "beacons": names, "beacon_error": error})
        writer.write(lease.message(b"!", targets=rows, used=self.used))
        await writer.drain()

    def _connected(self) -> dict[str, int]:
        """The ids with connections, and how often one was given back."""
        ids = (*self.idle, *self.in_use, *(id for id, number in self._taking.items() if number))
        return {id: self._given_back[id] for id in ids}

    # --- connections

    def shared(self, token: str) -> dict[str, Any]:
        """Objects that the connections of one command share; files are read again for each command."""
        now = time.monotonic()
        for old in [name for name, (last, _) in self._shared.items() if now - last > 60 and name != token]:
            _, shared = self._shared.pop(old)
            if "ssh" in shared:
                self.later(shared["ssh"].keys.close())
        shared = self._shared[token][1] if token in self._shared else {}
        self._shared[token] = now, shared
        return shared

    def later(self, work: Any) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def take(self, target: Target, wanted: str) -> Kept | None:
        """A kept connection with this identity whose server answers. Those that cannot be used any more are closed."""
        self._taking[target.id] += 1
        try:
            return await self._take(target, wanted)
        finally:
            self._taking[target.id] -= 1
            self.followers.tell()

    async def _take(self, target: Target, wanted: str) -> Kept | None:
        connection = None
        for kept in reversed(list(self.idle.get(target.id, ()))):
            if kept not in self.idle.get(target.id, ()):
                continue  # another command has taken it meanwhile
            fits = kept.identity == wanted and kept.connection.is_open
            if fits and connection is not None:
                continue
            self._remove(kept)
            if fits and await _answers(kept):
                connection = kept
                continue
            if fits:
                log.debug("%s: the kept connection does not answer: a new one is made", target.id)
            self.later(self._close(kept))
        if connection is not None:
            if connection.ending is not None:
                await asyncio.wait({connection.ending})
            await _stop_watching(connection)
        return connection

    def lent(self, target: Target, wanted: str) -> Kept:
        """A connection with this identity for a guest. Raises TargetError if there is none."""
        connections: list[Kept] = [*self.idle.get(target.id, ()), *self.in_use.get(target.id, ())]
        for kept in connections:
            if kept.identity == wanted and kept.connection.is_open:
                return kept
        hint = "a command on this target makes one"
        raise TargetError("unreachable", f"{target.id}: the session keeps no connection with it", hint)

    def use(self, kept: Kept) -> None:
        """A command begins to use a connection."""
        self.in_use.setdefault(kept.target.id, []).append(kept)
        self.followers.tell()

    def end_use(self, kept: Kept) -> None:
        """A command does not use a connection any more."""
        self.in_use[kept.target.id].remove(kept)
        if not self.in_use[kept.target.id]:
            del self.in_use[kept.target.id]
        self.followers.tell()

    def give_back(self, kept: Kept, stop: bytes | None = None) -> None:
        """Keep a connection if it is open and not too many with its target are kept. ``stop``: see ``Parked``."""
        self._given_back[kept.target.id] += 1
        several = self.idle.setdefault(kept.target.id, [])
        several.append(kept)
        kept.since, kept.clocks = time.monotonic(), (time.monotonic(), time.time())
        kept.timer = asyncio.get_running_loop().call_later(kept.seconds, lambda: self.later(self._close(kept)))
        if kept.stream is not None:
            kept.ending = asyncio.ensure_future(_ends(kept, stop)) if stop is not None else None
            kept.watch = asyncio.ensure_future(_watch(kept))
        if len(several) > IDLE or not self.seconds:
            oldest = next((each for each in several if not each.guests), several[0])
            self._remove(oldest)
            self.later(self._close(oldest))
        self.followers.tell()

    def _remove(self, kept: Kept) -> None:
        several = self.idle.get(kept.target.id, [])
        if kept in several:
            several.remove(kept)
        if not several:
            self.idle.pop(kept.target.id, None)
        if kept.timer is not None:
            kept.timer.cancel()
        self.followers.tell()

    async def _close(self, kept: Kept) -> None:
        self._remove(kept)
        await _stop_watching(kept)
        if kept.stream is not None:
            kept.stream.close()
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(kept.stream.wait_closed(), ANSWER)
        await kept.connection.close()


async def _watch(kept: Kept) -> None:
    """Wait until an idle runtime sends something or ends; then its channel cannot be used any longer."""
    if kept.ending is not None:
        await asyncio.wait({kept.ending})
    if kept.stream is not None:
        with contextlib.suppress(TargetError):
            await kept.stream.read()
        _drop(kept)


async def _ends(kept: Kept, stop: bytes) -> None:
    """Wait for the end of a session: the frame D of its supervisor (thin.sessions), with nothing after it.

    If it does not come in time, write ``stop`` and end the stream.
    """
    try:
        await asyncio.wait_for(_read_until(kept.stream, str(kept.about["nonce"]).encode() + b"D" + bytes(4)), ENDING)
    except (TargetError, asyncio.TimeoutError):
        stream, kept.stream = kept.stream, None
        stream.write(stop)
        stream.close()
        asyncio.get_running_loop().call_later(ENDING, stream.abort)


async def _read_until(stream: Any, end: bytes) -> None:
    """Read until the last bytes are these. Raises TargetError if they do not come."""
    tail = b""
    while tail != end:
        data = await stream.read()
        if not data:
            raise TargetError("connection_lost", "the stream has ended", "")
        tail = (tail + data)[-len(end) :]


def _drop(kept: Kept) -> None:
    kept.stream.abort()
    kept.stream = None


async def _stop_watching(kept: Kept) -> None:
    tasks = [task for task in (kept.watch, kept.ending) if task is not None]
    kept.watch = kept.ending = None
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def _answers(kept: Kept) -> bool:
    """Whether the server still answers. A request is sent, unless data from it has arrived recently."""
    before, now = kept.clocks, (time.monotonic(), time.time())
    slept = abs((now[1] - before[1]) - (now[0] - before[0])) > 1  # the machine was suspended, or its clock was set
    if now[0] - before[0] < FRESH and not slept:
        return True
    try:
        request = kept.connection.connection._make_global_request(b"keepalive@openssh.com")
        await asyncio.wait_for(request, ANSWER)
    except Exception:
        return False
    return kept.connection.is_open


class Lease:
    """A command's use of one connection."""

    def __init__(self, keeper: Keeper, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._keeper, self._reader, self._writer = keeper, reader, writer
        self.level = logging.WARNING
        self._draining = asyncio.Lock()

    def send(self, data: bytes) -> None:
        if not self._writer.is_closing():
            self._writer.write(data)

    async def _drain(self) -> None:
        async with self._draining:
            await self._writer.drain()

    async def run(self, payload: bytes) -> None:
        """Serve the command from its request until it gives the connection back."""
        values = lease.values(payload)
        is_guest = bool(values.get("guest"))
        self._keeper.used += not is_guest
        _lease.set(self)
        try:
            kept = await self._connected(values)
            if kept is not None:
                await (self._use_as_guest(kept) if is_guest else self._use(kept))
        finally:
            self._keeper.used -= not is_guest

    async def _connected(self, values: dict[str, Any]) -> Kept | None:
        self.level = int(values["level"])
        target = lease.to_target(values["target"])
        connecting = asyncio.ensure_future(self._connect(target, values))
        gone = asyncio.ensure_future(self._reader.read(1))
        await asyncio.wait({connecting, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not connecting.done():  # the command has ended, or does not want the connection any more
            connecting.cancel()
        gone.cancel()
        try:
            kept = await connecting
            with contextlib.suppress(asyncio.CancelledError, OSError):
                await gone
        except asyncio.CancelledError:
            return None
        except MissingError as exc:
            self.send(lease.message(b"N", names=[str(exc)]))
            return None
        except TargetError as exc:
            self.send(lease.message(b"E", 0, **lease.error(exc)))
            return None
        if kept is None:
            self.send(lease.frame(b"A"))
            return None
        about = kept.about if kept.stream is not None and not values.get("guest") else None
        self.send(lease.message(b"L", user=kept.connection.user, about=about))
        return kept

    async def _connect(self, target: Target, values: dict[str, Any]) -> Kept | None:
        keeper, seconds = self._keeper, float(values["seconds"])
        keeper.seconds = max(keeper.seconds, seconds) if keeper.seconds else 0.0
        is_guest = bool(values.get("guest"))
        shared = keeper.shared(str(values["token"]))
        try:
            options = lease.to_options(values["options"], Names(values["jumps"]), shared)
            key = lease.digest(values)
            wanted, varies = keeper.identities.of(target, options, key)
            if is_guest:
                return keeper.lent(target, wanted)
            if varies and values["environment"] != keeper.environment:
                return None
            kept = await keeper.take(target, wanted)
            if kept is None:
                connection = await ssh.connect(target, options)
                # the login may have added the host key
                wanted, _ = keeper.identities.of(target, options, key)
                return Kept(target, wanted, connection, seconds)
            log.debug("%s: a kept connection is used", target.id)
            kept.seconds = seconds
        except MissingError:
            shared.clear()
            raise
        return kept

    async def _use(self, kept: Kept) -> None:
        streams = Streams(kept.connection, self.send, self._drain, kept.end_guests)
        if kept.stream is not None:
            streams.has(kept.stream, kept.about)
            kept.stream, kept.about = None, {}
        self._keeper.use(kept)
        try:
            done = await streams.run(self._reader)
            parked = await streams.end()
        finally:
            self._keeper.end_use(kept)
        if not done or not kept.connection.is_open:
            if parked is not None:
                parked.stream.abort()
            await kept.connection.close()
            return
        if parked is not None:
            kept.stream, kept.about = parked.stream, parked.about
        self._keeper.give_back(kept, parked.stop if parked is not None else None)

    async def _use_as_guest(self, kept: Kept) -> None:
        """Serve a guest until it ends, or until the connection is closed."""
        streams = Streams(kept.connection, self.send, self._drain)
        kept.guests.append(streams)
        try:
            await streams.run(self._reader)
        finally:
            kept.guests.remove(streams)
            await streams.stop()
