"""The recorder of a job, and the data that it records in addition to the returns."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from pushsalt.errors import TargetError
from pushsalt.jobs.database import path_of
from pushsalt.jobs.prune import Bounds
from pushsalt.jobs.record import JobRecord
from pushsalt.run.projectstate import project_state

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pushsalt.job import Job
    from pushsalt.run.project import Project

#: Seconds that the end of a job waits for the project's state from git.
_PATIENCE: Final = 2.0
#: Limit for the targets whose secrets are loaded before a job begins. At its end, those of all targets are redacted.
_LOOKED_AT: Final = 200


def recorder(project: Project, job: Job) -> JobRecord | None:
    """The recorder of a job of this project; None with ``job_cache: false``."""
    opts = project.config.opts
    if not opts["job_cache"]:
        return None
    warn: Callable[[str], None] = partial(project.reporter.warning, None)
    path = path_of(project.config.cache_dir)
    return JobRecord(path, warn, bounds_of(opts), resumes=job.resumes, collects=job.collects)


def bounds_of(opts: Mapping[str, Any]) -> Bounds:
    """The bounds of the record in the configuration. Salt: ``keep_jobs_seconds: 0`` keeps all."""
    seconds = opts["keep_jobs_seconds"]
    if "keep_jobs" in opts and seconds == 86400:
        seconds = int(opts["keep_jobs"]) * 3600
    return Bounds(seconds=seconds or None, size=opts["keep_jobs_size"] or None)


def hide_kept(project: Project, job: Job, ids: Sequence[str]) -> None:
    """Add the secrets of targets' cached pillar to the redactor, if the job's arguments may contain some."""
    if job.kind not in ("call", "raw") or not (job.args or job.kwargs):
        return
    for id in ids[:_LOOKED_AT]:
        with contextlib.suppress(TargetError):
            project.hide_kept(project.target(id))


def hide_given(project: Project, job: Job) -> None:
    """Add the secrets of the command's ``--pillar`` to the redactor, and store them for later commands."""
    project.redactor.add_pillar(job.options.pillar)
    if project.keeps_pillar and job.options.pillar:
        project.pillar_bank.add_given(project.redactor.secrets_of(job.options.pillar))


class ProjectState:
    """Collects the state of the project for the record in a thread, while the job runs."""

    def __init__(self, project: Project, record: JobRecord | None) -> None:
        self._record = record
        self._task: asyncio.Task[dict[str, Any]] | None = None
        if record is not None:
            self._task = asyncio.create_task(asyncio.to_thread(project_state, project), name="state of the project")
            self._task.add_done_callback(self._collected)

    def _collected(self, task: asyncio.Task[dict[str, Any]]) -> None:
        if self._record is not None and not task.cancelled() and task.exception() is None:
            self._record.about(task.result())

    async def settled(self) -> None:
        """Wait until the state is collected, for a limited time."""
        if self._task is not None and not self._task.done():
            with contextlib.suppress(asyncio.TimeoutError, Exception):
                await asyncio.wait_for(self._task, _PATIENCE)
            await asyncio.sleep(0)  # lets the task's callback run
