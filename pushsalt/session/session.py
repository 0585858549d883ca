"""One session with one target: exchanges messages until it ends, over a new channel or that of an earlier session.

The shapes of messages are in thin/wire.py.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pushsalt.bundle.runtime import Runtime
from pushsalt.errors import TargetError
from pushsalt.model import Blob, Target
from pushsalt.session import handshake, questions, troubles
from pushsalt.session.channel import Channel, Channels, Message, Traffic, framed
from pushsalt.session.pending import Pending
from pushsalt.session.questions import Questions, Serve
from pushsalt.session.start import Start
from pushsalt.session.survival import STOP, Ours, Reconnect, Survival, done_note
from pushsalt.transport import Connection

log = logging.getLogger(__name__)

OnEvent = Callable[[Message], None]

#: Seconds from the start of the command to ``ready``, without the wait for the lock; seconds for an orderly end; and
#: seconds after its deadline at which a job is given up.
BOOTSTRAP_TIMEOUT = 60.0
CLOSE_TIMEOUT = 5.0
DEADLINE_MARGIN = 15.0
EVENTS = frozenset({"start", "state", "log", "event"})
#: Characters of the warnings in one frame, and of the text of an exception.
_TEXT = 64 * 1024


class Session:
    """Begin with ``open``; then use ``call``, ``grains`` and ``run``; always end with ``close``.

    ``info`` describes the target: python, exe, uid, pid (of the supervisor), dir (its private directory, "" for none),
    warm, and the fields of ``ready`` (user, grains …). ``warnings``: texts to show. ``first``: a future for each
    message of ``first``. ``round_trips``: how many times data had to be written after data was read, from the start
    to before ``bye``.
    """

    _channel: Channel
    _survival: Survival

    def __init__(self, target: Target, serve: Serve, on_event: OnEvent, warnings: list[str] | None = None) -> None:
        self.target = target
        self.info: dict[str, Any] = {}
        self.warnings = [] if warnings is None else warnings
        self.removed: list[str] = []
        self.first: list[asyncio.Future[Any]] = []
        self.after: list[asyncio.Future[Any]] = []
        self.traffic = Traffic()
        self._on_event = on_event
        self._questions = Questions(target.id, serve, self._write, self._drain)
        self._pending = Pending()
        self._trouble: TargetError | None = None
        self._work_sent = False
        self._bye_sent = False
        self._channels: Channels | None = None
        self._deep = False
        self._over = False  # ended by ``bye``: another session may use the channel
        self._wrote_after_bye = False
        self._left = False  # the channel was given away before the session's end
        self._leaving = False
        self._note = b""

    @property
    def round_trips(self) -> int:
        return self.traffic.round_trips

    @property
    def bytes_sent(self) -> int:
        return self.traffic.bytes_sent

    @classmethod
    async def open(
        cls,
        target: Target,
        connection: Connection,
        runtime: Runtime,
        *,
        start: Start | None = None,
        first: Sequence[Message] = (),
        serve: Serve = questions.answer_with_error,
        on_event: OnEvent = lambda event: None,
        warnings: list[str] | None = None,
        channels: Channels | None = None,
        reconnect: Reconnect | None = None,
    ) -> Session:
        """Start the runtime on the target and wait until it is ready.

        ``first`` are messages (call, grains, bye) that are sent with the start, without a round trip of their own.
        ``warnings`` is the list to which warnings are added; the caller can read it even when this raises.
        ``channels``: if given, the channel is taken from it, and kept in it after the session.
        ``reconnect``: the way to another connection, for a run that may outlive this one (``start.job``).
        Raises TargetError.
        """
        session = cls(target, serve, on_event, warnings)
        session._channels = channels
        start = start or Start()
        session._deep = bool(start.opts.get("grains_deep_merge"))
        ours = Ours(lambda: session._channel, session._use, session._warn, session._fail, on_event)
        session._survival = Survival(target, runtime, start, reconnect, ours)
        try:
            await session._open(connection, runtime, start, first)
        except BaseException:
            await session._let_go()
            raise
        return session

    def _use(self, channel: Channel) -> None:
        """Use this channel from now on; no other session follows on it."""
        self._channel, self._channels = channel, None

    # --- for callers

    async def call(self, fun: str, args: Sequence[Any] = (), kwargs: Message | None = None, room: int = 0) -> Any:
        """Call an execution function; ``room``: bytes over the session's limit. Raises FunctionError, TargetError."""
        self._channel.intake.wanted(room)
        message = {"k": "call", "fun": fun, "args": list(args), "kwargs": dict(kwargs or {}), "cli": False}
        return await self._ask(message)

    async def kept_call(self, message: Message) -> Any:
        """The value of a message ``call``; the target stores it like the returns of a run."""
        self._survival.keep()
        return await self._ask({**message, "keep": True})

    async def grains(self, refresh: bool = False) -> dict[str, Any]:
        """The target's grains."""
        return self.take_grains(await self._ask({"k": "grains", "refresh": refresh}))

    def take_grains(self, claimed: Any) -> dict[str, Any]:
        """The target's grains, made from those that it sent. Raises TargetError."""
        try:
            return self._channel.intake.grains(claimed, self._deep)
        except ValueError as exc:
            raise troubles.nonsense(self.target.id, exc) from None

    async def discover(self, declared: Mapping[str, Any]) -> dict[str, Any]:
        """Ask the target which resources of these types it manages: ``found`` and ``failed`` (thin/wire.py)."""
        found = await self._ask({"k": "resources", "declared": dict(declared)})
        return found if isinstance(found, dict) else {}

    async def run(self, message: Mapping[str, Any], blobs: Callable[[str], Blob], then: Sequence[Message] = ()) -> Any:
        """Run a plan: ``message`` has the fields of ``run`` (thin/wire.py), ``blobs`` returns the blob of a digest.

        ``start`` and ``state`` messages are passed to on_event when they arrive; returns the final ``ret``. ``then``
        are calls that are sent along and run after the plan; ``after`` has a future for each of them.
        """
        self._questions.blobs = blobs
        self._survival.keep()
        calls = []
        for call in then:
            number, future = self._expect()
            self.after.append(future)
            calls.append({**call, "n": number})
        return await self._ask({"k": "run", **message, **({"then": calls} if calls else {})})

    async def leave(self, run: asyncio.Future[Any]) -> bool:
        """Detach from a run, so that ``close`` does not stop it. Returns False if it has ended, or cannot continue."""
        self._leaving = await self._survival.leave(run, self._write, lambda: bool(self._questions))
        return self._leaving

    @property
    def is_kept(self) -> bool:
        """Whether the run would continue on the target if the connection broke now."""
        return self._survival.is_running

    @property
    def survives(self) -> bool:
        """Whether the target stores the returns of a run until ``close``."""
        return bool(self._survival.state)

    def stored(self, once: str, good: bool) -> None:
        """Tell the target at ``close`` that the return is stored, so that no other process runs this hand-out."""
        self._note = done_note(once, good)

    def stop(self) -> None:
        """End a run after its running state; the other states are returned as not run."""
        if self._pending and not self._bye_sent:
            self._write(framed({"k": "stop"}))

    async def copy(self, what: str, blobs: Callable[[str], Blob] | None = None, wanted: int = 0, **fields: Any) -> Any:
        """Call a method of thin.utils.files.transfer; returns its value. ``blobs`` returns the blob of a digest;
        ``wanted``: bytes of files that are requested. Raises FunctionError and TargetError."""
        if blobs is not None:
            self._questions.blobs = blobs
        self._channel.intake.wanted(wanted)
        return await self._ask({"k": "copy", "what": what, **fields})

    async def close(self) -> None:
        """End the session: by ``bye`` if no work is running, else by stopping the work. Takes a limited time."""
        if self._trouble is None and not self._pending and not self._reader.done() and self._survival.state != "ended":
            self._left = self._leaves()
            if not self._left:
                if not self._bye_sent:
                    self._bye_sent = True
                    self._channel.stream.write(self._note + framed({"k": "bye"}))
                await asyncio.wait({self._reader}, timeout=CLOSE_TIMEOUT)
        await self._let_go()

    def _leaves(self) -> bool:
        """Let the keeper of the channel say ``bye`` and wait for the session's end; returns whether it does. At the log
        level debug this process waits, since the end may contain output."""
        if self._channels is None or self._bye_sent or self._questions or log.isEnabledFor(logging.DEBUG):
            return False
        return self._channel.is_empty and self._channels.leave(
            self._channel, self._note + framed({"k": "bye"}), self._note + STOP if self._survival.state else b""
        )

    # --- opening

    async def _open(self, connection: Connection, runtime: Runtime, start: Start, first: Sequence[Message]) -> None:
        loop = asyncio.get_running_loop()
        self._ready: asyncio.Future[None] = loop.create_future()
        resource = dict(start.resource) if start.resource is not None else None
        channel, beginning = await self._start_channel(connection, runtime, start.parameters(), resource)
        self._reader = loop.create_task(self._read(), name=f"session {self.target.id}")
        patience = BOOTSTRAP_TIMEOUT + (start.lock.wait if start.lock else 0)
        self._bound_by = [loop.call_later(patience, self._too_slow)]
        if start.deadline is not None:
            self._bound_by.append(loop.call_later(start.deadline + DEADLINE_MARGIN, self._overdue, start.deadline))
        if beginning is None:
            beginning = await channel.greeted()
        if start.clean:
            self._write(beginning)
            await self._ready
            return
        init = start.init(self.target.id, resource)
        custom = self._questions.custom = start.custom
        # A target without a runtime has no users' modules either: they are sent without waiting for a question.
        unasked = custom is not None and channel.sent_runtime
        if custom is not None:
            init["custom"] = {"sha": custom.digest, "size": custom.size, "coming": unasked}
        self._write(beginning + b"".join([framed(init), *(self._prepared(message) for message in first)]))
        self._survival.not_counted(len(beginning))
        if custom is not None and unasked:
            self._questions.send_custom(custom)
        await self._ready
        self._bound_by.pop(0).cancel()
        python = [self.info.get(key) for key in ("python", "exe", "uid")]
        where = (self.info.get("dir") or "memory") + ("" if self.info.get("warm") else ", started now")
        log.debug("%s: Python %s (%s) as uid %s, the runtime in %s", self.target.id, *python, where)

    async def _start_channel(
        self, connection: Connection, runtime: Runtime, parameters: dict[str, object], resource: dict[str, Any] | None
    ) -> tuple[Channel, bytes | None]:
        """A channel to the runtime, and the bytes to write first if it served a session before.

        The declaration of a resource is removed from ``resource`` if it is sent separately, once per channel.
        """
        channel = await self._channels.take() if self._channels is not None else None
        beginning = None
        if channel is not None:
            kept = {}
            if resource is not None:  # the declaration can be long, and is equal for all resources of a type
                resource["kept"] = resource["type"]
                kept = {resource["type"]: resource.pop("declared", None)}
            self._channel, beginning = channel, channel.again(parameters, kept)
            self.info.update(channel.info)
        else:
            self._channel = channel = Channel(self.target, connection.user, runtime, self._warn, self._fail)
            await channel.start(connection, {**parameters, **(self._channels.several if self._channels else {})})
        self.traffic = channel.traffic
        self._questions.use(runtime)
        return channel, beginning

    def _prepared(self, message: Message) -> bytes:
        if message.get("k") == "bye":
            self._bye_sent = True
            return framed(message)
        self._work_sent = True
        number, future = self._expect()
        self.first.append(future)
        return framed({**message, "n": number})

    def _too_slow(self) -> None:
        self._fail(troubles.too_slow(self.target.id, BOOTSTRAP_TIMEOUT, self._channel.last_words()))
        self._channel.stream.close()

    def _overdue(self, deadline: float) -> None:
        self._fail(troubles.overdue(self.target.id, deadline, DEADLINE_MARGIN))
        self._channel.stream.close()

    # --- writing

    def _write(self, data: bytes) -> None:
        if self._trouble is None:
            self._wrote_after_bye = self._bye_sent
            if self._survival.written(data):
                self._channel.write(data)

    async def _drain(self) -> None:
        await self._survival.settled()
        await self._channel.stream.drain()

    def _expect(self) -> tuple[int, asyncio.Future[Any]]:
        trouble = self._trouble
        if trouble is None and self._reader.done():
            trouble = TargetError("connection_lost", f"{self.target.id}: the channel was closed", "look at the target")
        return self._pending.add(trouble)

    async def _ask(self, message: Message) -> Any:
        if self._trouble is not None:
            raise self._trouble
        if self._bye_sent or self._reader.done():
            raise RuntimeError("the session is closed")
        number, future = self._expect()
        try:
            self._work_sent = True
            self._write(framed({**message, "n": number}))
            await self._drain()
            return await future
        except TargetError:
            self._pending.forget(number)
            raise

    # --- reading

    async def _read(self) -> None:
        """Read until the session ends; if the connection breaks during a run, continue over another channel."""
        while True:
            try:
                if await self._read_channel():
                    return
                trouble = await self._ending()
            except TargetError as exc:
                trouble = exc
            except ValueError as exc:
                self._fail(troubles.nonsense(self.target.id, exc))
                self._channel.stream.close()
                return
            except Exception as exc:
                log.debug("%s: unexpected error in the session", self.target.id, exc_info=exc)
                self._fail(troubles.internal(self.target.id, exc))
                self._channel.stream.close()
                return
            if trouble is None or self._trouble is not None:
                return
            self._channel.stream.abort()
            channel = await self._survival.again(trouble) if self._pending else None
            if channel is None:
                self._fail(troubles.lost(self._survival.trouble(trouble), self._work_sent))
                return

    async def _read_channel(self) -> bool:
        """Read until the channel or the session ends; returns whether only the session has ended."""
        while (frames := await self._channel.receive()) is not None:
            for kind, payload in frames:
                if kind == b"D":
                    self._done()
                    return True
                try:
                    self._take(kind, payload)
                except (TypeError, KeyError, AttributeError) as exc:
                    log.debug("%s: a frame of kind %r", self.target.id, kind, exc_info=exc)
                    raise ValueError(f"an invalid frame ({type(exc).__name__})") from None
        return False

    def _done(self) -> None:
        """Handle the end of the session on an open channel. Raises ValueError unless ``bye`` was sent."""
        if not self._bye_sent or self._pending or self._channels is None:
            raise ValueError("the session was ended by the other side")
        self._over = self._trouble is None

    async def _ending(self) -> TargetError | None:
        """The error of a stream that the target has closed; None after ``bye``, when that is expected."""
        if self._trouble is not None:
            return None
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._channel.stream.wait_closed(), 2)
        return troubles.ended(self.target, self._channel, bool(self._pending) or not self._ready.done())

    def _take(self, kind: bytes, payload: bytes | bytearray) -> None:
        intake = self._channel.intake
        intake.frame()
        if kind == b"M":
            self._survival.frame()
            message = intake.message(payload)
            if message is not None:
                self._message(message)
        elif kind == b"R":
            self._survival.told(handshake.fields_of(payload))
        elif kind == b"H":
            self._channel.greet(handshake.fields_of(payload))
            self.info.update(self._channel.info)
        elif kind == b"G":
            self._channel.go()
        elif kind == b"E":
            trouble = handshake.from_frame(self.target, handshake.fields_of(payload))
            if self._survival.is_connecting:
                raise trouble
            self._fail(trouble)
        elif kind == b"N":
            self._notice(handshake.fields_of(payload))
        elif kind == b"S":
            log.debug("%s: stderr: %s", self.target.id, handshake.printable(payload))

    def _notice(self, fields: dict[str, str]) -> None:
        kind = fields.get("kind")
        if kind == "warning":
            self._warn(fields.get("message", ""))
        elif kind == "waiting":
            self._on_event({"k": "waiting", "holder": handshake.printable(fields.get("message", ""))})
        elif kind == "kept":
            self._on_event({"k": "kept", "jids": fields.get("jid", "").split("\n")[:100]})
        elif kind == "cleaned":
            self.removed = [line for line in fields.get("removed", "").split("\n") if line]
            self._channel.remember(None)
            _resolve(self._ready)

    def _warn(self, text: str) -> None:
        lines = [line for line in text[:_TEXT].split("\n") if line]
        self.warnings += map(handshake.printable, self._channel.intake.warnings(lines))

    def _message(self, message: Message) -> None:
        kind, number = message.get("k"), message.get("re")
        if kind == "ready":
            self.info.update({key: value for key, value in message.items() if key not in ("k", "pid", "warnings")})
            if message.get("grains") is not None:
                self.info["grains"] = self._channel.intake.grains(message["grains"], self._deep)
            self._warn("\n".join(str(text) for text in (message.get("warnings") or ())[:100]))
            _resolve(self._ready)
        elif kind == "error":
            fields = {key: str(message.get(key, "")) for key in ("kind", "message")}
            self._fail(handshake.from_frame(self.target, fields))
        elif kind in ("ret", "exc"):
            if kind == "ret" and number in self._pending:
                code = message.get("retcode", 0)
                self.info["retcode"] = code if isinstance(code, int) else int(bool(code))
                self.info["salt"] = message.get("salt")
            self._pending.answered(number, self.target.id, message)
        elif kind in questions.KINDS:
            self._questions.asked(message)
        elif kind == "need":
            self._questions.needed(message)
        elif kind in EVENTS:
            self._on_event(message)
        elif kind == "stderr":
            log.debug("%s: stderr: %s", self.target.id, handshake.printable(str(message.get("text", ""))))

    # --- ending

    def _fail(self, trouble: TargetError) -> None:
        """Set this error on all pending futures. Later errors are ignored."""
        if self._trouble is None:
            self._trouble = trouble
            self._channel.give_up(trouble)
            if not self._ready.done():
                self._ready.set_exception(trouble)
                self._ready.exception()
            self._pending.fail(trouble)

    @property
    def _is_sound(self) -> bool:
        """Whether the channel can serve a further session: nothing is in transit on it."""
        return self._over and not self._questions and not self._wrote_after_bye and self._channel.is_empty

    async def _let_go(self) -> None:
        """Keep the channel for the next session, or close it and wait a bounded time for the target to end."""
        if not hasattr(self, "_reader"):
            return
        self._survival.ends()
        for handle in self._bound_by:
            handle.cancel()
        left_out = self._channel.intake.left_out
        if left_out:
            log.warning("%s: %d of its log lines are left out: they came too fast", self.target.id, left_out)
        stream = self._channel.end()
        if self._left:
            self._reader.cancel()
            await asyncio.gather(self._reader, return_exceptions=True)
            return
        if self._is_sound and self._channels is not None:
            self._channels.keep(self._channel)
            return
        if self._survival.state and not self._leaving:
            stream.write(self._note + STOP)  # else the run would continue without a channel
        stream.close()
        try:
            await asyncio.wait_for(stream.wait_closed(), CLOSE_TIMEOUT)
        except asyncio.TimeoutError:
            log.debug("%s: the session did not end in %g s", self.target.id, CLOSE_TIMEOUT)
        finally:
            stream.abort()
            self._reader.cancel()
            await asyncio.gather(self._reader, return_exceptions=True)
            await self._questions.stop()


def _resolve(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
