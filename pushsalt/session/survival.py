"""The controller's side of a run that outlives its connection (``thin/surviving.py`` has the other).

``Survival`` belongs to one session. During a run it keeps written bytes until the target has acknowledged them, and
counts received messages. When the connection breaks, it connects again with increasing pauses, asks for the messages
after the last received one, and writes the unacknowledged bytes again; then the session continues.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from pushsalt.errors import TargetError
from pushsalt.session.channel import Channel
from pushsalt.session.handshake import printable
from thin import handouts, wire

if TYPE_CHECKING:
    from pushsalt.bundle.runtime import Runtime
    from pushsalt.model import Target
    from pushsalt.session.start import Start
    from pushsalt.transport import Connection

log = logging.getLogger(__name__)

#: Time limit in seconds for one attempt, from the connection to the target's report of the run (frame R).
ATTEMPT: Final = 30.0
#: Seconds between attempts: the first pause, and the longest.
PAUSE, LONGEST_PAUSE = 0.25, 8.0
#: Error kinds after which another attempt is made: the server or the machine may be restarting, or unreachable.
PASSING: Final = frozenset(
    {
        "connection_lost",
        "connection_refused",
        "unreachable",
        "connect_timeout",
        "dns_failure",
        "ssh_protocol",
        "bootstrap_failed",
        "no_shell",
        "resource_unreachable",
        "jump_failed",
        "auth_failed",  # pam_nologin, while a machine shuts down or boots
    }
)
#: Seconds between checks whether the target has received everything, when the session detaches from a run.
HEARING: Final = 0.02
STOP: Final[bytes] = wire.frame(b"X", b"")
LEAVE: Final[bytes] = wire.frame(b"L", b"")


def done_note(once: str, good: bool) -> bytes:
    """The frame b"T": the return is stored, and the target notes that it has run the hand-out (thin/handouts.py)."""
    text = f"{once} good" if good else once
    return wire.frame(b"T", text.encode("ascii").ljust(handouts.SIZE))


#: Limit for the bytes that the target has not acknowledged.
_UNREPORTED: Final = 64 * 1024 * 1024


@dataclass(frozen=True)
class Reconnect:
    """How a session gets a new connection during a run.

    ``seconds``: how long to try, 0 for not at all. ``connect`` returns a new connection, or raises TargetError.
    """

    seconds: float
    connect: Callable[[], Awaitable[Connection]]


@dataclass(frozen=True)
class Ours:
    """Functions of a session for ``Survival``: get and set the channel; report a warning, error or event."""

    channel: Callable[[], Channel]
    use: Callable[[Channel], None]
    warn: Callable[[str], None]
    fail: Callable[[TargetError], None]
    say: Callable[[dict[str, Any]], None]


class UnknownRunError(TargetError):
    """The target has no data of the requested run."""


class Survival:
    """Keeps the run of one session going over broken connections.

    ``state`` is the last reported one: "" before the run, then running, ended or gone (the run was killed there).
    ``count``: the number of received messages of the run.
    """

    def __init__(self, target: Target, runtime: Runtime, start: Start, reconnect: Reconnect | None, ours: Ours) -> None:
        self.state = ""
        self.count = 0
        self._target, self._runtime, self._start, self._ours = target, runtime, start, ours
        self._id = target.id
        self._reconnect = reconnect if start.job else None
        self._position = 0  # bytes written in this session
        self._base = 0  # the position of the first byte of _unheard
        self._unheard: bytearray | None = None
        self._settled = asyncio.Event()
        self._settled.set()
        self._until: float | None = None  # when attempts end; None while connected
        self._lost_at = 0.0
        self._pause = PAUSE
        self._attempt_ends: asyncio.TimerHandle | None = None
        self._attached = False
        self._leaving = False
        self._cause: TargetError | None = None  # the error of the broken connection
        self._last: TargetError | None = None  # the error of the last attempt

    # --- writing

    @property
    def is_connecting(self) -> bool:
        return self._until is not None

    @property
    def is_running(self) -> bool:
        """Whether the run would continue on the target if the connection broke now."""
        return self.state == "running"

    def keep(self) -> None:
        """Called when a run begins: keep written bytes from now on, until the target has acknowledged them."""
        if self._reconnect is not None and self._unheard is None:
            self._base, self._unheard = self._position, bytearray()

    async def leave(
        self, run: asyncio.Future[Any], write: Callable[[bytes], None], is_asked: Callable[[], bool]
    ) -> bool:
        """Detach from the run, when all written bytes are acknowledged and every question is answered.

        Returns False if the run has ended before, or cannot continue without the channel. ``run``: future of its end;
        ``is_asked``: whether a question is being answered.
        """
        if not self.is_running or run.done():
            return False
        self._leaving = True
        write(LEAVE)
        while self._unheard or is_asked():
            await asyncio.wait({run}, timeout=HEARING)
            if run.done():
                return isinstance(trouble := run.exception(), TargetError) and trouble.kind == "connection_lost"
        return True

    def ends(self) -> None:
        """Do not connect again from now on."""
        self._leaving = True

    def attach(self) -> None:
        """Called when the session has connected to a run that another process has begun."""
        self._attached = True
        self._unheard = bytearray()
        self._until = self._lost_at = time.monotonic()
        self._settled.clear()

    def written(self, data: bytes) -> bool:
        """Count and keep bytes to be written; returns whether there is a connection to write them now."""
        self._position += len(data)
        if self._unheard is not None:
            self._unheard += data
            if len(self._unheard) > _UNREPORTED:
                self._unheard = self._reconnect = None
        return not self.is_connecting

    def not_counted(self, size: int) -> None:
        """Exclude ``size`` written bytes, which the first stage reads, from the count."""
        self._position -= size

    async def settled(self) -> None:
        """Wait until there is a connection."""
        await self._settled.wait()

    # --- reading

    def frame(self) -> None:
        """Count a received message."""
        self.count += bool(self.state)

    def told(self, fields: Mapping[str, str]) -> None:
        """Process an R frame. Raises ValueError if it is invalid, UnknownRunError if the target lacks the run."""
        state, got = fields.get("state", ""), _number(fields.get("got", "0"))
        if self._reconnect is None or self._unheard is None:
            raise ValueError("a report of a run that was not requested")
        if state not in ("running", "ended", "gone", "unknown", "refused"):
            raise ValueError("a report with an unknown state of the run")
        if not self.is_connecting and (state != "running" or "at" in fields) and self.state in ("", "running"):
            raise ValueError(f"an unexpected report that the run is {state}")
        if self._attached and state == "running" and self.is_connecting:
            self._base = self._position = got
        if state == "running":
            if not self._base <= got <= self._position:
                raise ValueError("a report with more received bytes than were sent, or fewer than before")
            del self._unheard[: got - self._base]
            self._base = got
        if "at" in fields:
            at = _number(fields["at"])
            if at < self.count:
                raise ValueError("frames that were received before")
            self.count = at
        if state in ("unknown", "refused"):
            raise self._unknown_run(state, fields.get("message", ""))
        self.state = state
        if self.is_connecting:
            self._resumed()

    def _unknown_run(self, state: str, why: str) -> UnknownRunError:
        said = f": {printable(why)}" if state == "refused" and why else ""
        return UnknownRunError(
            "connection_lost",
            f"{self._id}: the connection was lost, and the target has no data of the run{said}",
            "the running state may or may not have been applied: look at the target, and run again",
        )

    def _resumed(self) -> None:
        self._forget_attempt()
        self._until, self._pause = None, PAUSE
        took = time.monotonic() - self._lost_at
        log.debug("%s: the run goes on after %.1f s, at frame %d", self._id, took, self.count)
        self._settled.set()
        if not self._attached:
            self._ours.say({"k": "resumed", "seconds": took, "state": self.state})
        if self.state == "running" and self._unheard:
            self._ours.channel().write(bytes(self._unheard))

    # --- connecting again

    async def _another(self, connection: Connection) -> Channel:
        """Start the runtime on another connection, to continue the run after the last received message."""
        channel = Channel(self._target, connection.user, self._runtime, self._ours.warn, self._ours.fail)
        channel.intake = self._ours.channel().intake  # a broken connection does not renew the budgets
        await channel.start(connection, self._start.resuming(self.count))
        self._ours.use(channel)
        self._greeting = asyncio.get_running_loop().create_task(_greet(channel))
        return channel

    async def again(self, cause: TargetError) -> Channel | None:
        """A new channel to the run; None if the attempts have failed (``trouble`` has the error)."""
        if self._reconnect is None or not self._reconnect.seconds or not self.state or self._leaving:
            return None
        now = time.monotonic()
        if self._until is None:
            self._until, self._lost_at, self._cause = now + self._reconnect.seconds, now, cause
            self._settled.clear()
            self._ours.say({"k": "lost", "why": cause.message, "seconds": self._reconnect.seconds})
        self._forget_attempt()
        while (
            cause.kind in PASSING
            and not isinstance(cause, UnknownRunError)
            and (left := self._until - time.monotonic()) > 0
        ):
            await asyncio.sleep(min(self._pause, left))
            self._pause = min(self._pause * 2, LONGEST_PAUSE)
            try:
                channel = await self._another(await self._reconnect.connect())
            except TargetError as exc:
                log.debug("%s: connecting again: %s", self._id, exc.message)
                cause = exc
                continue
            loop = asyncio.get_running_loop()
            self._attempt_ends = loop.call_later(ATTEMPT, channel.stream.abort)
            return channel
        self._last = cause
        return None

    def _forget_attempt(self) -> None:
        if self._attempt_ends is not None:
            self._attempt_ends.cancel()
            self._attempt_ends = None

    def trouble(self, exc: TargetError) -> TargetError:
        """The error of a run whose connection did not come back; ``exc`` is that of the last attempt."""
        self._forget_attempt()
        exc = self._last or exc
        if self._until is None or self._cause is None or isinstance(exc, UnknownRunError):
            return exc
        assert self._reconnect is not None
        why = "" if exc.message == self._cause.message else f"; then: {exc.message.removeprefix(f'{self._id}: ')}"
        return TargetError(
            "connection_lost",
            f"{self._cause.message}, and could not be restored within {self._reconnect.seconds:g} s{why}",
            "the run may continue there: `pushsalt jobs resume` collects its return",
        )


async def _greet(channel: Channel) -> None:
    with contextlib.suppress(TargetError):
        channel.write(await channel.greeted())


def _number(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 20):
        raise ValueError("an invalid number")
    return int(text)
