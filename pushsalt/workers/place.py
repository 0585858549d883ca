"""Where the targets of a job are run: by this process, or by workers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol

from pushsalt.jobs.model import JobStart
from pushsalt.run import renderahead
from pushsalt.run.batchcheck import batch_check
from pushsalt.run.single import run

if TYPE_CHECKING:
    from pushsalt.job import Job, Settings
    from pushsalt.model import TargetReturn
    from pushsalt.run.batchcheck import BatchCheck
    from pushsalt.run.project import Project
    from pushsalt.run.rollout import Course
    from pushsalt.run.runner import Runner

#: Kinds of jobs that workers run.
HANDED_OUT: Final = frozenset({"apply", "call", "grains", "planned", "raw"})


class Place(Protocol):
    """Runs targets of one job. ``open`` is called before the first one, and ``close`` at the end in any case."""

    #: the batch check of the course
    check: BatchCheck | None
    #: whether targets may begin before the job is recorded, because they wait for that themselves
    begins_early: bool

    async def open(self, start: JobStart) -> JobStart:
        """Prepare for a job; returns its data at the start. Raises CommandError."""

    async def run_one(self, id: str) -> TargetReturn:
        """The return of a target; its failure is a return, too."""

    async def close(self) -> None:
        """End, and close the runner."""


class Locally:
    """This process runs the targets."""

    begins_early = True

    def __init__(self, runner: Runner, check: BatchCheck | None) -> None:
        self._runner = runner
        self.check = check
        self.run_one = partial(run, runner)
        self.close = runner.close

    async def open(self, start: JobStart) -> JobStart:
        renderahead.begin(self._runner, start.ids)
        return start


def place_of(project: Project, settings: Settings, runner: Runner, ids: Sequence[str], course: Course) -> Place:
    """The place for a job. If workers run it, the course lets all targets begin at once, unless there are batches."""
    check = batch_check(project, runner.job, course, partial(run_in, project, settings))
    url = url_of(project, runner.job)
    if not url:
        return Locally(runner, check)
    from pushsalt.workers.dispatch import Dispatcher

    course.width = course.size or course.total
    dispatcher = Dispatcher(project, settings, runner, url, ids)
    dispatcher.check = check
    return dispatcher


async def run_in(project: Project, settings: Settings, runner: Runner, id: str) -> TargetReturn:
    """The return of a target for a job within another one, such as a batch check."""
    if not url_of(project, runner.job):
        return await run(runner, id)
    from pushsalt.workers.dispatch import Dispatcher

    dispatcher = Dispatcher(project, settings, runner, url_of(project, runner.job), [id], within=True)
    try:
        await dispatcher.open(JobStart(runner.jid, runner.job.fun))
        return await dispatcher.run_one(id)
    finally:
        await dispatcher.close()


def url_of(project: Project, job: Job) -> str:
    """The URL of the NATS server whose workers run this job; empty if this process runs it."""
    url = str(project.config.opts.get("workers") or "")
    if not url or job.kind not in HANDED_OUT or job.options.detach:
        return ""
    return url
