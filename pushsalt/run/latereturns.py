"""Collects returns of earlier jobs that targets keep, in the next command that has a session with them."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from pushsalt.errors import EXIT_NO_ANSWER, NoTargetError
from pushsalt.job import Job, JobOptions, Selection
from pushsalt.jobs.jid import is_jid
from pushsalt.jobs.jobs import JobError
from pushsalt.run.again import collecting

if TYPE_CHECKING:
    from pushsalt.events import Reporter
    from pushsalt.jobs.jobs import Jobs, KeptJob
    from pushsalt.model import TargetReturn

log = logging.getLogger(__name__)

Stream = Callable[[Selection, Job], AsyncIterator["TargetReturn"]]


async def collect(jobs: Jobs, stream: Stream, reporter: Reporter, kept: Mapping[str, Sequence[str]]) -> None:
    """Collect kept returns (JID -> ids) that the record lacks, unless another command has claimed the job."""
    for jid, ids in kept.items():
        if not is_jid(jid):  # the text comes from the target
            continue
        try:
            job = jobs.get(jid)
            lacking = _lacking(jobs, job, ids)
            if not lacking:
                continue
            jobs.claim(job)
        except JobError as exc:
            log.debug("kept returns of the job %s are not collected: %s", jid, exc)
            continue
        try:
            selection, work = collecting(job, lacking, JobOptions())
            done = [result.id async for result in stream(selection, work) if not result.left]
        except NoTargetError:
            continue
        finally:
            jobs.release(job)
        if done:
            which = ", ".join(done[:5]) + (f" and {len(done) - 5} more" if len(done) > 5 else "")
            reporter.warning(None, f"collected kept returns of the job {jid}: {which}")


def _lacking(jobs: Jobs, job: KeptJob, ids: Sequence[str]) -> list[str]:
    """The ids of the job, among these, without an answer in the record."""
    returns = jobs.returns(job)
    return [id for id in ids if id in job.ids and (id not in returns or returns[id].exit_code == EXIT_NO_ANSWER)]
