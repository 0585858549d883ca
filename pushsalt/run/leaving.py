"""``--detach``: detaches from a run as soon as it can go on without the command."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pushsalt.session.session import Session

#: Seconds between checks whether the run has begun.
_LOOK: Final = 0.02


async def until_left(
    session: Session, run: Coroutine[Any, Any, Any], has_begun: Callable[[], bool], cannot: Callable[[], None]
) -> tuple[bool, Any]:
    """(True, None) if the run continues on the target without this session; (False, value) if it has ended.

    ``has_begun``: whether the target has everything that the run needs. ``cannot`` is called if the run cannot continue
    without the session; its end is waited for then. Raises what the run raises.
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
