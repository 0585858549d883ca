"""Observers of a job: the record, returners, reports. Secrets are redacted before an observer gets anything."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Protocol

from pushsalt.errors import EXIT_INTERRUPTED, EXIT_OK
from pushsalt.jobs.model import JobEnd, JobStart
from pushsalt.model import TargetReturn
from pushsalt.redact import Redactor

log = logging.getLogger(__name__)


class JobObserver(Protocol):
    """Is called in the event loop's thread, in the order of events. Methods are quick; what they raise is logged."""

    def job_begins(self, job: JobStart) -> None:
        """The targets are selected, and none was asked yet."""

    def target_returned(self, ret: TargetReturn) -> None:
        """The one return of a target, before it is shown."""

    def job_ends(self, end: JobEnd) -> None:
        """No further calls follow."""


class JobRecorder(JobObserver, Protocol):
    """The observer that keeps the job: what it was told is on disk when ``committed`` is done."""

    async def committed(self) -> None:
        """Waits until everything so far is kept, or cannot be kept."""


class Observers:
    """All observers of one job: its recorder, which is waited for, then the others."""

    def __init__(self, recorder: JobRecorder | None, others: Sequence[JobObserver], redactor: Redactor) -> None:
        self._recorder = recorder
        self._others = others
        self._redactor = redactor
        self._job: JobStart | None = None
        self._returned = 0
        self._left = False
        self._exit_code = EXIT_OK

    async def job_begins(self, job: JobStart) -> None:
        """Tell that the job begins; it is kept then."""
        self._job = job
        self._tell(lambda each: each.job_begins(job))
        await self._committed()

    async def keep(self, result: TargetReturn) -> None:
        """Have the record keep a return; the others are told of it by ``returned``."""
        if self._recorder is None or result.left:
            return
        shown = redacted(result, self._redactor)
        self._tell(lambda each: each.target_returned(shown), only_record=True)
        result.recorded = _recorded(result)
        await self._committed()

    async def returned(self, results: Sequence[TargetReturn]) -> None:
        """Tell the returns of some targets; they are kept then. Targets that were left to themselves have none."""
        self._left = self._left or any(result.left for result in results)
        results = [result for result in results if not result.left]
        if not results:
            return
        self._returned += len(results)
        self._exit_code = max(self._exit_code, *(result.exit_code for result in results))
        if self._recorder is None and not self._others:
            return
        for result in results:
            shown = redacted(result, self._redactor)
            is_kept = result.recorded == _recorded(result)
            self._tell(lambda each, shown=shown: each.target_returned(shown), but_record=is_kept)  # type: ignore[misc]
        await self._committed()

    async def job_ends(self, stopped_with: int | None = None) -> None:
        """Tell the end of the job, if it has begun; it is kept then. With targets that were left it is still running.

        ``stopped_with``: the exit code of a job that was stopped. A job without all returns was stopped, too.
        """
        job = self._job
        if job is None:
            return
        if self._left:
            stopped_with = EXIT_OK
        elif stopped_with is None and self._returned < len(job.ids):
            stopped_with = EXIT_INTERRUPTED
        if stopped_with is None:
            end = JobEnd(self._exit_code, "done", time.time())
        else:
            end = JobEnd(stopped_with, "running" if self._left else "interrupted", time.time())
        self._job = None
        self._tell(lambda each: each.job_ends(end))
        await self._committed()

    def _tell(self, say: Callable[[JobObserver], None], *, only_record: bool = False, but_record: bool = False) -> None:
        record = [self._recorder] if self._recorder is not None and not but_record else []
        for each in (*record, *(() if only_record else self._others)):
            try:
                say(each)
            except Exception as exc:
                log.warning("%s failed: %s: %s", type(each).__name__, type(exc).__name__, exc)
                log.debug("an observer of the job failed", exc_info=True)

    async def _committed(self) -> None:
        if self._recorder is not None:
            await self._recorder.committed()


def redacted(result: TargetReturn, redactor: Redactor) -> TargetReturn:
    """A return without secrets, as it is shown."""
    version = redactor.version
    ret = result.hidden[1] if result.recorded and result.hidden is not None and result.hidden[0] == version else None
    if ret is None:
        ret = redactor.data(result.ret)
        result.hidden = version, ret
    return replace(
        result,
        ret=ret,
        check=redactor.text(result.check),
        warnings=[redactor.text(text) for text in result.warnings],
        events=redactor.data(result.events) if result.events else [],
    )


def _recorded(result: TargetReturn) -> tuple[object, ...]:
    """What may still change in a return that was recorded: a batch check, later warnings, another known secret."""
    version = result.hidden[0] if result.hidden is not None else None
    return version, result.exit_code, result.retcode, result.check, len(result.warnings), len(result.events)
