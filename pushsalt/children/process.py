"""The command's objects for a render process and a work: they exchange messages, and answer questions of works."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import os
import signal
import socket
import weakref
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, BinaryIO, Final, Protocol

from pushsalt.children import codec

log = logging.getLogger(__name__)

#: Answers a question of a child: fields -> value. Its errors are raised in the child.
Answer = Callable[[dict[str, Any]], Awaitable[Any]]

#: Seconds that a process has to write the frames of its threads.
_FRAMES_TIME: Final = 1.0
#: Pillars whose values are kept for further results of a child; must equal ``child.PILLARS``.
_PILLARS: Final = 32
#: Maximum number of messages in one write.
_TOGETHER: Final = 64
_numbers: Final = itertools.count(1)


class Owner(Protocol):
    """The owner of a process, which is notified of its events: ``pushsalt.children.pool.Pool``."""

    said: set[str]

    @property
    def on_secrets(self) -> Callable[[list[str]], None]: ...
    def lost(self, child: Child) -> None: ...
    def retire(self, child: Child) -> None: ...
    def pump(self) -> None: ...


class Request:
    """One work, and the future of its result."""

    def __init__(self, message: dict[str, Any], answer: Answer) -> None:
        self.number = next(_numbers)
        self.message = {**message, "n": self.number}
        self.answer = answer
        self.result: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self.tries = 0
        seconds = message["time"]
        self.ends = None if seconds is None else asyncio.get_running_loop().time() + seconds
        self.questions: set[asyncio.Task[None]] = set()
        #: its result is only memoized
        self.is_ahead = message["k"] == "ahead"
        self.timer: asyncio.TimerHandle | None = None
        #: the file that is being rendered, reported by the process of the second try
        self.at = ""

    def end(self, result: dict[str, Any] | BaseException) -> None:
        self.stop()
        if self.result.done():
            return
        if isinstance(result, BaseException):
            self.result.set_exception(result)
        else:
            self.result.set_result(result)

    def stop(self) -> None:
        """Stop the timers and questions of the work, because it is cancelled or done again."""
        if self.timer is not None:
            self.timer.cancel()
        for task in self.questions:
            task.cancel()


class Child:
    """A render process. ``alone``: it does one work only.

    ``pipes``: the one to which it writes the frames of threads (``traces``), and the one that ends the process and the
    programs that it has started when it is closed (``life``).
    """

    def __init__(self, owner: Owner, channel: socket.socket, pipes: tuple[BinaryIO, BinaryIO], alone: bool) -> None:
        self.alone = alone
        self.traces, self.life = pipes
        self.pid: int | None = None
        self.pending: dict[int, Request] = {}
        self.gone = False
        #: the time of a ping that was not answered yet
        self.pinged: float | None = None
        #: whether its last result was memoized; making such a result takes less time than sending it
        self.knows = False
        self._owner = weakref.proxy(owner)  # so that the pool can be collected, which ends its processes
        self.channel = channel
        self._in = bytearray()
        self._out: deque[memoryview] = deque()
        #: the targets of its works, and messages that can wait until another one is sent
        self._targets: set[int] = set()
        self._held = b""
        self._pillars: OrderedDict[int, dict[str, Any]] = OrderedDict()
        self._loop: asyncio.AbstractEventLoop | None = None
        channel.setblocking(False)

    # reading and writing ---------------------------------------------------------------------------------------------

    def attach(self) -> None:
        loop = asyncio.get_running_loop()
        if self._loop is not loop and not self.gone:
            self._loop = loop
            loop.add_reader(self.channel, self._readable)
            if self._out:
                loop.call_soon(self._flush)

    def detach(self) -> None:
        if self._loop is not None and not self._loop.is_closed():
            self._loop.remove_reader(self.channel)
            self._loop.remove_writer(self.channel)
        self._loop = None

    def begin(self, request: Request) -> None:
        """Register a work that is about to be sent."""
        self.pending[request.number] = request
        self._targets.add(request.message["h"])

    def forget(self, target: int) -> None:
        """Tell it to drop the data of a target, with the next message."""
        if target in self._targets:
            self._targets.discard(target)
            self._held += codec.pack({"k": "forget", "h": target})

    def send(self, message: Mapping[str, Any]) -> None:
        """Send a message. Raises ValueError if it cannot be packed."""
        data = self._held + codec.pack(message)
        self._held = b""
        if self.gone:
            return
        self._out.append(memoryview(data))
        if len(self._out) > 1:
            return
        if self._loop is None:
            self._flush()
        else:
            self._loop.call_soon(self._flush)  # together with other messages of this iteration of the loop

    def _flush(self) -> None:
        if self._out and not self.gone and not self._written() and self._loop is not None:
            self._loop.add_writer(self.channel, self._writable)

    def _writable(self) -> None:
        if self._written() and self._loop is not None:
            self._loop.remove_writer(self.channel)

    def _written(self) -> bool:
        """Write as much as possible. Returns whether everything was written."""
        try:
            while self._out:
                sent = self.channel.sendmsg(itertools.islice(self._out, _TOGETHER))
                while self._out and sent >= len(self._out[0]):
                    sent -= len(self._out.popleft())
                if sent:
                    self._out[0] = self._out[0][sent:]
        except BlockingIOError:
            return False
        except OSError:  # a closed connection is handled when reading
            self._out.clear()
        return True

    def _readable(self) -> None:
        try:
            data = self.channel.recv(4 * 1024 * 1024)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._owner.lost(self)
            return
        self._in += data
        try:
            while len(self._in) >= codec.HEAD:
                end = codec.HEAD + int.from_bytes(self._in[: codec.HEAD], "big")
                if len(self._in) < end:
                    break
                message = codec.unpack(bytes(self._in[codec.HEAD : end]))
                del self._in[:end]
                self._take(message)
        except (ValueError, KeyError, TypeError) as exc:
            log.debug("a render process sent an invalid message", exc_info=exc)
            self.kill()
            self._owner.lost(self)

    def _take(self, message: dict[str, Any]) -> None:
        kind = message["k"]
        if kind in ("ret", "exc"):
            pillar = message.get("pillar")
            if pillar is not None:
                message["pillar"] = self._pillar(*pillar)
            request = self.pending.pop(int(message["re"]), None)
            self.knows = "known" in message
            if request is not None:
                request.stop()
                request.end(message if kind == "ret" else codec.error_of(message))
            if self.alone and not self.pending:
                self._owner.retire(self)
            self._owner.pump()
        elif kind == "ask":
            request = self.pending.get(int(message["req"]))
            if request is not None:
                task = asyncio.get_running_loop().create_task(self._answer(request, message))
                request.questions.add(task)
                task.add_done_callback(request.questions.discard)
                self._owner.pump()
        elif kind == "full":
            self.alone = True  # memoized results fill its memory: it gets no more works
        elif kind == "at":
            request = self.pending.get(int(message["n"]))
            if request is not None:
                request.at = str(message["path"])
        elif kind == "pong":
            self.pinged = None
        elif kind == "secrets":
            self._owner.on_secrets([str(value) for value in message["values"]])
        elif kind == "log":
            if message.get("once"):  # log it once for all children
                if message["text"] in self._owner.said:
                    return
                self._owner.said.add(message["text"])
            logger = logging.getLogger(str(message["name"]))
            if logger.isEnabledFor(int(message["level"])):
                logger.log(int(message["level"]), "%s", message["text"])

    def _pillar(self, number: int, values: dict[str, Any] | None = None) -> dict[str, Any]:
        if values is not None:
            self._pillars[number] = values
            if len(self._pillars) > _PILLARS:
                self._pillars.popitem(last=False)
        else:
            self._pillars.move_to_end(number)
        return self._pillars[number]

    async def _answer(self, request: Request, question: dict[str, Any]) -> None:
        number = question["n"]
        try:
            answer: dict[str, Any] = {"k": "ret", "re": number, "value": await request.answer(question)}
        except (Exception, SystemExit) as exc:
            answer = {"k": "exc", "re": number, **codec.error_fields(exc)}
        try:
            self.send(answer)
        except ValueError as exc:
            self.send({"k": "exc", "re": number, **codec.error_fields(exc)})

    @property
    def rendering(self) -> int:
        """The number of works that render, without those that wait for an answer, or whose result others wait for."""
        return sum(not request.questions and not request.is_ahead for request in self.pending.values())

    @property
    def is_fast(self) -> bool:
        """Whether the results of further works are probably memoized: the last one was, or it is being rendered."""
        return self.knows or any(request.is_ahead for request in self.pending.values())

    def kill(self) -> None:
        """End it, and the programs that it has started."""
        if self.pid is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)

    async def frames(self) -> str:
        """The stack frames of its threads, or ''. Works for a hanging process, but not for a stopped one."""
        if self.pid is None:
            return ""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGUSR1)
        until = asyncio.get_running_loop().time() + _FRAMES_TIME
        text = ""
        while not self.gone and asyncio.get_running_loop().time() < until:
            await asyncio.sleep(0.02)
            more = self.crash()
            text += more
            if text and not more:
                break
        return text

    def crash(self) -> str:
        """The stack frames that it wrote when it crashed."""
        try:
            return (self.traces.read(65536) or b"").decode("utf-8", "replace")
        except ValueError:  # closed
            return ""

    def close(self) -> None:
        self.detach()
        self.gone = True
        self.life.close()
        self.channel.close()
        self.traces.close()
