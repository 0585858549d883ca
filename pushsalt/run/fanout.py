"""Runs a job on all its targets concurrently, up to a limit; each target gets exactly one return."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any

from pushsalt.errors import FunctionError, PushsaltError, StateError, TargetError
from pushsalt.events import Reporter
from pushsalt.model import TargetReturn

log = logging.getLogger(__name__)

RunOne = Callable[[str], Awaitable[TargetReturn]]


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


async def fan_out(
    ids: Sequence[str], run_one: RunOne, width: int, reporter: Reporter, stop: asyncio.Event
) -> AsyncIterator[TargetReturn]:
    """Yield the return of each id when it is finished; at most ``width`` run at a time, started in the given order.

    When ``stop`` is set, no more targets are started and the running ones are cancelled; each id without a return gets
    one of the kind ``interrupted``. Leaving the iterator early cancels the running targets.
    """
    waiting = list(reversed(ids))
    running: dict[asyncio.Task[TargetReturn], str] = {}
    stopper = asyncio.create_task(stop.wait())
    try:
        while waiting or running:
            while waiting and (stop.is_set() or len(running) < width):
                id = waiting.pop()
                run = _never_begun(id) if stop.is_set() else _guarded(id, run_one)
                running[asyncio.create_task(run, name=f"target {id}")] = id
            awaited: set[asyncio.Task[Any]] = {*running, stopper} if not stop.is_set() else {*running}
            done, _ = await asyncio.wait(awaited, return_when=asyncio.FIRST_COMPLETED)
            if stopper in done:
                done.discard(stopper)
                for task in running:
                    task.cancel()
            for task in done:
                id = running.pop(task)
                result = failure(id, asyncio.CancelledError()) if task.cancelled() else task.result()
                reporter.target_done(result)
                yield result
    finally:
        stopper.cancel()
        for task in running:
            task.cancel()
        if running:
            await asyncio.wait(running, timeout=5)


async def _never_begun(id: str) -> TargetReturn:
    return failure(id, asyncio.CancelledError())


async def _guarded(id: str, run_one: RunOne) -> TargetReturn:
    try:
        return await run_one(id)
    except asyncio.CancelledError as exc:
        return failure(id, exc)
    except (Exception, SystemExit) as exc:
        return failure(id, exc)
