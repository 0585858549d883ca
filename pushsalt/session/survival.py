"""The controller's side of a run that outlives its connection (``thin/surviving.py`` has the other).

``Survival`` belongs to one session. While a run is under way it keeps the bytes that were written and may not have
arrived, and counts the frames that came. When the connection breaks, it connects again with growing pauses, asks for
the frame where it stopped, writes what the target lacks, and the session goes on as if nothing had happened.
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
from thin import wire

if TYPE_CHECKING:
    from pushsalt.bundle.runtime import Runtime
    from pushsalt.model import Target
    from pushsalt.session.start import Start
    from pushsalt.transport import Connection

log = logging.getLogger(__name__)

#: Seconds that one attempt may take from the connection to the target's word of how far the run is.
ATTEMPT: Final = 30.0
#: Seconds between attempts: the first, and the longest.
PAUSE, LONGEST_PAUSE = 0.25, 8.0
#: Kinds of errors that the next attempt may not meet: the server or the machine is being restarted, or out of reach.
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
        "auth_failed",  # pam_nologin, while a machine goes down or comes up
    }
)
#: Seconds between looks whether the target has all, when a run is left to itself.
HEARING: Final = 0.02
STOP: Final[bytes] = wire.frame(b"X", b"")
LEAVE: Final[bytes] = wire.frame(b"L", b"")
#: Bytes that may be on their way without a report of the target.
_UNREPORTED: Final = 64 * 1024 * 1024


@dataclass(frozen=True)
class Reconnect:
    """How a session whose run may outlive its connection gets another one.

    ``seconds``: for how long it is tried, 0 for not at all. ``connect`` returns a new connection, raises TargetError.
    """

    seconds: float
    connect: Callable[[], Awaitable[Connection]]


@dataclass(frozen=True)
class Ours:
    """What ``Survival`` uses of its session: its channel, a way to give it another, and those to say things."""

    channel: Callable[[], Channel]
    use: Callable[[Channel], None]
    warn: Callable[[str], None]
    fail: Callable[[TargetError], None]
    say: Callable[[dict[str, Any]], None]


class NotThereError(TargetError):
    """Nothing is known on the target of the run that was asked for."""


class Survival:
    """The survival of one session's run.

    ``state`` is what the target said last: "" before the run, then running, ended or gone (it was killed there).
    ``count``: how many messages of the run have come.
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
        self._until: float | None = None  # when attempts end; None: the connection holds
        self._lost_at = 0.0
        self._pause = PAUSE
        self._attempt_ends: asyncio.TimerHandle | None = None
        self._attached = False
        self._leaving = False
        self._cause: TargetError | None = None  # how the connection was lost
        self._last: TargetError | None = None  # why it did not come back

    # --- what is written

    @property
    def is_connecting(self) -> bool:
        return self._until is not None

    @property
    def is_running(self) -> bool:
        """Whether the target would go on with the run if the connection broke now."""
        return self.state == "running"

    def keep(self) -> None:
        """From now on keep what is written, until the target says that it has come: the run begins."""
        if self._reconnect is not None and self._unheard is None:
            self._base, self._unheard = self._position, bytearray()

    async def leave(
        self, run: asyncio.Future[Any], write: Callable[[bytes], None], is_asked: Callable[[], bool]
    ) -> bool:
        """Leave the run to itself, once all that was written has come there and every question is answered.

        Returns False when it has ended before, or cannot go on without the channel. ``run`` is the wait for its end,
        ``is_asked`` says whether an answer is under way.
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
        """From now on the connection is not made again."""
        self._leaving = True

    def attach(self) -> None:
        """The run was begun by another process: the session has just connected to it."""
        self._attached = True
        self._unheard = bytearray()
        self._until = self._lost_at = time.monotonic()
        self._settled.clear()

    def written(self, data: bytes) -> bool:
        """Note bytes that are to be written; whether they can be written now."""
        self._position += len(data)
        if self._unheard is not None:
            self._unheard += data
            if len(self._unheard) > _UNREPORTED:
                self._unheard = self._reconnect = None
        return not self.is_connecting

    def not_counted(self, size: int) -> None:
        """So many of the bytes that were written are read by the first stage."""
        self._position -= size

    async def settled(self) -> None:
        """Wait until there is a connection."""
        await self._settled.wait()

    # --- what the target says

    def frame(self) -> None:
        """A message has come."""
        self.count += bool(self.state)

    def told(self, fields: Mapping[str, str]) -> None:
        """Take what an R frame says. Raises ValueError for what cannot be, TargetError when the run is not there."""
        state, got = fields.get("state", ""), _number(fields.get("got", "0"))
        if self._reconnect is None or self._unheard is None:
            raise ValueError("word of a run that was not asked for")
        if state not in ("running", "ended", "gone", "unknown", "refused"):
            raise ValueError("a state of a run that does not exist")
        if not self.is_connecting and (state != "running" or "at" in fields) and self.state in ("", "running"):
            raise ValueError(f"a run that is {state} without having been asked for")
        if self._attached and state == "running" and self.is_connecting:
            self._base = self._position = got
        if state == "running":
            if not self._base <= got <= self._position:
                raise ValueError("more bytes came than were sent, or fewer than before")
            del self._unheard[: got - self._base]
            self._base = got
        if "at" in fields:
            at = _number(fields["at"])
            if at < self.count:
                raise ValueError("frames that came before")
            self.count = at
        if state in ("unknown", "refused"):
            raise self._not_there(state, fields.get("message", ""))
        self.state = state
        if self.is_connecting:
            self._resumed()

    def _not_there(self, state: str, why: str) -> NotThereError:
        said = f": {printable(why)}" if state == "refused" and why else ""
        return NotThereError(
            "connection_lost",
            f"{self._id}: the connection was lost, and nothing is left of the run there{said}",
            "what was under way may have been done or not: look at the target, and run again",
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
        """Start the runtime on another connection, to go on with the run at the next frame."""
        channel = Channel(self._target, connection.user, self._runtime, self._ours.warn, self._ours.fail)
        channel.intake = self._ours.channel().intake  # the budgets of a session do not grow by breaking it
        await channel.start(connection, self._start.resuming(self.count))
        self._ours.use(channel)
        self._greeting = asyncio.get_running_loop().create_task(_greet(channel))
        return channel

    async def again(self, cause: TargetError) -> Channel | None:
        """Another channel to the run; None when there is none (``trouble`` says why)."""
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
            and not isinstance(cause, NotThereError)
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
        if self._until is None or self._cause is None or isinstance(exc, NotThereError):
            return exc
        assert self._reconnect is not None
        why = "" if exc.message == self._cause.message else f"; then: {exc.message.removeprefix(f'{self._id}: ')}"
        return TargetError(
            "connection_lost",
            f"{self._cause.message}, and could not be made again within {self._reconnect.seconds:g} s{why}",
            "the run may go on there: `pushsalt jobs resume` collects its return",
        )


async def _greet(channel: Channel) -> None:
    with contextlib.suppress(TargetError):
        channel.write(await channel.greeted())


def _number(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 20):
        raise ValueError("a number that is none")
    return int(text)
