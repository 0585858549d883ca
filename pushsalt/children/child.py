"""One render process: receives works (requests to render) from the command, and asks the command for data that they
need.

Only one of its works renders at a time (the one that has ``Turn``); while it waits for an answer, another one renders.
So the process can tell which work is slow, or needs memory. Works run in separate threads; the main thread reads the
command's messages and ends works that take too long.

========= ======================================================= ===================================================
down      fields                                                  answer
========= ======================================================= ===================================================
setup     config: opts, given, paths; log_level; memory; keeps    (nothing); sent again for each further job
call      n, h, target, options, grains, remote, discover: bool,  ret: value | plan, pillar, mine_functions
          fun, args, kwargs, plan: bool, time
template  as call, with url, saltenv, engine, context, defaults,  ret: text
          chunk, names
ahead     as call; only memoizes the result, without any effect   ret
foreign   as template, with text in place of url, and pillar: the ret: text
          only work of a process that is made for it
pillar    n, h, as call                                           ret: pillar | error
done      n, h, returns: of a run that ``call`` planned           ret
forget    h                                                       (nothing)
cancel    n: the result of that request is not needed any more    (nothing)
place     n, h, frames, of: the number of a work that hung        ret: place: [path, line] or None
ping      to check that the process answers                       pong
ret, exc  re: an answer
========= ======================================================= ===================================================

``n`` is the number of a request, ``h`` that of its target. Messages to the command are ``ret`` and ``exc``, ``ask`` (n,
req: the request that it belongs to, q: the kind of question, and its fields), ``log``, ``secrets``, and ``at`` (n,
path): the file that is being rendered, for a work with ``again``, which may have killed another process.
"""

from __future__ import annotations

import ctypes
import logging
import os
import select
import socket
import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pushsalt.children import codec, places
from pushsalt.children.project import RenderProject
from pushsalt.children.turn import LONG, Turn, Work
from pushsalt.config import Config
from pushsalt.errors import FunctionError, PushsaltError, StateError
from pushsalt.job import JobOptions
from pushsalt.memo.reads import NotAhead, NotMemoized, ahead, memoized_only, not_ahead, plain, takes_time
from pushsalt.minion.dryrun import refused_calls
from pushsalt.minion.filetemplates import prerender, render_file
from pushsalt.minion.minion import Minion
from pushsalt.model import Chunk, Target, tag_of
from pushsalt.modules.controller import Lowstate
from pushsalt.plan import make_plan
from pushsalt.render import limits
from pushsalt.render.limits import Deadline, OutOfTime
from pushsalt.trust import DATA_ENGINES, Foreign
from thin import slots

if TYPE_CHECKING:
    from collections.abc import Iterator

log = logging.getLogger(__name__)

#: Maximum number of works in a process; the command sends no more.
WIDTH: Final = 64
#: Number of pillars whose values the command still has, so that they are not sent again.
PILLARS: Final = 32
#: Questions that the command answers immediately: they may be asked while a lock is held.
_AT_ONCE: Final = frozenset({"git", "has_ext_pillar", "managed", "mine_store", "requests"})
#: Questions whose answers have no effect: they may be asked by a rendering whose result is only memoized.
_WITHOUT_EFFECT: Final = frozenset({"git", "has_ext_pillar", "managed"})


class _Current(threading.local):
    work: Work | None = None


class _Question:
    def __init__(self, work: Work) -> None:
        self.work = work
        self.answered = threading.Event()
        self.answer: dict[str, Any] | None = None


class Child:
    """The loop of a render process, with its works."""

    def __init__(self, channel: socket.socket) -> None:
        self._channel = channel
        self._writing = threading.Lock()
        #: answers that are sent together when all received messages have been handled
        self._held: list[bytes] = []
        self._buffer = bytearray()
        self._turn = Turn(None)
        self._current = _Current()
        self._questions: dict[int, _Question] = {}
        self._asked = 0
        self._guard = threading.Lock()
        self._works: dict[int, Work] = {}
        self._pool = ThreadPoolExecutor(WIDTH, "render")
        self._ground: RenderProject | None = None
        self._minions: dict[int, Minion] = {}
        self._after: dict[int, Callable[[dict[str, Any]], object]] = {}
        self._pillars: OrderedDict[int, None] = OrderedDict()

    # the channel -----------------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Run until the command closes the connection."""
        while True:
            ready, _, _ = select.select([self._channel], [], [], self._patience())
            if not ready:
                self._end_overdue()
                continue
            data = self._channel.recv(1024 * 1024)
            if not data:
                os._exit(0)
            self._buffer += data
            while (message := self._next()) is not None:
                self._take(message)
            if self._held:
                with self._writing:
                    self._send(b"")
            self._end_overdue()

    def _next(self) -> dict[str, Any] | None:
        if len(self._buffer) < codec.HEAD:
            return None
        end = codec.HEAD + int.from_bytes(self._buffer[: codec.HEAD], "big")
        if len(self._buffer) < end:
            return None
        message = codec.unpack(bytes(self._buffer[codec.HEAD : end]))
        del self._buffer[:end]
        return message

    def tell(self, kind: str, **fields: Any) -> None:
        """Send a message without an answer."""
        data = codec.pack({"k": kind, **fields})
        with self._writing:
            self._send(data)

    def _send(self, data: bytes) -> None:
        """Send bytes, after the collected answers, since ``data`` may depend on these. The caller holds the lock
        ``_writing``.
        """
        if self._held:
            data = b"".join([*self._held, data])
            self._held.clear()
        self._channel.sendall(data)

    def _return(self, work: Work, fields: dict[str, Any], *, at_once: bool = False) -> None:
        """Send the result of a work, or an error if it cannot be sent. ``at_once`` results are sent together.

        The values of a pillar are sent with the first result that has them; the lock keeps results of other threads
        from being sent in between.
        """
        pillar = fields.pop("known_pillar", None)
        with self._writing:
            if pillar is not None:
                fields["pillar"] = self._shared_pillar(*pillar)
            try:
                data = codec.pack({"k": "ret", "re": work.number, **fields})
            except ValueError as exc:
                if pillar is not None:
                    self._pillars.pop(pillar[0], None)
                text = f"the result cannot be sent: {exc}"
                large = FunctionError("exception", text, "look for data that grows without limit", "ValueError")
                data = codec.pack({"k": "exc", "re": work.number, **codec.error_fields(large)})
            if at_once:
                self._held.append(data)
            else:
                self._send(data)

    def ask(self, what: str, **fields: Any) -> Any:
        """Ask the command a question for the target of this thread's work. Raises the error that it answers."""
        takes_time()
        if what not in _WITHOUT_EFFECT:
            not_ahead()
        work = self._current.work
        if work is None:
            raise RuntimeError(f"a question of a thread without a work: {what}")
        question = _Question(work)
        with self._guard:
            self._asked += 1
            number = self._asked
            self._questions[number] = question
        data = codec.pack({"k": "ask", "n": number, "req": work.number, "q": what, **fields})
        try:
            with nullcontext() if what in _AT_ONCE else self._without_turn():
                with self._writing:
                    self._send(data)
                waited = question.answered.wait(None if work.deadline is None else work.deadline.left)
        finally:
            self._questions.pop(number, None)
        if not waited or question.answer is None:
            raise OutOfTime
        answer = question.answer
        if answer["k"] == "exc":
            raise codec.error_of(answer)
        return answer.get("value")

    @contextmanager
    def _without_turn(self) -> Iterator[None]:
        """A context in which this thread waits, so that another work may render."""
        work = self._current.work
        if work is None or not work.has_turn:
            yield
            return
        self._leave(work)
        try:
            yield
        finally:
            self._enter(work)

    # time ------------------------------------------------------------------------------------------------------------

    def _patience(self) -> float | None:
        """Seconds until the next time limit of the running works."""
        works = list(self._works.values())
        if not works:
            return None
        left = [work.deadline.left for work in works if work.deadline is not None]
        return max(0.05, min([LONG / 2, *left]))

    def _end_overdue(self) -> None:
        """Raise OutOfTime in threads that have exceeded their time limit, repeatedly until they end."""
        works = list(self._works.values())
        self._turn.share(works)
        for work in works:
            with self._guard:
                if work.thread is not None and work.deadline is not None and not work.deadline.left:
                    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(work.thread), ctypes.py_object(OutOfTime))

    # work ------------------------------------------------------------------------------------------------------------

    def _take(self, message: dict[str, Any]) -> None:
        kind = message.get("k")
        if kind in ("ret", "exc"):
            question = self._questions.get(int(message["re"]))
            if question is not None:
                question.answer = message
                question.answered.set()
        elif kind == "setup":
            self._setup(message)
        elif kind == "forget":
            target = int(message["h"])
            self._minions.pop(target, None)
            self._after.pop(target, None)
        elif kind == "ping":
            self.tell("pong")
        elif kind == "cancel":
            self._cancel(int(message["n"]))
        elif kind in ("call", "ahead", "template", "foreign", "pillar", "done", "place"):
            work = self._works[int(message["n"])] = Work(message)
            if kind != "call" or not self._answer_memoized(work, message):
                self._pool.submit(self._worked, work, message)

    def _cancel(self, number: int) -> None:
        """Cancel a work whose result is not needed any more."""
        work = self._works.get(number)
        if work is not None:
            work.deadline = Deadline(0.0)
            for question in list(self._questions.values()):
                if question.work is work:
                    question.answered.set()

    def _setup(self, message: dict[str, Any]) -> None:
        fields = message["config"]
        config = Config(
            opts=fields["opts"],
            path=_path(fields["path"]),
            project=_path(fields["project"]),
            cache_dir=Path(fields["cache_dir"]),
            inventories=[],
            given=frozenset(fields["given"]),
            locked=fields["locked"],
            lock_file=_path(fields["lock_file"]),
        )
        logging.getLogger().setLevel(int(message["log_level"]))
        if self._ground is not None:
            self._ground.renew(config, fields["shown"], fields["groups"])
            return
        memory = message.get("memory") if Path("/proc/self/statm").exists() else None
        self._turn = Turn(memory, lambda: self.tell("full"))
        self._ground = RenderProject(
            config, self.ask, lambda texts: self.tell("secrets", values=texts), fields["shown"], fields["groups"]
        )
        self._ground.shared.once.waits_for_others = self._without_turn

    def _answer_memoized(self, work: Work, message: dict[str, Any]) -> bool:
        """Answer immediately, without a thread, if the result is memoized. Returns whether it was."""
        if not self._turn.lock.acquire(blocking=False):
            return False
        work.has_turn, self._turn.holder, self._current.work = True, work, work
        try:
            with memoized_only():
                fields = self._call(work, message)
        except NotMemoized:
            return False
        except (Exception, SystemExit) as exc:
            self._works.pop(work.number, None)
            self.tell("exc", re=work.number, **codec.error_fields(exc))
            return True
        finally:
            self._current.work = None
            self._turn.give(work)
        self._works.pop(work.number, None)
        self._return(work, {**fields, "known": True}, at_once=True)
        return True

    def _worked(self, work: Work, message: dict[str, Any]) -> None:
        handle = getattr(self, f"_{message['k']}")
        try:
            try:
                with self._doing(work):
                    fields = places.run_numbered(work.number, lambda: handle(work, message))
            finally:
                self._works.pop(work.number, None)
        except OutOfTime as exc:
            error = exc.error or StateError(f"{message.get('fun') or message.get('url') or 'a file'}: {work.deadline}")
            self.tell("exc", re=work.number, **codec.error_fields(error))
        except PushsaltError as exc:
            self.tell("exc", re=work.number, **codec.error_fields(exc))
        except MemoryError:
            log.debug("too little memory", exc_info=True)
            text = f"rendering {message.get('fun') or message.get('url')} needs more memory than `render_memory` allows"
            short = StateError(text, "raise render_memory in the configuration")
            self.tell("exc", re=work.number, **codec.error_fields(short))
        except BaseException as exc:  # SystemExit in users' Python is an ordinary error
            log.debug("a rendering failed", exc_info=True)
            self.tell("exc", re=work.number, **codec.error_fields(exc))
        else:
            self._return(work, fields)

    @contextmanager
    def _doing(self, work: Work) -> Iterator[None]:
        self._current.work = work
        try:
            self._enter(work)
            with limits.within(work.deadline, partial(self._at, work) if work.is_again else None):
                limits.check()
                yield
        finally:
            self._leave(work)
            self._current.work = None

    def _at(self, work: Work, path: str) -> None:
        self.tell("at", n=work.number, path=path)

    def _enter(self, work: Work) -> None:
        self._turn.take(work)
        work.thread = threading.get_ident()

    def _leave(self, work: Work) -> None:
        """End the work: after this, OutOfTime is not raised in this thread any more."""
        while True:
            try:
                work.thread = None
                with self._guard:
                    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(threading.get_ident()), None)
                break
            except OutOfTime:  # raised before the statement above
                continue
        self._turn.give(work)

    def _minion(self, work: Work, message: dict[str, Any], **more: Any) -> Minion:
        existing = self._minions.get(work.target)
        if existing is not None:
            return existing
        assert self._ground is not None
        fields = dict(message["target"])
        target = Target(
            **{**fields, "enter": tuple(fields.get("enter") or ()), "groups": tuple(fields.get("groups") or ())}
        )
        remote = partial(self._remote) if message["remote"] else None
        ground: Any = self._ground
        if message.get("discover"):
            more["discover"] = lambda pillar: self.ask("discover", pillar=pillar)
        minion = Minion(ground, target, JobOptions(**message["options"]), message["grains"], remote, **more)
        self._minions[work.target] = minion
        return minion

    def log(self, record: logging.LogRecord) -> None:
        """Send a log record to the command."""
        not_ahead()
        text = record.getMessage()
        if record.exc_info and record.exc_info[0]:
            text += "\n" + logging.Formatter().formatException(record.exc_info)
        self.tell("log", name=record.name, level=record.levelno, text=text, once=hasattr(record, "once"))

    def _remote(self, fun: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
        return self.ask("remote", fun=fun, args=args, kwargs=kwargs)

    def _call(self, work: Work, message: dict[str, Any]) -> dict[str, Any]:
        minion = self._minion(work, message)
        value = minion.call(str(message["fun"]), message["args"], message["kwargs"])
        fields: dict[str, Any] = {}
        if isinstance(value, Lowstate):
            fields["plan"] = self._plan(work, minion, value) if message["plan"] else None
        else:
            fields["value"] = value
        pillar = minion.compiled_pillar
        if pillar is not None:
            fields["mine_functions"] = minion.pillar_value("mine_functions") if not pillar.errors else None
            if minion.pillar_to_keep is not None:
                fields["known_pillar"] = pillar.number, minion.pillar_to_keep
        return fields

    def _ahead(self, work: Work, message: dict[str, Any]) -> dict[str, Any]:
        """Memoize the result of a call. The answer has ``known`` if that succeeded."""
        try:
            with ahead():
                self._call(work, message)
        except NotAhead:
            return {}
        finally:
            self._after.pop(work.target, None)
        return {"known": True}

    def _shared_pillar(self, number: int, values: dict[str, Any]) -> list[Any]:
        """[number, values], without the values if the command still has them."""
        if number in self._pillars:
            self._pillars.move_to_end(number)
            return [number]
        self._pillars[number] = None
        if len(self._pillars) > PILLARS:
            self._pillars.popitem(last=False)
        return [number, values]

    def _plan(self, work: Work, minion: Minion, lowstate: Lowstate) -> dict[str, Any]:
        files = minion.project.shared.plan_files()
        plan, wants = make_plan(lowstate.chunks, files, partial(prerender, minion), test=lowstate.test)
        if lowstate.test:
            plan.chunks = [self._dry(minion, chunk) for chunk in plan.chunks]
        if lowstate.done is not None:
            self._after[work.target] = lowstate.done
        places = {tag_of(chunk): at for at, chunk in enumerate(lowstate.chunks)}
        blobs = {
            digest: {"size": blob.size, "path": blob.path, "place": blob.place, "data": blob.data}
            for digest, blob in plan.blobs.items()
        }
        return {
            "chunks": plan.chunks,
            "test": plan.test,
            "files": plan.files,
            "templates": plan.templates,
            "wants": wants,
            "blobs": blobs,
            "mock": lowstate.mock,
            "bare": lowstate.bare,
            "disabled": lowstate.disabled,
            "done": lowstate.done is not None,
            "declared": None if lowstate.declared is None else [places[name] for name in lowstate.declared],
            "groups": [[places[name] for name in group] for group in lowstate.groups],
            "only": None if lowstate.only is None else [places[name] for name in lowstate.only],
        }

    def _dry(self, minion: Minion, chunk: Chunk) -> Chunk:
        """The chunk with the list of functions that its guards and slots must not call in a dry run (thin.slots)."""
        refused = refused_calls(chunk, minion.frozen, minion.effect_on_target, minion.warn)
        return {**chunk, slots.REFUSED: refused} if refused else chunk

    def _template(self, work: Work, message: dict[str, Any]) -> dict[str, Any]:
        minion = self._minion(work, message)
        arguments = (message["saltenv"], message["engine"], message["context"], message["defaults"], message["chunk"])
        return {"text": render_file(minion, message["url"], None, *arguments, message["names"])}

    def _foreign(self, work: Work, message: dict[str, Any]) -> dict[str, Any]:
        """Render a text that the target sent; this process was made for it and has only this target's data."""
        minion = self._minion(work, message, rendering=True, engines=DATA_ENGINES, pillar=message["pillar"])
        text = Foreign(message["text"], minion.id)
        arguments = (message["saltenv"], "jinja", message["context"], message["defaults"], message["chunk"])
        return {"text": render_file(minion, None, text, *arguments, message["names"])}

    def _place(self, work: Work, message: dict[str, Any]) -> dict[str, Any]:
        """The file and line in which another process hung."""
        settings = self._ground.config.opts.get("jinja_sls_env") if self._ground is not None else None
        return {"place": places.place(message["frames"], message["of"], settings or {})}

    def _pillar(self, work: Work, message: dict[str, Any]) -> dict[str, Any]:
        minion = self._minion(work, message)
        return {"value": plain(minion.pillar)}

    def _done(self, work: Work, message: dict[str, Any]) -> dict[str, Any]:
        after = self._after.pop(work.target, None)
        if after is not None:
            after(message["returns"])
        return {}


def _path(text: str | None) -> Path | None:
    return None if text is None else Path(text)
