"""Collects the returns of runs that have continued on targets without the command that began them."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from pushsalt.errors import TargetError

if TYPE_CHECKING:
    from pushsalt.run.work import Work
    from pushsalt.session.collecting import Collector

log = logging.getLogger(__name__)


class Kind(Protocol):
    """A job on one target that may have been begun before (``pushsalt.run.kinds``)."""

    work: Work

    async def begin(self) -> tuple[Any, int]:
        """Run the job; returns the value and Salt's retcode. Raises FinishedError if the target has run it before."""

    def collected(self, value: Any, retcode: int) -> tuple[Any, int]:
        """The value and Salt's retcode of a run that the target kept; ``value`` is the target's answer."""


class LeftError(TargetError):
    """The run continues on the target: there is no return yet."""


class CutShortError(TargetError):
    """The run ended early: its question was not answered, or it was killed."""


async def online(kind: Kind) -> tuple[Any, int]:
    """The value and Salt's retcode of the job: of a run that the target has begun before, else of a new run.

    With ``Job.collects`` no run is begun. Raises TargetError and what the kind raises.
    """
    from pushsalt.session.handshake import FinishedError

    work, job = kind.work, kind.work.job
    if job.resumes:
        try:
            collected = await _collected(kind)
        except CutShortError as exc:
            if job.collects:
                raise
            work.warnings.append(f"the job is run again: {exc.message.removeprefix(f'{work.target.id}: ')}")
            await work.end_collecting()
            work.begin_again()
            collected = None
        if collected is not None:
            return collected
    if job.collects:
        raise no_data_of_job(work)
    try:
        return await kind.begin()
    except FinishedError:
        pass
    collected = await _collected(kind)
    if collected is None:
        raise no_data_of_job(work)
    return collected


def no_data_of_job(work: Work) -> TargetError:
    """The error of a target that has no data of the job to collect."""
    return TargetError(
        "connection_lost",
        f"{work.target.id}: the target has no data of the job {work.runner.jid}: it did not begin, or it was killed",
        f"look at the target; `pushsalt jobs resume {work.runner.jid}` runs the job there",
    )


async def _collected(kind: Kind) -> tuple[Any, int] | None:
    """The value and Salt's retcode of the job's run on the target; None if the target has no data of it.

    Waits for the end of the run. The target removes its data when ``work.end_collecting`` is called. Raises
    CutShortError (the returns of the states so far are in ``work.states``), and LeftError if the wait was cancelled.
    """
    from pushsalt.session.survival import UnknownRunError

    work = kind.work
    start = await work.start(grains=False, lock=False, modules=False, clean=False, survives=True)
    if not start.job or start.resource is not None:
        return None
    try:
        session = await work.collector(replace(start, deadline=None))
    except asyncio.CancelledError:
        raise still_at_work(work) from None
    except TargetError as exc:
        raise _explained(work, exc) from exc
    try:
        work.total = max(1, work.total)
        with work.phase("wait"):
            value = await session.finished()
        return kind.collected(value, int(session.info.get("retcode") or 0))
    except UnknownRunError:
        await work.end_collecting()
        work.begin_again()
        return None
    except asyncio.CancelledError:
        if session.has_last_word:
            raise
        raise still_at_work(work) from None
    except TargetError as exc:
        raise _explained(work, exc, session) from exc
    finally:
        work.total = 0


def _explained(work: Work, exc: TargetError, session: Collector | None = None) -> TargetError:
    """The error: a CutShortError if the run ended early, another class if it may continue."""
    if session is not None and session.has_last_word:
        return CutShortError(exc.kind, exc.message, exc.hint) if exc.kind == "connection_lost" else exc
    if work.job.collects:
        return LeftError(exc.kind, exc.message, f"{exc.hint}; the run may continue there")
    return exc


def still_at_work(work: Work) -> LeftError:
    """The error of a wait that was cancelled before the run ended."""
    count = len(work.states)
    return LeftError(
        "timeout",
        f"{work.target.id}: the run has not ended; {count} state{'' if count == 1 else 's'} had run",
        f"it continues there: `pushsalt jobs wait {work.runner.jid}` collects its return",
    )
