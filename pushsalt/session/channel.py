"""A runtime that was started on a target: exchanges frames, for one session or several consecutive ones."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from pushsalt.bundle.runtime import Met, Runtime
from pushsalt.errors import TargetError
from pushsalt.model import Target
from pushsalt.session import handshake
from pushsalt.session.intake import Intake, excess
from pushsalt.transport import Connection, Stream
from thin import boot, wire

log = logging.getLogger(__name__)

Message = dict[str, Any]


@dataclass
class Traffic:
    """Counters of one session. ``round_trips``: how many times data was written after data had been read."""

    round_trips: int = 0
    bytes_sent: int = 0
    bytes_received: int = 0


class Channels(Protocol):
    """Keeps idle channels between sessions (``pushsalt.transport.resource``, ``pushsalt.session.keptchannels``)."""

    #: parameters of the supervisor that make it serve several sessions
    several: Mapping[str, object]

    async def take(self) -> Channel | None:
        """A channel that an earlier session has left; None if there is none."""

    def keep(self, channel: Channel) -> None:
        """Keep a channel for the next session."""

    def leave(self, channel: Channel, last: bytes, stop: bytes) -> bool:
        """Write the last bytes of a session, and keep the channel once the session is over; ``stop`` is written if it
        does not end. False if that cannot be done without this process."""


class Channel:
    """Call ``start``, then ``greeted``; then the first message can be sent. ``again`` begins a further session.

    ``info`` describes the target: python, exe, uid, pid (of the supervisor), dir (its private directory, "" for none),
    warm. ``sent_runtime``: whether the runtime had to be sent. ``warn`` is called with warnings, ``fail`` with errors.

    A target that is known is started by the interpreter of its last session. If that does not start, the target is
    started like an unknown one; this is only logged.
    """

    stream: Stream

    def __init__(
        self,
        target: Target,
        user: str | None,
        runtime: Runtime,
        warn: Callable[[str], None],
        fail: Callable[[TargetError], None],
    ) -> None:
        self.info: dict[str, Any] = {}
        self.traffic = Traffic()
        self.opening = handshake.Opening(target, user)
        self.sent_runtime = False
        self._kept: dict[str, Any] = {}
        self._target, self._runtime, self._warn, self._fail = target, runtime, warn, fail
        self._frames = wire.Frames(self.opening.nonce.encode(), wire.UP_LIMIT, wire.SMALL_LIMIT)
        self.intake = Intake(target)
        self._has_read = True
        self._unheard = bytearray()  # written before the hello, for another start
        self._is_anew = self._is_ending = False
        loop = asyncio.get_running_loop()
        self._hello: asyncio.Future[None] = loop.create_future()
        self._go: asyncio.Future[None] = loop.create_future()

    # --- the beginning

    async def start(self, connection: Connection, parameters: Mapping[str, object]) -> None:
        """Start the first stage on the target. Raises TargetError."""
        self._begun = connection, dict(parameters)
        met = self._runtime.met(self._target, self.opening.user)
        wanted = self._runtime.wanted(self._target, self.opening.user)
        self._program = self.opening.program(self._runtime, {**wanted, **parameters})
        words = self.opening.command(len(self._program), met.exe if met is not None else "")
        try:
            self.stream = await connection.open(words, pty=self.opening.tty, on_stderr=self._heard)
        except TargetError as exc:
            if not self.opening.is_direct or exc.kind != "no_shell":
                raise
            await self._start_anew()

    async def _start_anew(self) -> None:
        """Start the first stage as on a target that is not known. Raises TargetError."""
        log.debug("%s: the interpreter of its last session does not start, another is looked for", self._target.id)
        connection, parameters = self._begun
        self.remember(None)
        self.opening = handshake.Opening(self._target, connection.user)
        self._frames = wire.Frames(self.opening.nonce.encode(), wire.UP_LIMIT, wire.SMALL_LIMIT)
        await self.start(connection, parameters)

    async def greeted(self) -> bytes:
        """Wait for the handshake; returns the bytes to write before the first message.

        Another task must call ``receive`` meanwhile.
        """
        if self.opening.waits:
            await self._go
        if self._runtime.met(self._target, self.opening.user) is None:
            self.write(self._program)
            await self._hello
            return b""
        return self._program

    def resume(self, nonce: str, info: Mapping[str, Any], resume: Callable[[Callable[[bytes], None]], Stream]) -> None:
        """Use the channel of an earlier process; called in place of ``start``."""
        self.opening.nonce = nonce
        self._frames = wire.Frames(nonce.encode(), wire.UP_LIMIT, wire.SMALL_LIMIT)
        self.info.update(info)
        _resolve(self._go)
        _resolve(self._hello)
        self.stream = resume(self._heard)

    def again(self, parameters: Mapping[str, object], kept: Mapping[str, Any]) -> bytes:
        """The bytes to write before the first message of a further session.

        ``kept``: name -> value; each value is sent once per channel, and again only when it is another object.
        """
        self.traffic, self.intake = Traffic(), Intake(self._target)
        self._has_read, self.sent_runtime = True, False
        beginning = b""
        for name, value in kept.items():
            if self._kept.get(name) is not value:
                self._kept[name] = value
                beginning += wire.frame(b"K", wire.pack({"name": name, "value": value}))
        given = [(name, value) for name, value in parameters.items() if value is not None]
        framed: bytes = beginning + boot.frame(b"", b"P", given)
        return framed

    @property
    def is_greeted(self) -> bool:
        return self._hello.done() and not self._hello.cancelled() and self._hello.exception() is None

    def go(self) -> None:
        """Called when the command on the target reads its stdin: the first stage can be written."""
        _resolve(self._go)

    def greet(self, fields: dict[str, str]) -> None:
        """Process the hello of the first stage, and send the runtime if the target does not have it."""
        self.info.update({key: fields.get(key, "") for key in ("python", "exe", "uid", "pid", "dir")})
        self.info["warm"] = fields.get("warm") == "1"
        self._warn(fields.get("warnings", ""))
        sha = fields.get("sha", "")
        if sha not in self._runtime.sizes:
            raise ValueError("the runtime that it chose does not exist")
        if fields.get("have") != "1":
            self.write(wire.frame(b"A", self._runtime.archive(sha)))
            self.sent_runtime = True
        self.remember(Met(sha, self.info["python"], self.info["exe"]) if self.info["dir"] else None)
        _resolve(self._hello)
        if self._is_anew:
            self.write(bytes(self._unheard))
        self._unheard.clear()

    def remember(self, met: Met | None) -> None:
        """Record which runtime the target has; None for none."""
        self._runtime.remember(self._target, self.opening.user, met)

    def give_up(self, trouble: TargetError) -> None:
        """Make ``greeted`` raise this error: the start has failed."""
        self._is_ending = True
        for future in (self._go, self._hello):
            if not future.done():
                future.set_exception(trouble)
                future.exception()

    def _heard(self, data: bytes, stream: str = "stderr") -> None:
        """Process bytes outside of frames; they may contain a password prompt of sudo or the like."""
        try:
            self.intake.heard(len(data))
        except wire.Excess as exc:
            self._fail(excess(self._target.id, exc))
            self.stream.close()
            return
        if self._go.done():
            return
        try:
            answer = self.opening.heard(data, stream)
        except TargetError as exc:
            self._fail(exc)
            self.stream.close()
            return
        if answer and self.opening.reads_after:
            asyncio.get_running_loop().call_later(self.opening.reads_after, self._answer, answer)
        else:
            self.write(answer)

    def _answer(self, answer: bytes) -> None:
        if not self._go.done():
            self.write(answer)

    # --- bytes

    def write(self, data: bytes) -> None:
        if self.opening.is_direct and not self._hello.done():
            self._unheard += data
        elif self._is_anew and not self._hello.done():
            self._unheard += data
            return
        if data:
            self.traffic.round_trips += self._has_read
            self._has_read = False
            self.traffic.bytes_sent += len(data)
            self.stream.write(data)

    async def receive(self) -> Iterator[tuple[bytes, bytes | bytearray]] | None:
        """The frames received by now, as (kind, payload); None at the end of the stream.

        Raises TargetError when the connection broke, wire.Excess for too many bytes; the iterator raises ValueError
        for bytes that are not a frame.
        """
        data = await self.stream.read()
        if not data:
            if not self.opening.is_direct or self._hello.done() or self._is_ending:
                return None
            size = len(self._program)
            self.stream.abort()
            await self._start_anew()
            if self._unheard:  # else `greeted` has not begun yet, and will write
                self._is_anew = True
                del self._unheard[:size]
                self.stream.write(self._program)
            return iter(())
        self._has_read = True
        self.traffic.bytes_received += len(data)
        self.intake.received(len(data))
        if not self._hello.done():
            self.opening.seen(data)
            if self.opening.tty or self.opening.waits:
                self._heard(data, "stdout")
        self._frames.feed(data)
        return iter(self._frames)

    @property
    def is_empty(self) -> bool:
        """Whether no incomplete frame was received."""
        return not self._frames.rest()

    # --- the end

    def end(self) -> Stream:
        """Its stream, which may be closed now: it is not started another time."""
        self._is_ending = True
        return self.stream

    def ending(self) -> TargetError:
        """The error of a first stage that ended before its hello."""
        said = handshake.Ending(bytes(self.opening.output), bytes(self.stream.stderr), self.stream.exit_status)
        return handshake.explain(self.opening, said)

    def last_words(self) -> str:
        """The last output of a first stage that did not start, for messages."""
        said = bytes(self.stream.stderr[-1000:]) or bytes(self.opening.output[-1000:])
        return self.opening.unmarked(handshake.printable(said))


def framed(message: Message) -> bytes:
    """The frame of a message, as bytes. Raises TargetError when the message is too long."""
    payload = wire.pack(message)
    if len(payload) > wire.FRAME_LIMIT:
        raise TargetError(
            "protocol_error",
            f"a message of {len(payload)} bytes is over the limit of {wire.FRAME_LIMIT}",
            "split the run: fewer states or less data at a time",
        )
    frame: bytes = wire.frame(b"M", payload)
    return frame


def _resolve(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
