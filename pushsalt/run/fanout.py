"""Runs a job on targets concurrently, in the order of a window; each target gets exactly one return."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from typing import Any, TypeVar

from pushsalt.errors import EXIT_NO_ANSWER, FunctionError, PushsaltError, StateError, TargetError
from pushsalt.model import TargetReturn
from pushsalt.run.pace import Window
from pushsalt.run.stopping import Stopping

log = logging.getLogger(__name__)

RunOne = Callable[[str], Awaitable[TargetReturn]]
_T = TypeVar("_T")
Tell = Callable[[Sequence[TargetReturn]], Awaitable[None]]


def failure(id: str, exc: BaseException) -> TargetReturn:
    """The return for a job that ended in this exception. Unexpected exceptions are logged with a traceback (debug)."""
    if isinstance(exc, (TargetError, FunctionError)):
        return TargetReturn(id, exc.as_return(), shape="error", exit_code=exc.exit_code)
    if isinstance(exc, StateError):
        return TargetReturn(id, list(exc.errors), shape="errors", exit_code=exc.exit_code)
    if isinstance(exc, PushsaltError):
        return failure(id, FunctionError("exception", str(exc), exc.hint or "see the message", type(exc).__name__))
    if isinstance(exc, asyncio.CancelledError):
        trouble = TargetError(
            "interrupted", f"{id}: stopped before it began", "nothing was done on this target; run the command again"
        )
        return failure(id, trouble)
    log.debug("%s: unexpected error", id, exc_info=exc)
    text = str(exc) or type(exc).__name__
    trouble = TargetError(
        "internal",
        f"{id}: {type(exc).__name__}: {text}",
        "this is a defect in pushsalt; run again with -l debug and report what it prints",
    )
    return failure(id, trouble)


def not_begun(id: str, why: str, hint: str, exit_code: int = EXIT_NO_ANSWER) -> TargetReturn:
    """The return of a target that a rollout left out."""
    error = TargetError("not_begun", f"{id}: not begun: {why}", hint)
    return TargetReturn(id, error.as_return(), shape="error", exit_code=exit_code)


async def fan_out(
    window: Window,
    run_one: RunOne,
    stopping: Stopping,
    *,
    may_begin: Callable[[], bool] = lambda: True,
    wait: float = 0.0,
) -> AsyncGenerator[list[TargetReturn], None]:
    """Yield lists of returns, as the targets of the window finish.

    ``wait``: seconds for which a finished target still counts as running. When ``may_begin`` returns False, no more
    targets are started; those left stay in the window. When a stop is requested, no more are started either, and the
    running ones end or are cancelled; each id without a return gets one of the kind ``interrupted``. Leaving the
    iterator early cancels the running targets.
    """
    running: dict[asyncio.Task[TargetReturn], str] = {}
    resting: dict[asyncio.Task[None], str] = {}
    stop = stopping.requested
    ended = _Ended()
    stoppers = {ended.watched(asyncio.create_task(event.wait())) for event in (stop, stopping.at_once)}
    steps = 0  # of stopping that were carried out
    try:
        while True:
            while not stop.is_set() and may_begin() and (id := window.next()) is not None:
                running[ended.watched(asyncio.create_task(_guarded(id, run_one), name=f"target {id}"))] = id
            if steps < stop.is_set() + stopping.at_once.is_set():
                steps = stop.is_set() + stopping.at_once.is_set()
                stopping.cancel(running)  # type: ignore[arg-type]
                if window.waiting:
                    yield [failure(id, asyncio.CancelledError()) for id in window.rest()]
            if not running and not (window.waiting and may_begin()):
                return
            done = await ended.next()
            for rest in done:
                if rest in resting:
                    window.free(resting.pop(rest))
            finished = [(task, running.pop(task)) for task in done if task in running]
            for _, id in finished:
                if wait and window.waiting:
                    resting[ended.watched(asyncio.create_task(asyncio.sleep(wait)))] = id
                else:
                    window.free(id)
            if finished:
                yield [_result(id, task) for task, id in finished]
    finally:
        for each in (*stoppers, *running, *resting):
            each.cancel()
        if running:
            await asyncio.wait(running, timeout=5)


class _Ended:
    """Collects tasks as they end. ``asyncio.wait`` would add a callback to each running task in each call."""

    def __init__(self) -> None:
        self._tasks: list[asyncio.Task[Any]] = []
        self._event = asyncio.Event()

    def watched(self, task: asyncio.Task[_T]) -> asyncio.Task[_T]:
        """The task; ``next`` returns it when it has ended."""
        task.add_done_callback(self._add)
        return task

    def _add(self, task: asyncio.Task[Any]) -> None:
        self._tasks.append(task)
        self._event.set()

    async def next(self) -> list[asyncio.Task[Any]]:
        """The tasks that have ended since the last call, first ones first. Waits if there are none."""
        await self._event.wait()
        self._event.clear()
        found, self._tasks = self._tasks, []
        return found


def _result(id: str, task: asyncio.Task[TargetReturn]) -> TargetReturn:
    return failure(id, asyncio.CancelledError()) if task.cancelled() else task.result()


async def _guarded(id: str, run_one: RunOne) -> TargetReturn:
    try:
        return await run_one(id)
    except asyncio.CancelledError as exc:
        return failure(id, exc)
    except (Exception, SystemExit) as exc:
        return failure(id, exc)
