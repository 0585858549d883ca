"""``--detach``: a run is left to itself on the target, as soon as it needs the command no more."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pushsalt.session.session import Session

#: Seconds between looks whether the run has begun.
_LOOK: Final = 0.02


async def until_left(
    session: Session, run: Coroutine[Any, Any, Any], has_begun: Callable[[], bool], cannot: Callable[[], None]
) -> tuple[bool, Any]:
    """Whether the run was left; else it has ended, and with its value. ``cannot`` is called when it cannot be left.

    ``has_begun``: whether all that it needs is on the target. Raises what the run raises.
    """
    task = asyncio.ensure_future(run)
    try:
        while not task.done() and not has_begun():
            await asyncio.wait({task}, timeout=_LOOK)
        if await session.leave(task):
            return True, None
        if not task.done():
            cannot()
        return False, await task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
