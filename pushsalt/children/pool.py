"""The render processes of a project on the side of the command: sends works, receives results and questions.

A new Python process, the starter, is started first; it loads the modules for rendering while the command reads its
inventory and connects. In a kept session it is forked from one that waits (``children.kept``). Children are forked from
it on demand, up to the number of cores. If a child dies, or does not end an overdue work, its other works are done
again, each in a child of its own.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
import subprocess
import sys
import weakref
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine
from pathlib import Path
from typing import Any, BinaryIO, Final, cast

from pushsalt.children import kept
from pushsalt.children.process import Answer, Child, Request
from pushsalt.children.starter import BOOT
from pushsalt.errors import PushsaltError, StateError

log = logging.getLogger(__name__)

#: Seconds after its time limit that a work has to end by itself, before its child is killed.
GRACE: Final = 2.0
#: Seconds for finding the file and line in the frames of a hung process.
_PLACE_TIME: Final = 5.0
#: Minimum time limit of a repeated work in seconds, since it lost time in a process that another work has blocked.
_AGAIN: Final = 5.0
#: Maximum number of rendering works of a child; additional ones may wait there for answers.
_AHEAD: Final = 2
#: The same for a child whose last result was memoized.
_AHEAD_KNOWN: Final = 8
#: Seconds that works wait for a child before another one is forked, and the number of such extra children.
_PATIENCE: Final = 1.0
_MORE: Final = 8
#: Seconds between checks that children answer, and seconds without an answer after which one counts as stuck.
_LOOK: Final = 2.0
_STUCK: Final = 6.0
#: Bytes of memory for rendering a text that a target sent.
_CONFINED_MEMORY: Final = 256 * 1024 * 1024


class Pool:
    """The render processes of one project, used by one event loop at a time (``attach`` and ``detach``)."""

    def __init__(self, on_secrets: Callable[[list[str]], None], width: int | None = None) -> None:
        """``on_secrets`` is called with secrets before results that contain them are delivered."""
        self.on_secrets = on_secrets
        #: warnings that were logged, to log each once for all children
        self.said: set[str] = set()
        self._width = width or max(1, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1)
        self._children: list[Child] = []
        self._sockets: set[socket.socket | BinaryIO] = set()
        self._endings: set[asyncio.Task[None]] = set()
        self._control: socket.socket | None = None
        self._unnamed: deque[Child] = deque()
        self._queue: deque[Request] = deque()
        self._stalled: asyncio.TimerHandle | None = None
        self._looking: asyncio.TimerHandle | None = None
        #: number of texts from targets that are being rendered, and the queue of those that wait
        self._confined = 0
        self._places: deque[asyncio.Future[None]] = deque()
        self._loop: asyncio.AbstractEventLoop | None = None
        #: number of jobs that use the event loop; an orchestration runs several at the same time
        self._users = 0
        self._setup: dict[str, Any] = {}
        self._end: Callable[[], object] = lambda: None
        self.seen = 0  # number of forked children

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The event loop in use."""
        assert self._loop is not None
        return self._loop

    def start(self) -> None:
        """Start the starter, if it is not running. Raises OSError."""
        if self._control is not None:
            return
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        with theirs:
            process = None if kept.request_fork(theirs, ours, path_of_starter(), environment()) else _started(theirs)
        ours.setblocking(False)
        self._control = ours
        self._sockets.add(ours)
        self._end = weakref.finalize(self, _ended, process, self._sockets)

    def setup(self, fields: dict[str, Any]) -> None:
        """Set the message that each child gets before its first work; running children get it now."""
        self._setup = {"k": "setup", **fields}
        for child in self._children:
            child.send(self._setup)

    def fork_ahead(self) -> None:
        """Fork the first child, so that it is ready for the first work. If that fails, the first work has the error."""
        if not self._children:
            with contextlib.suppress(OSError):
                self._fork(alone=False)

    def attach(self) -> None:
        """Use the running event loop from now on."""
        loop = asyncio.get_running_loop()
        self._users += 1
        if self._loop is loop:
            return
        self._loop = loop
        if self._control is not None:
            loop.add_reader(self._control, self._named)
        for child in self._children:
            child.attach()

    def detach(self) -> None:
        """End a job's use of the event loop. After the last job, the processes do not use the event loop any more."""
        self._users = max(0, self._users - 1)
        if self._users == 0:
            self._leave_loop()

    def _leave_loop(self) -> None:
        if self._loop is None:
            return
        if self._control is not None and not self._loop.is_closed():
            self._loop.remove_reader(self._control)
        for timer in (self._stalled, self._looking):
            if timer is not None:
                timer.cancel()
        self._stalled = self._looking = None
        self._queue.clear()
        for child in list(self._children):
            for request in list(child.pending.values()):
                request.stop()
            if child.pending:  # its results are not needed any more
                child.kill()
                self._drop(child)
            else:
                child.detach()
        self._loop = None

    def close(self) -> None:
        """End all processes."""
        self._users = 0
        self._leave_loop()
        for child in list(self._children):
            self._drop(child)
        self._control = None
        self._end()

    async def work(
        self, message: dict[str, Any], answer: Answer, *, time: float | None = None, confined: bool = False
    ) -> dict[str, Any]:
        """Send a work to a child; returns the fields of its answer.

        ``time``: the time limit in seconds. ``confined``: it renders text of a target, in a separate process. Raises
        the error that the child raises, and StateError if no process can do the work.
        """
        if confined:
            async with self._place():
                return await self._worked(Request({**message, "time": time}, answer), confined)
        return await self._worked(Request({**message, "time": time}, answer), confined)

    async def _worked(self, request: Request, confined: bool) -> dict[str, Any]:
        if confined:
            self._dispatch(request, None, confined)
        else:
            self._queue.append(request)
            self.pump()
        if self._looking is None and self._loop is not None:
            self._looking = self._loop.call_later(_LOOK, self._look)
        try:
            return await request.result
        finally:
            if not request.result.done() or request.result.cancelled():
                self._give_up(request)

    @contextlib.asynccontextmanager
    async def _place(self) -> AsyncIterator[None]:
        """A context that limits processes for targets' texts to the number of cores."""
        while self._confined >= self._width:
            waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._places.append(waiting)
            await waiting
        self._confined += 1
        try:
            yield
        finally:
            self._confined -= 1
            while self._places:
                waiting = self._places.popleft()
                if not waiting.done():
                    waiting.set_result(None)
                    break

    def _look(self) -> None:
        """Check that children answer; the waiting works of a stuck one are moved to other children."""
        self._looking = None
        if self._loop is None:
            return
        now = self._loop.time()
        for child in list(self._children):
            if child.alone or len(child.pending) < 2:
                child.pinged = None
            elif child.pinged is None:
                child.pinged = now
                child.send({"k": "ping"})
            elif now - child.pinged > _STUCK:
                child.kill()
                self.lost(child)
        if any(child.pending for child in self._children):
            self._looking = self._loop.call_later(_LOOK, self._look)

    def forget(self, target: int) -> None:
        """Tell children to drop the data of a target."""
        for child in self._children:
            child.forget(target)

    # children --------------------------------------------------------------------------------------------------------

    def pump(self) -> None:
        """Send waiting works to children."""
        while self._queue:
            if self._queue[0].result.done():
                self._queue.popleft()
                continue
            child = self._free()
            if child is None:
                if self._stalled is None and self._loop is not None:
                    self._stalled = self._loop.call_later(_PATIENCE, self._no_child)
                return
            self._dispatch(self._queue.popleft(), child)
        if self._stalled is not None:
            self._stalled.cancel()
            self._stalled = None

    def _no_child(self) -> None:
        """Called when all children have been busy for a while: fork an extra one."""
        self._stalled = None
        shared = sum(not child.alone for child in self._children)
        if self._queue and shared < self._width + _MORE:
            with contextlib.suppress(OSError):
                child = self._fork(alone=False)
                self._dispatch(self._queue.popleft(), child)
        self.pump()

    def _free(self) -> Child | None:
        """An idle child, a new one, or one that can take more works; else None."""
        shared = [child for child in self._children if not child.alone]
        best = min(shared, key=lambda child: child.rendering, default=None)
        if best is not None and (not best.rendering or (best.is_fast and best.rendering < _AHEAD_KNOWN)):
            return best
        if len(shared) < self._width:
            try:
                return self._fork(alone=False)
            except OSError as exc:
                if best is None:
                    self._queue.popleft().end(_impossible(f"no process for rendering can be started: {exc}"))
                    return None
        if best is None:
            return None
        return best if best.rendering < _AHEAD else None

    def _dispatch(self, request: Request, child: Child | None, confined: bool = False) -> None:
        """Send a work to a child, or (None) to a new child that does only this work."""
        request.tries += 1
        loop = asyncio.get_running_loop()
        least = _AGAIN if request.tries > 1 else 0.05
        left = None if request.ends is None else max(least, request.ends - loop.time())
        try:
            child = child or self._fork(confined)
            child.begin(request)
            child.send({**request.message, "time": left, "again": request.tries > 1})
        except (OSError, ValueError) as exc:
            request.end(_impossible(f"no process for rendering can be started: {exc}"))
            return
        if left is not None:
            request.timer = loop.call_later(left + GRACE, self._overdue, child, request, confined)

    def _fork(self, confined: bool = False, alone: bool = True) -> Child:
        self.start()
        assert self._control is not None
        self._loop = self._loop or asyncio.get_running_loop()
        self._loop.add_reader(self._control, self._named)
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        reading, writing = os.pipe2(os.O_CLOEXEC) if hasattr(os, "pipe2") else os.pipe()
        their_life, life = os.pipe()
        os.set_blocking(reading, False)
        pipes = cast(BinaryIO, os.fdopen(reading, "rb", 0)), cast(BinaryIO, os.fdopen(life, "wb", 0))
        self._sockets |= {ours, *pipes}
        try:
            with theirs:
                socket.send_fds(self._control, [b"c" if confined else b"f"], [theirs.fileno(), writing, their_life])
        finally:
            os.close(writing)
            os.close(their_life)
        child = Child(self, ours, pipes, alone)
        self._children.append(child)
        self._unnamed.append(child)
        self.seen += 1
        child.attach()
        memory = self._setup.get("memory")
        less = {"memory": min(memory, _CONFINED_MEMORY)} if confined and memory else {}
        child.send({**self._setup, **less})
        return child

    def _named(self) -> None:
        """Read the pid of a forked child from the starter."""
        assert self._control is not None
        try:
            data = self._control.recv(8)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if len(data) == 8:
            child = self._unnamed.popleft()
            child.pid = int.from_bytes(data, "big")
            if child.gone:
                child.kill()
            return
        self._starter_lost()

    def _starter_lost(self) -> None:
        """Handle the death of the starter, with which its children end: their works are done again, with another
        starter.
        """
        assert self._control is not None
        if self._loop is not None:
            self._loop.remove_reader(self._control)
        end, self._control, self._sockets = self._end, None, set()
        self._unnamed.clear()
        for child in list(self._children):
            self.lost(child)
        end()

    def retire(self, child: Child) -> None:
        """End a child whose works are done."""
        child.kill()
        self._drop(child)

    def lost(self, child: Child) -> None:
        """Handle the death of a child: its works are done again, each in a separate child."""
        if child.gone:
            return
        waiting, child.pending = list(child.pending.values()), {}
        frames = child.crash()
        self._drop(child)
        self._again(waiting, child, frames)

    def _again(self, waiting: list[Request], child: Child, frames: str = "") -> None:
        """Do the works of a lost child again, except those that may be the cause."""
        for request in waiting:
            request.stop()
            if request.is_ahead:
                request.end(_impossible("the process that rendered it ahead died"))
            elif request.tries > 1 or child.alone:
                text = "the process that rendered it died, maybe because memory was exhausted"
                self._end_at_place(request, text, frames)
            else:
                self._dispatch(request, None)
        self.pump()

    def _overdue(self, child: Child, request: Request, confined: bool) -> None:
        """Kill the child of a work that did not end in its time and cannot be interrupted."""
        if child.pending.pop(request.number, None) is None:
            return
        waiting, child.pending = list(child.pending.values()), {}
        child.detach()
        self._children.remove(child)
        seconds = request.message["time"] or 0.0
        text = f"rendering was not done after {seconds:.3g} s, and its process was ended"
        self._begin(self._hung(child, request, text))
        self._again(waiting, child)

    async def _hung(self, child: Child, request: Request, text: str) -> None:
        try:
            frames = await child.frames()
        finally:
            child.kill()
            self._drop(child)
        await self._ended_at_place(request, text, frames)

    def _end_at_place(self, request: Request, text: str, frames: str) -> None:
        if frames:
            self._begin(self._ended_at_place(request, text, frames))
        else:
            request.end(_impossible(text, request.at))

    async def _ended_at_place(self, request: Request, text: str, frames: str) -> None:
        """End a work with an error that names the file and line in which it hung."""
        path = request.at
        if frames and not request.result.done():
            message = {"k": "place", "h": request.message["h"], "frames": frames, "of": request.number}
            with contextlib.suppress(PushsaltError):
                place = (await self.work(message, _no_answer, time=_PLACE_TIME))["place"]
                path = path if place is None else "{}:{}".format(*place)
        request.end(_impossible(text, path))

    def _begin(self, ending: Coroutine[Any, Any, None]) -> None:
        task = self.loop.create_task(ending)
        self._endings.add(task)
        task.add_done_callback(self._endings.discard)

    def _give_up(self, request: Request) -> None:
        """Cancel a work whose result is not needed any more; its child is killed if it does not stop."""
        request.stop()
        for child in self._children:
            if request.number in child.pending:
                child.send({"k": "cancel", "n": request.number})
                if self._loop is not None:
                    request.timer = self._loop.call_later(GRACE, self._not_stopped, child, request)

    def _not_stopped(self, child: Child, request: Request) -> None:
        if child.pending.pop(request.number, None) is not None:
            child.kill()
            self.lost(child)

    def _drop(self, child: Child) -> None:
        self._sockets -= {child.channel, child.traces, child.life}
        child.close()
        if child in self._children:
            self._children.remove(child)


async def _no_answer(question: dict[str, Any]) -> Any:
    raise StateError(f"unknown question: {question.get('q')}")


def _impossible(text: str, place: str = "") -> StateError:
    """The error of a work that failed. ``place``: the file, with its line if known."""
    if place:
        return StateError(f"{place}: {text}", "find the code there that takes so long, or so much memory")
    return StateError(
        text, "-l debug shows the files that are rendered for this target; see `render_memory` and --timeout"
    )


def path_of_starter() -> list[str]:
    """Python's path for the starter: that of this process."""
    own = str(Path(__file__).resolve().parents[2])
    return list(dict.fromkeys([*(place for place in sys.path if place), own]))


#: Environment variables of render processes. Others may be credentials, such as tokens of CI and sockets of agents.
_VARIABLES: Final = ("PATH", "HOME", "USER", "LOGNAME", "LANG", "LANGUAGE", "TZ", "TMPDIR", "XDG_CACHE_HOME")


def environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name in _VARIABLES or name.startswith("LC_")}


def _started(theirs: socket.socket) -> subprocess.Popen[bytes]:
    """A new starter that serves this socket. Raises OSError."""
    return subprocess.Popen(
        [sys.executable, "-I", "-S", "-X", "utf8", "-c", BOOT, str(theirs.fileno()), *path_of_starter()],
        pass_fds=(theirs.fileno(),),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        env=environment(),
        start_new_session=True,
    )


def _ended(process: subprocess.Popen[bytes] | None, sockets: set[socket.socket | BinaryIO]) -> None:
    for each in sorted(
        sockets, key=lambda each: isinstance(each, socket.socket)
    ):  # the pipes first, so that running programs end
        each.close()
    sockets.clear()
    if process is not None:  # one of a broker ends with its socket
        process.kill()
        process.wait()
