"""One session with one target: the first stage, then messages both ways until it ends. Shapes: see thin/wire.py."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pushsalt.bundle.runtime import Met, Runtime
from pushsalt.errors import FunctionError, PushsaltError, TargetError
from pushsalt.model import Blob, Target
from pushsalt.run import handshake
from pushsalt.run.blobs import Sender
from pushsalt.transport import Connection, Stream
from thin import wire

log = logging.getLogger(__name__)

Message = dict[str, Any]
#: Answers a question of the target: the fields of the answer. What is in ``blobs`` is sent after it: a Blob, and what
#: the target says to have of it.
Serve = Callable[[Message], Awaitable[Message]]
OnEvent = Callable[[Message], None]

#: Seconds from the command to ``ready``, without the wait for the lock; for the orderly end; and how much longer than
#: its deadline a job may take before the target counts as gone.
BOOTSTRAP_TIMEOUT = 60.0
CLOSE_TIMEOUT = 5.0
DEADLINE_MARGIN = 15.0
#: Questions that may wait for their answer at once; a sound worker asks few at a time.
QUESTION_LIMIT = 64
QUESTIONS = frozenset({"file", "files", "salt", "tree", "template", "pillar", "ask"})
EVENTS = frozenset({"start", "state", "log", "event"})
#: Exit status of a supervisor whose worker died inside a frame; see thin/relay.py.
_CUT = 77


@dataclass(frozen=True)
class LockRequest:
    """``words`` tell the next one who holds the target; ``wait`` is how many seconds to wait for it ourselves.

    ``name`` is the lock's, when it is not that of the whole target.
    """

    words: str
    wait: float = 0.0
    name: str = ""


@dataclass(frozen=True)
class Start:
    """What a session starts with. ``deadline`` (seconds) bounds all of it by the target's own clock.

    ``clean`` removes what pushsalt left on the target instead of starting a worker; see ``clean`` below.
    ``custom`` are the users' own modules, if there are any; see thin/custom.py. ``salt``: that Salt's own modules may
    be asked for; see thin/saltown.py. ``resource``: which resource it is about; see thin/resourcetypes.py.
    """

    opts: Mapping[str, Any] = field(default_factory=dict)
    grains: Mapping[str, Any] = field(default_factory=dict)
    want_grains: bool = False
    lock: LockRequest | None = None
    deadline: float | None = None
    log_level: str = "warning"
    clean: bool = False
    custom: Blob | None = None
    salt: Mapping[str, Any] | None = None
    resource: Mapping[str, Any] | None = None

    def parameters(self) -> dict[str, object]:
        """What the supervisor gets of it; see thin/__main__.py."""
        lock = self.lock
        parameters: dict[str, object] = {
            "lock": lock.words if lock else None, "wait": lock.wait if lock else 0, "deadline": self.deadline,
            "clean": self.clean,
        }  # fmt: skip
        if lock is not None and lock.name:
            parameters["lock_name"] = lock.name
        return parameters


async def _serve_nothing(question: Message) -> Message:
    return {"error": f"nothing here answers {question.get('k')!r}", "exception": "SaltException"}


def _no_event(event: Message) -> None:
    """Events go nowhere by default."""


class Session:
    """Open it with ``open``; then ``call``, ``grains`` and ``run``; ``close`` in any case.

    ``info``: what is known of the target's side: python, exe, uid, pid (of the supervisor), dir (its private directory,
    "" for none), warm, and what ``ready`` said (user, grains …). ``warnings``: texts for people. ``first``: a future
    for each message of ``first``. ``round_trips``: how often something had to be written after something was read,
    the start included and the good-bye left out.
    """

    def __init__(
        self, target: Target, serve: Serve, on_event: OnEvent, warnings: list[str] | None = None
    ) -> None:
        self.target = target
        self.info: dict[str, Any] = {}
        self.warnings = [] if warnings is None else warnings
        self.removed: list[str] = []
        self.first: list[asyncio.Future[Any]] = []
        self.after: list[asyncio.Future[Any]] = []
        self.round_trips = 0
        self.bytes_sent = 0
        self.bytes_received = 0
        self._serve, self._on_event = serve, on_event
        self._number = 0
        self._pending: dict[int, asyncio.Future[Any]] = {}
        self._questions: set[asyncio.Task[None]] = set()
        self._blobs: Callable[[str], Blob] | None = None
        self._custom: Blob | None = None
        self._sent_runtime = False
        self._trouble: TargetError | None = None
        self._has_read = True
        self._work_sent = False
        self._bye_sent = False

    @classmethod
    async def open(
        cls, target: Target, connection: Connection, runtime: Runtime, *, start: Start | None = None,
        first: Sequence[Message] = (), serve: Serve = _serve_nothing, on_event: OnEvent = _no_event,
        warnings: list[str] | None = None,
    ) -> Session:  # fmt: skip
        """Start the runtime on the target and wait until it is ready.

        ``first`` are messages (call, grains, bye) that go out with the start, without a turn-around of their own.
        ``warnings`` is where the session's are put: a list of the caller's has them even when this raises.
        Raises TargetError.
        """
        session = cls(target, serve, on_event, warnings)
        try:
            await session._open(connection, runtime, start or Start(), first)
        except BaseException:
            await session._let_go()
            raise
        return session

    # --- for callers

    async def call(
        self, fun: str, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None, cli: bool = False
    ) -> Any:
        """The value of an execution function. Raises FunctionError, or TargetError when there is no answer."""
        return await self._ask({"k": "call", "fun": fun, "args": list(args), "kwargs": dict(kwargs or {}), "cli": cli})

    async def grains(self, refresh: bool = False) -> dict[str, Any]:
        """The target's grains."""
        grains: dict[str, Any] = await self._ask({"k": "grains", "refresh": refresh})
        return grains

    async def discover(self, declared: Mapping[str, Any]) -> dict[str, Any]:
        """What the target manages of these types, as it says it: ``found`` and ``failed`` (thin/wire.py)."""
        found = await self._ask({"k": "resources", "declared": dict(declared)})
        return found if isinstance(found, dict) else {}

    async def run(
        self, message: Mapping[str, Any], blobs: Callable[[str], Blob], then: Sequence[Message] = ()
    ) -> Any:
        """Run a plan: ``message`` has the fields of ``run`` (thin/wire.py), ``blobs`` gives what the target lacks.

        ``start`` and ``state`` messages go to on_event as they come; the value is the final ``ret``. ``then`` are calls
        that travel with it and come after it; ``after`` has a future for each of them.
        """
        self._blobs = blobs
        calls = []
        for call in then:
            number, future = self._expect()
            self.after.append(future)
            calls.append({**call, "n": number})
        return await self._ask({"k": "run", **message, **({"then": calls} if calls else {})})

    async def close(self) -> None:
        """End the session: in order when nothing is under way, else by stopping what runs. Bounded in time."""
        if self._trouble is None and not self._pending and not self._reader.done():
            self._say_bye()
            await asyncio.wait({self._reader}, timeout=CLOSE_TIMEOUT)
        await self._let_go()

    # --- opening

    async def _open(self, connection: Connection, runtime: Runtime, start: Start, first: Sequence[Message]) -> None:
        loop = asyncio.get_running_loop()
        self._runtime = runtime
        self._opening = opening = handshake.Opening(self.target, connection.user)
        self._hello: asyncio.Future[None] = loop.create_future()
        self._ready: asyncio.Future[None] = loop.create_future()
        self._go: asyncio.Future[None] = loop.create_future()
        self._frames = wire.Frames(opening.nonce.encode())
        program = opening.program(runtime, start.parameters())
        words = opening.command(len(program))
        self._stream: Stream = await connection.open(words, pty=self.target.tty, on_stderr=self._heard)
        self._sender = Sender(self._write_frame, self._stream.drain)
        self._reader = loop.create_task(self._read(), name=f"session {self.target.id}")
        patience = BOOTSTRAP_TIMEOUT + (start.lock.wait if start.lock else 0)
        self._bound_by = [loop.call_later(patience, self._too_slow)]
        if start.deadline is not None:
            self._bound_by.append(loop.call_later(start.deadline + DEADLINE_MARGIN, self._overdue, start.deadline))
        if opening.password is not None:
            await self._go
        believed = runtime.met(self.target, opening.user) is not None
        if not believed:
            self._write(program)
            await self._hello
            program = b""
        if start.clean:
            self._write(program)
            await self._ready
            return
        init = {
            "k": "init", "id": self.target.id, "opts": dict(start.opts), "grains": dict(start.grains),
            "want_grains": start.want_grains, "log_level": start.log_level,
        }  # fmt: skip
        if start.salt is not None:
            init["salt"] = dict(start.salt)
        if start.resource is not None:
            init["resource"] = dict(start.resource)
        custom = self._custom = start.custom
        # A target that had no runtime has no modules either: they are sent unasked.
        unasked = custom is not None and self._sent_runtime
        if custom is not None:
            init["custom"] = {"sha": custom.digest, "size": custom.size, "coming": unasked}
        self._write(program + b"".join([_frame(init), *(self._prepared(message) for message in first)]))
        if custom is not None and unasked:
            self._begin(self._sender.send(custom))
        await self._ready
        self._bound_by.pop(0).cancel()

    def _prepared(self, message: Message) -> bytes:
        if message.get("k") == "bye":
            self._bye_sent = True
            return _frame(message)
        self._work_sent = True
        number, future = self._expect()
        self.first.append(future)
        return _frame({**message, "n": number})

    def _heard(self, data: bytes) -> None:
        """Bytes that are no frame: sudo may ask for its password among them."""
        before = self._opening.prompts
        if not self._go.done() and self._opening.heard(data) and self._opening.password is not None:
            if before or self._opening.prompts > 1:
                self._fail(handshake.sudo_trouble(self.target.id, "sudo_password_wrong", self._opening.user))
                self._stream.close()
            else:
                self._write(self._opening.password.encode() + b"\n")

    def _too_slow(self) -> None:
        said = handshake.printable(bytes(self._stream.stderr[-1000:]) or bytes(self._opening.output[-1000:]))
        message = f"{self.target.id}: the runtime did not start within {BOOTSTRAP_TIMEOUT:g} s"
        hint = "look at the start-up files of the login's shell: something there may wait for input"
        self._fail(TargetError("bootstrap_failed", f"{message}: {said}" if said else message, hint))
        self._stream.close()

    def _overdue(self, deadline: float) -> None:
        self._fail(
            TargetError(
                "timeout", f"{self.target.id}: no answer {DEADLINE_MARGIN:g} s after the limit of {deadline:g} s",
                "the target should have stopped the work by itself; look at what still runs there",
            )
        )  # fmt: skip
        self._stream.close()

    # --- writing

    def _write(self, data: bytes) -> None:
        if data and self._trouble is None:
            self.round_trips += self._has_read
            self._has_read = False
            self.bytes_sent += len(data)
            self._stream.write(data)

    def _write_frame(self, kind: bytes, payload: bytes) -> None:
        self._write(wire.frame(kind, payload))

    def _expect(self) -> tuple[int, asyncio.Future[Any]]:
        self._number += 1
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        trouble = self._trouble
        if trouble is None and self._reader.done():
            trouble = TargetError("connection_lost", f"{self.target.id}: the channel was closed", "look at the target")
        if trouble is not None:  # nobody is left who could answer
            future.set_exception(trouble)
            future.exception()
        else:
            self._pending[self._number] = future
        return self._number, future

    async def _ask(self, message: Message) -> Any:
        if self._trouble is not None:
            raise self._trouble
        if self._bye_sent or self._reader.done():
            raise RuntimeError("the session is closed")
        number, future = self._expect()
        try:
            self._work_sent = True
            self._write(_frame({**message, "n": number}))
            await self._stream.drain()
            return await future
        except TargetError:
            self._pending.pop(number, None)
            raise

    def _say_bye(self) -> None:
        if not self._bye_sent:
            self._bye_sent = True
            self._stream.write(_frame({"k": "bye"}))

    # --- reading

    async def _read(self) -> None:
        try:
            while data := await self._stream.read():
                self._has_read = True
                self.bytes_received += len(data)
                if not self._hello.done():
                    self._opening.seen(data)
                    if self.target.tty:
                        self._heard(data)
                self._frames.feed(data)
                for kind, payload in self._frames:
                    try:
                        self._take(kind, payload)
                    except (TypeError, KeyError, AttributeError) as exc:
                        log.debug("%s: a frame of kind %r", self.target.id, kind, exc_info=exc)
                        raise ValueError(f"a frame that makes no sense ({type(exc).__name__})") from None
        except ValueError as exc:
            hint = "a start-up file of the login may write without end, or something changes the bytes on their way"
            self._fail(TargetError("protocol_error", f"{self.target.id}: {exc}", hint))
            self._stream.close()
            return
        except TargetError as exc:
            self._fail(self._lost(exc))
            return
        except Exception as exc:
            log.debug("%s: unexpected error in the session", self.target.id, exc_info=exc)
            message = f"{self.target.id}: {type(exc).__name__}: {exc}"
            self._fail(TargetError("internal", message, "run again with -l debug and report what it prints"))
            self._stream.close()
            return
        await self._ended()

    async def _ended(self) -> None:
        """The target's side has closed: right after bye, else a failure whose reason is looked for."""
        if self._trouble is not None:
            return
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._stream.wait_closed(), 2)
        status = self._stream.exit_status
        if not self._hello.done():
            ending = handshake.Ending(bytes(self._opening.output), bytes(self._stream.stderr), status)
            self._fail(handshake.explain(self._opening, ending))
        elif status == _CUT:
            died = {"kind": "worker_died", "message": "while it sent its answer"}
            self._fail(handshake.from_frame(self.target, died))
        elif self._pending or not self._ready.done():
            how = "the channel was closed" if status is None else f"the runtime ended with status {status}"
            self._fail(self._lost(TargetError("connection_lost", f"{self.target.id}: {how}", "look at the target")))

    def _lost(self, exc: TargetError) -> TargetError:
        """The kind for a broken connection: whether work was under way decides whether it is safe to repeat."""
        if exc.kind != "connection_lost" or self._work_sent:
            return exc
        message = f"{exc.message}, before anything was run"
        return TargetError("bootstrap_failed", message, "nothing was done on the target: it is safe to run again")

    def _take(self, kind: bytes, payload: bytes) -> None:
        if kind == b"M":
            self._message(wire.unpack(payload))
        elif kind == b"H":
            self._greet(handshake.fields_of(payload))
        elif kind == b"G":
            _resolve(self._go)
        elif kind == b"E":
            self._fail(handshake.from_frame(self.target, handshake.fields_of(payload)))
        elif kind == b"N":
            self._notice(handshake.fields_of(payload))
        elif kind == b"S":
            log.debug("%s: stderr: %s", self.target.id, handshake.printable(payload))

    def _greet(self, fields: dict[str, str]) -> None:
        self.info.update({key: fields.get(key, "") for key in ("python", "exe", "uid", "pid", "dir")})
        self.info["warm"] = fields.get("warm") == "1"
        self._warn(fields.get("warnings", ""))
        if fields.get("have") != "1":
            self._write_frame(b"A", self._runtime.archive)
            self._sent_runtime = True
        kept = Met(self._runtime.sha, self.info["python"], self.info["exe"]) if self.info["dir"] else None
        self._runtime.remember(self.target, self._opening.user, kept)
        _resolve(self._hello)

    def _notice(self, fields: dict[str, str]) -> None:
        kind = fields.get("kind")
        if kind == "warning":
            self._warn(fields.get("message", ""))
        elif kind == "waiting":
            self._on_event({"k": "waiting", "holder": handshake.printable(fields.get("message", ""))})
        elif kind == "cleaned":
            self.removed = [line for line in fields.get("removed", "").split("\n") if line]
            self._runtime.remember(self.target, self._opening.user, None)
            _resolve(self._ready)

    def _warn(self, text: str) -> None:
        self.warnings += [handshake.printable(line) for line in text.split("\n") if line]

    def _message(self, message: Message) -> None:
        kind, number = message.get("k"), message.get("re")
        if kind == "ready":
            self.info.update({key: value for key, value in message.items() if key not in ("k", "pid", "warnings")})
            self._warn("\n".join(str(text) for text in message.get("warnings") or ()))
            _resolve(self._ready)
        elif kind == "error":
            fields = {key: str(message.get(key, "")) for key in ("kind", "message")}
            self._fail(handshake.from_frame(self.target, fields))
        elif kind in ("ret", "exc"):
            future = self._pending.pop(number, None) if isinstance(number, int) else None
            if future is not None and not future.done():
                if kind == "ret":
                    self.info["retcode"] = message.get("retcode", 0)
                    self.info["salt"] = message.get("salt")
                    future.set_result(message.get("ret"))
                else:
                    future.set_exception(self._exception(message))
                    future.exception()  # a caller that has gone away does not ask for it
        elif kind in QUESTIONS:
            if len(self._questions) >= QUESTION_LIMIT:
                raise ValueError(f"more than {QUESTION_LIMIT} questions at once")
            self._begin(self._answer(message))
        elif kind == "need":
            digests = message.get("digests") or ()
            parts = message.get("parts") or {}
            self._begin(self._send_needed({digest: parts.get(digest) for digest in digests if isinstance(digest, str)}))
        elif kind in EVENTS:
            self._on_event(message)
        elif kind == "stderr":
            log.debug("%s: stderr: %s", self.target.id, handshake.printable(str(message.get("text", ""))))

    def _exception(self, message: Message) -> FunctionError:
        name = str(message.get("type") or "Exception")
        text = str(message.get("message") or name)
        if message.get("tb"):
            log.debug("%s: %s", self.target.id, message["tb"])
        if message.get("known", True):
            return FunctionError("exception", text, "see the message; -l debug shows where it was raised", name)
        known = message.get("nearest")
        near = [handshake.printable(str(one)) for one in known[:3]] if isinstance(known, list) else []
        there = message.get("hint") or "`pushsalt run TARGET sys.list_functions` lists what there is"
        hint = f"nearest: {', '.join(near)}" if near else handshake.printable(str(there))
        return FunctionError("unknown_function", text, hint, "CommandExecutionError")

    # --- answering

    def _begin(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._questions.add(task)
        task.add_done_callback(self._questions.discard)

    async def _answer(self, question: Message) -> None:
        try:
            answer = dict(await self._serve(question))
        except PushsaltError as exc:
            answer = {"error": str(exc), "exception": getattr(exc, "exception", "SaltException")}
        except Exception as exc:
            log.debug("%s: answering %s", self.target.id, question.get("k"), exc_info=exc)
            answer = {"error": f"{type(exc).__name__}: {exc}", "exception": type(exc).__name__}
        blobs = answer.pop("blobs", ())
        head = {"k": "answer", "re": question.get("n")}
        try:
            frame = _frame({**head, **answer})
        except Exception as exc:  # too much for one message, or nothing that can travel: the target is told
            log.debug("%s: the answer to %s", self.target.id, question.get("k"), exc_info=exc)
            blobs = ()
            frame = _frame({**head, "error": f"the answer cannot be sent: {exc}", "exception": "SaltException"})
        self._write(frame)
        await self._stream.drain()
        for blob, part in blobs:
            await self._sender.send(blob, part)

    async def _send_needed(self, digests: Mapping[str, Any]) -> None:
        for digest, part in digests.items():
            try:
                if self._custom is not None and digest == self._custom.digest:
                    blob: Blob | None = self._custom
                elif digest == self._runtime.more_digest:
                    blob = await asyncio.to_thread(lambda: self._runtime.more)
                else:
                    blob = self._blobs(digest) if self._blobs is not None else None
            except KeyError:
                blob = None
            if blob is None:
                log.debug("%s: asks for %r, which is not in the plan", self.target.id, digest)
            else:
                await self._sender.send(blob, part)

    # --- ending

    def _fail(self, trouble: TargetError) -> None:
        """Everything that waits gets this error; the first one counts."""
        if self._trouble is None:
            self._trouble = trouble
            futures = [self._go, self._hello, self._ready, *self._pending.values()]
            for future in futures:
                if not future.done():
                    future.set_exception(trouble)
                    future.exception()
            self._pending.clear()

    async def _let_go(self) -> None:
        """Close the stream, wait a while for the other side to end, and leave nothing running here."""
        if not hasattr(self, "_reader"):
            return
        for handle in self._bound_by:
            handle.cancel()
        self._stream.close()
        try:
            await asyncio.wait_for(self._stream.wait_closed(), CLOSE_TIMEOUT)
        except asyncio.TimeoutError:
            log.debug("%s: the session did not end in %g s", self.target.id, CLOSE_TIMEOUT)
        finally:
            self._stream.abort()
            tasks = {self._reader, *self._questions}
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


def _frame(message: Message) -> bytes:
    payload = wire.pack(message)
    if len(payload) > wire.FRAME_LIMIT:
        raise TargetError(
            "protocol_error", f"a message of {len(payload)} bytes is over the limit of {wire.FRAME_LIMIT}",
            "split the run: fewer states or less data at a time",
        )  # fmt: skip
    framed: bytes = wire.frame(b"M", payload)
    return framed


def _resolve(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


async def clean(target: Target, connection: Connection, runtime: Runtime, lock: LockRequest) -> list[str]:
    """Remove everything that pushsalt keeps on the target; the paths removed. Raises TargetError."""
    session = await Session.open(target, connection, runtime, start=Start(lock=lock, clean=True))
    await session.close()
    return session.removed
