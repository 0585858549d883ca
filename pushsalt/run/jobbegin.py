"""The begin of a job: it is recorded while its targets connect."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pushsalt.jobs.model import JobStart
    from pushsalt.model import TargetReturn
    from pushsalt.run.observers import Observers
    from pushsalt.run.rollout import Rollout
    from pushsalt.run.runner import Runner


async def begun(
    runner: Runner,
    observers: Observers,
    start: JobStart,
    rollout: Rollout,
    on_begin: Callable[[str], None],
    *,
    early: bool,
) -> AsyncGenerator[TargetReturn, None]:
    """The returns of a rollout. Before, the start of the job is recorded, and ``on_begin`` is called with its JID.

    ``early``: the first targets begin meanwhile. They wait for ``runner.recorded`` before anything runs on them.
    """
    runner.recorded.clear()
    async with aclosing(rollout.returns()) as returns:
        first = asyncio.ensure_future(_next(returns)) if early else None
        try:
            await observers.job_begins(start)
            on_begin(runner.jid)
        except BaseException:
            if first is not None:
                first.cancel()
                await asyncio.wait({first})
            raise
        runner.recorded.set()
        result = await (first or _next(returns))
        while result is not None:
            yield result
            result = await _next(returns)


async def _next(returns: AsyncGenerator[TargetReturn, None]) -> TargetReturn | None:
    """The next return; None at the end."""
    return await anext(returns, None)
