"""Observers of a job: the record, returners, reports. They get redacted data only."""

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
    """Methods are called in the event loop's thread, and must return fast; exceptions from them are logged."""

    def job_begins(self, job: JobStart) -> None:
        """The targets are selected, and none is connected yet."""

    def target_returned(self, ret: TargetReturn) -> None:
        """The only return of a target, before it is shown."""

    def job_ends(self, end: JobEnd) -> None:
        """The last call for the job."""


class JobRecorder(JobObserver, Protocol):
    """The observer that records the job on disk."""

    async def committed(self) -> None:
        """Return when all calls so far are on disk, or writing them has failed."""


class Observers:
    """All observers of one job: the recorder, whose writes are awaited, then the others."""

    def __init__(self, recorder: JobRecorder | None, others: Sequence[JobObserver], redactor: Redactor) -> None:
        self._recorder = recorder
        self._others = others
        self._redactor = redactor
        self._job: JobStart | None = None
        self._returned = 0
        self._left = False
        self._exit_code = EXIT_OK

    async def job_begins(self, job: JobStart) -> None:
        """Notify the observers of the job's begin; returns when it is recorded."""
        self._job = job
        self._tell(lambda each: each.job_begins(job))
        await self._committed()

    async def keep(self, result: TargetReturn) -> None:
        """Record a return before the other observers get it (by ``returned``)."""
        if self._recorder is None or result.left:
            return
        shown = redacted(result, self._redactor)
        self._tell(lambda each: each.target_returned(shown), only_record=True)
        result.recorded = _recorded(result)
        await self._committed()

    async def returned(self, results: Sequence[TargetReturn]) -> None:
        """Notify the observers of these returns; returns when they are recorded. Detached targets have no return."""
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
        """Notify the observers of the end of the job, if it has begun; returns when it is recorded.

        ``stopped_with``: the exit code of a job that was stopped. A job with missing returns counts as stopped, and one
        with detached targets as running.
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
    """The return with secrets redacted, as it is shown."""
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
    """A key of what may change in a return after it was recorded: batch check, warnings, events, redacted secrets."""
    version = result.hidden[0] if result.hidden is not None else None
    return version, result.exit_code, result.retcode, result.check, len(result.warnings), len(result.events)
