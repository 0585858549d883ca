"""The render processes of a project, as the command has them: work goes out, results and questions come back.

One fresh Python, the starter, is begun before anything else; it loads what rendering takes while the command reads its
inventory and connects. Children are forked from it as work comes, as many as there are cores. A child that dies, or
does not end a work that is overdue, takes nothing with it: its other works are done again, each in a child of its own.
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

from pushsalt.children.process import Answer, Child, Request
from pushsalt.children.starter import BOOT
from pushsalt.errors import PushsaltError, StateError

log = logging.getLogger(__name__)

#: Seconds behind its time that a work gets to end by itself, before its child is killed.
GRACE: Final = 2.0
#: Seconds that the place among the frames of a hung process may take to find.
_PLACE_TIME: Final = 5.0
#: Seconds that a work has at least that begins anew, since its time was lost in a process that another one stopped.
_AGAIN: Final = 5.0
#: Works that a child has to render at a time; more may wait there for answers.
_AHEAD: Final = 2
#: The same for one whose last answer was known from another target.
_AHEAD_KNOWN: Final = 8
#: Seconds without a child for a work after which one more is forked, and how many more.
_PATIENCE: Final = 1.0
_MORE: Final = 8
#: Seconds between two looks whether children still answer, and without an answer until one counts as stuck.
_LOOK: Final = 2.0
_STUCK: Final = 6.0
#: Bytes that a text of a target's own may take.
_CONFINED_MEMORY: Final = 256 * 1024 * 1024


class Pool:
    """See the module. One per project; used by one event loop at a time (``attach`` and ``detach``)."""

    def __init__(self, on_secrets: Callable[[list[str]], None], width: int | None = None) -> None:
        """``on_secrets`` is told of secrets before anything that has them in it comes."""
        self.on_secrets = on_secrets
        #: warnings that are said once, whatever child says them
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
        #: how many texts of targets' own are rendered at once, and who waits for a place
        self._confined = 0
        self._places: deque[asyncio.Future[None]] = deque()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._setup: dict[str, Any] = {}
        self._end: Callable[[], object] = lambda: None
        self.seen = 0  # children that were forked

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The event loop that work comes from."""
        assert self._loop is not None
        return self._loop

    def start(self) -> None:
        """Begin the starter, if it does not run. Raises OSError."""
        if self._control is not None:
            return
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        with theirs:
            process = subprocess.Popen(
                [sys.executable, "-I", "-S", "-X", "utf8", "-c", BOOT, str(theirs.fileno()), *_path()],
                pass_fds=(theirs.fileno(),),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                env=_environment(),
                start_new_session=True,
            )
        ours.setblocking(False)
        self._control = ours
        self._sockets.add(ours)
        self._end = weakref.finalize(self, _ended, process, self._sockets)

    def setup(self, fields: dict[str, Any]) -> None:
        """What every child is told before its first work; those that are there are told now."""
        self._setup = {"k": "setup", **fields}
        for child in self._children:
            child.send(self._setup)

    def attach(self) -> None:
        """Work comes from this event loop from now on."""
        loop = asyncio.get_running_loop()
        if self._loop is loop:
            return
        self._loop = loop
        if self._control is not None:
            loop.add_reader(self._control, self._named)
        for child in self._children:
            child.attach()

    def detach(self) -> None:
        """The event loop is about to end."""
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
            if child.pending:  # stopped in the middle: what it does is of no use to anybody
                child.kill()
                self._drop(child)
            else:
                child.detach()
        self._loop = None

    def close(self) -> None:
        """End all of them."""
        self.detach()
        for child in list(self._children):
            self._drop(child)
        self._control = None
        self._end()

    async def work(
        self, message: dict[str, Any], answer: Answer, *, time: float | None = None, confined: bool = False
    ) -> dict[str, Any]:
        """The fields that a child answers with. ``time`` are the seconds that it may take.

        Raises what the child raises, and StateError for a work that cannot be done in any process.
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
        """One of as many places as there are cores: targets cannot start any number of processes."""
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
        """Whether children still answer: one that does not keeps others waiting, which go elsewhere then."""
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
        """Nothing more is asked about a target."""
        for child in self._children:
            child.forget(target)

    # children --------------------------------------------------------------------------------------------------------

    def pump(self) -> None:
        """Give out what waits for a child."""
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
        """All children have been busy for a while: with what takes long, or never ends."""
        self._stalled = None
        shared = sum(not child.alone for child in self._children)
        if self._queue and shared < self._width + _MORE:
            with contextlib.suppress(OSError):
                child = self._fork(alone=False)
                self._dispatch(self._queue.popleft(), child)
        self.pump()

    def _free(self) -> Child | None:
        """A child with nothing to do, a new one, or one with room; None for none."""
        shared = [child for child in self._children if not child.alone]
        best = min(shared, key=lambda child: child.rendering, default=None)
        if best is not None and not best.rendering:
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
        return best if best.rendering < (_AHEAD_KNOWN if best.knows else _AHEAD) else None

    def _dispatch(self, request: Request, child: Child | None, confined: bool = False) -> None:
        """Give a work to a child, or to a new one of its own."""
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
        os.set_blocking(reading, False)
        traces = cast(BinaryIO, os.fdopen(reading, "rb", 0))
        self._sockets |= {ours, traces}
        try:
            with theirs:
                socket.send_fds(self._control, [b"c" if confined else b"f"], [theirs.fileno(), writing])
        finally:
            os.close(writing)
        child = Child(self, ours, traces, alone)
        self._children.append(child)
        self._unnamed.append(child)
        self.seen += 1
        child.attach()
        memory = self._setup.get("memory")
        less = {"memory": min(memory, _CONFINED_MEMORY)} if confined and memory else {}
        child.send({**self._setup, **less})
        return child

    def _named(self) -> None:
        """The starter says the pid of a child that it has forked."""
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
        """The starter is gone, and so are its children: their works begin anew, with another starter."""
        assert self._control is not None
        if self._loop is not None:
            self._loop.remove_reader(self._control)
        end, self._control, self._sockets = self._end, None, set()
        self._unnamed.clear()
        for child in list(self._children):
            self.lost(child)
        end()

    def retire(self, child: Child) -> None:
        """A child has done what it was made for."""
        child.kill()
        self._drop(child)

    def lost(self, child: Child) -> None:
        """A child is gone: what it had to do begins anew, each in a child of its own."""
        if child.gone:
            return
        waiting, child.pending = list(child.pending.values()), {}
        frames = child.crash()
        self._drop(child)
        self._again(waiting, child, frames)

    def _again(self, waiting: list[Request], child: Child, frames: str = "") -> None:
        """Works of a lost child begin anew, but for those that may be why it was lost."""
        for request in waiting:
            request.stop()
            if request.tries > 1 or child.alone:
                text = "the process that rendered it died: it may have needed more memory than there is"
                self._end_at_place(request, text, frames)
            else:
                self._dispatch(request, None)
        self.pump()

    def _overdue(self, child: Child, request: Request, confined: bool) -> None:
        """A work did not end in its time, not even when it was told to: something in it cannot be interrupted."""
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
        """End a work with the file and the line that it hung in."""
        path = request.at
        if frames and not request.result.done():
            message = {"k": "place", "h": request.message["h"], "frames": frames, "of": request.number}
            with contextlib.suppress(PushsaltError):
                found = (await self.work(message, _no_answer, time=_PLACE_TIME))["place"]
                path = path if found is None else "{}:{}".format(*found)
        request.end(_impossible(text, path))

    def _begin(self, ending: Coroutine[Any, Any, None]) -> None:
        task = self.loop.create_task(ending)
        self._endings.add(task)
        task.add_done_callback(self._endings.discard)

    def _give_up(self, request: Request) -> None:
        """Cancel a work whose result is no longer wanted; its child is killed when it does not stop."""
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
        self._sockets -= {child.channel, child.traces}
        child.close()
        if child in self._children:
            self._children.remove(child)


async def _no_answer(question: dict[str, Any]) -> Any:
    raise StateError(f"no question here: {question.get('q')}")


def _impossible(text: str, place: str = "") -> StateError:
    """``place`` is the file, with its line if that is known."""
    if place:
        return StateError(f"{place}: {text}", "look for what takes so long, or so much memory, there")
    return StateError(text, "look at what is rendered for this target with -l debug; see `render_memory` and --timeout")


def _path() -> list[str]:
    """Where the starter finds pushsalt and what that needs: as here."""
    own = str(Path(__file__).resolve().parents[2])
    return list(dict.fromkeys([*(place for place in sys.path if place), own]))


#: Variables of the environment that render processes have. The rest may be credentials: tokens of CI, agents' sockets.
_VARIABLES: Final = ("PATH", "HOME", "USER", "LOGNAME", "LANG", "LANGUAGE", "TZ", "TMPDIR", "XDG_CACHE_HOME")


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name in _VARIABLES or name.startswith("LC_")}


def _ended(process: subprocess.Popen[bytes], sockets: set[socket.socket | BinaryIO]) -> None:
    for each in sockets:
        each.close()
    sockets.clear()
    process.kill()
    process.wait()
