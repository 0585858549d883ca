"""Runs that have outlived the process that began them: their returns are collected from the targets."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pushsalt.run.work import Work

log = logging.getLogger(__name__)


async def kept_states(work: Work) -> dict[str, Any] | None:
    """The states of the job's run that has begun on this target before: tag -> return; None when there was none.

    Waits for the end of a run that is still under way. Raises TargetError, with the states so far in ``work.states``,
    for a run that has not come to its end.
    """
    from pushsalt.session.survival import NotThereError

    start = await work.start(grains=False, lock=False, modules=False, clean=False, survives=True)
    if not start.job or start.resource is not None:
        return None
    start = replace(start, deadline=None)
    session = await work.collector(start)
    try:
        work.total = max(1, work.total)
        await session.finished()
    except NotThereError:
        work.total = 0
        work.states.clear()
        return None
    finally:
        await session.close()
    return dict(work.states)
