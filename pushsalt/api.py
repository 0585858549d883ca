"""The Python interface of pushsalt, with the terms of the command line, which uses this interface itself.

    from pushsalt.api import Client, Selection, Settings

    client = Client(Settings(inventories=[Path("inventory.yaml")]))
    returns = client.apply(Selection("web*"), ["apache"])          # {id: TargetReturn}

Each call has an async twin (``apply_async``); ``stream_apply`` and ``stream_run`` yield each target's return as it
finishes. ``with Client(…) as client:`` keeps connections from one call to the next. The error of one target is its
return (``TargetReturn.ret["error"]``); only a wrong command raises (``errors.CommandError``). A Client has no global
state: several can be used concurrently.
"""

from __future__ import annotations

import logging
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Sequence
from contextlib import aclosing, contextmanager
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, TypeVar

from pushsalt.errors import EXIT_INTERRUPTED, NoTargetError
from pushsalt.events import Reporter
from pushsalt.job import Job, JobOptions, Selection, Settings
from pushsalt.jobs.jid import new_jid
from pushsalt.model import Target, TargetReturn

if TYPE_CHECKING:
    import asyncio

    from pushsalt.jobs.jobs import Jobs
    from pushsalt.minion.wrappers import ControllerFunctions
    from pushsalt.planning.planfile import PlanFile
    from pushsalt.redact import Redactor
    from pushsalt.run.keeping import Keeping
    from pushsalt.run.observers import JobObserver
    from pushsalt.run.project import Project
    from pushsalt.run.recording import Recorder
    from pushsalt.run.stopping import Stopping
    from pushsalt.session.copying import Copy
    from pushsalt.transport.kept import KeptConnections

__all__ = ["Client", "JobOptions", "Reporter", "Selection", "Settings", "Target", "TargetReturn"]

log = logging.getLogger(__name__)

Result = TypeVar("Result")


class Client:
    """A project: its configuration, inventory and caches, which are read when they are first needed."""

    def __init__(self, settings: Settings | None = None, reporter: Reporter | None = None) -> None:
        self.settings = settings or Settings()
        self.reporter = reporter or Reporter()
        self._project: Project | None = None
        self._stop: tuple[asyncio.AbstractEventLoop, Stopping] | None = None
        #: the exit code of jobs that ``stop`` stops
        self.stopped_with = EXIT_INTERRUPTED
        #: observers of each job besides the record
        self.observers: list[JobObserver] = []
        #: whether jobs of this client are recorded, if the configuration allows it
        self.keeps_jobs = True
        #: is called with the JID of a job, before the first connection
        self.on_begin: Callable[[str], None] = _ignore_jid
        #: is awaited after each target's return, before the target removes its stored copy of that return
        self.on_value: Callable[[str], Awaitable[None]] | None = None
        #: the arguments of the command line, if there is one
        self.words: Sequence[str] = ()
        #: the ids on which jobs of this client may run; others are left out of every selection. None: all
        self.only: frozenset[str] | None = None
        self._is_within = False
        self._kept: KeptConnections | None = None
        self._keeping: Keeping | None = None

    def __enter__(self) -> Client:
        """Within the context, calls reuse the connections of earlier calls. Each async call makes its own
        connections.
        """
        from pushsalt.run.keeping import Keeping

        self._keeping = Keeping()
        return self

    def __exit__(self, *exc: object) -> None:
        keeping, self._keeping = self._keeping, None
        if keeping is not None:
            keeping.close()

    def within(self, kept: KeptConnections | None = None) -> Client:
        """A client for one job within a job of this one, such as a step of an orchestration.

        ``kept``: the connections that it uses, by default those of this client.
        """
        other = Client(self.settings)
        other._project = self.project
        other.keeps_jobs = self.keeps_jobs
        other._is_within = True
        other._kept = self._kept if kept is None else kept
        return other

    def new_jid(self) -> str:
        """The id of a new job."""
        return new_jid()

    @contextmanager
    def stoppable(self, stopping: Stopping) -> Iterator[None]:
        """Within the context, ``stop`` stops this object, in the running event loop."""
        import asyncio

        self._stop = (asyncio.get_running_loop(), stopping)
        try:
            yield
        finally:
            self._stop = None

    async def stream_orchestrate(
        self, sls: list[str], options: JobOptions, resume: str = ""
    ) -> AsyncIterator[TargetReturn]:
        """Run an orchestration. Yields one return, of the id ``HOSTNAME_master``.

        ``resume``: the JID of an orchestration to continue, or a name for it such as ``last``. Raises CommandError.
        """
        from pushsalt.orchestrate import resuming, running

        if resume:
            yield await resuming.resume(self, resume, sls, options)
        else:
            yield await running.orchestrate(self, sls, options)

    def orchestrate(self, sls: list[str], options: JobOptions | None = None) -> dict[str, Any]:
        """Run an orchestration: ``data``, ``outputter`` and ``retcode``, as Salt's runner returns them."""
        from pushsalt.orchestrate.recorded import as_printed
        from pushsalt.orchestrate.running import orchestrate

        return as_printed(self._wait(orchestrate(self, sls, options or JobOptions())))

    @property
    def project(self) -> Project:
        """The project: configuration, inventory, file server and runtime. Raises CommandError if they cannot be
        read.
        """
        if self._project is None:
            from pushsalt.run.project import Project

            self._project = Project.open(self.settings, self.reporter)
        return self._project

    @cached_property
    def jobs(self) -> Jobs:
        """The recorded jobs. Raises CommandError if the configuration cannot be read."""
        from pushsalt.jobs.jobs import Jobs

        return Jobs(self.project.config.cache_dir)

    def redactor(self) -> Redactor:
        """The redactor with the secrets that this client has read so far."""
        return self.project.redactor

    def target(self, selection: Selection) -> list[str]:
        """The ids that match, in the inventory's order, without connections. Raises NoTargetError if none matches.

        Without an inventory only the id ``localhost`` itself is a target; any other expression raises InventoryError.
        """
        ids = self.project.select(
            selection.expr, selection.tgt_type, selection.delimiter, selection.exclude, selection.limit
        )
        if self.only is not None:
            ids = [id for id in ids if id in self.only]
            if not ids:
                raise NoTargetError(f"no target that may be used matches {selection.expr!r}", "check the permissions")
        return ids if selection.subset is None else _some(ids, selection.subset)

    def explain(self, selection: Selection, ids: list[str]) -> dict[str, dict[str, Any]]:
        """Why each of these ids matches or not (``pushsalt.select.explain``), without connections."""
        from pushsalt.select.explain import explain

        return explain(self.project, selection, ids)

    def refresh(self, selection: Selection, options: JobOptions | None = None) -> dict[str, TargetReturn]:
        """Collect grains, and pillar if the expression uses it, of all targets; returns the failed ones."""
        return self._wait(self.refresh_async(selection, options))

    async def refresh_async(self, selection: Selection, options: JobOptions | None = None) -> dict[str, TargetReturn]:
        from pushsalt.select.explain import looks_at_pillar

        other = Client(self.settings)  # with its own reporter, since this is not the requested job
        other.keeps_jobs = False
        other.project.redactor = self.project.redactor
        plain = JobOptions(**(options or JobOptions()).as_fields)  # without a rollout
        options = replace(plain, test=False, returners=(), pillar=None, saltenv=None, pillarenv=None, detach=False)
        everything = Selection("*", "compound")  # includes all resources, unlike a glob
        if not other.project.config.has_inventory:
            everything = replace(selection, refresh=False)
        if looks_at_pillar(other.project, selection):
            returns = await other.run_async(everything, "saltutil.refresh_pillar", options=options)
        else:
            returns = await other.grains_async(everything, options)
        return {id: result for id, result in returns.items() if result.exit_code}

    def runner(
        self,
        fun: str,
        args: list[Any] | None = None,
        kwargs: dict[str, Any] | None = None,
        options: JobOptions | None = None,
    ) -> dict[str, Any]:
        """Call a runner function on the controller: ``return`` and ``success``. Raises FunctionError."""
        from pushsalt.orchestrate.runnercalls import call

        return self._wait(call(self, options or JobOptions(), fun, list(args or ()), dict(kwargs or {})))

    def apply(
        self, selection: Selection, sls: list[str] | None = None, options: JobOptions | None = None
    ) -> dict[str, TargetReturn]:
        """Apply these SLS, or the highstate, to each target."""
        return self._wait(self.apply_async(selection, sls, options))

    async def apply_async(
        self, selection: Selection, sls: list[str] | None = None, options: JobOptions | None = None
    ) -> dict[str, TargetReturn]:
        return await _gather(self.stream_apply(selection, sls, options))

    def stream_apply(
        self, selection: Selection, sls: list[str] | None = None, options: JobOptions | None = None
    ) -> AsyncIterator[TargetReturn]:
        job = Job("apply", "state.apply" if sls else "state.highstate", list(sls or []), {}, options or JobOptions())
        return self._stream(selection, job)

    def stream_plan(
        self, selection: Selection, sls: list[str], options: JobOptions, record: Recorder | None = None
    ) -> AsyncIterator[TargetReturn]:
        """Plan these SLS, or the highstate: what ``apply`` would change. ``record`` collects the content of a plan
        file.
        """
        options = replace(options, test=True, plan=True)
        job = Job("apply", "state.apply" if sls else "state.highstate", list(sls), {}, options, record=record)
        return self._stream(selection, job)

    def stream_planned(self, plan: PlanFile, options: JobOptions, accept_drift: bool) -> AsyncIterator[TargetReturn]:
        """Apply a plan to its ids. Raises NoTargetError if the inventory no longer has some of them."""
        from pushsalt.run.fromplan import Kept

        selection = Selection(",".join(plan.ids), "list")
        ids = self.target(selection)
        if missing := [id for id in plan.ids if id not in ids]:
            text = f"the plan has targets that the inventory no longer has: {', '.join(missing)}"
            raise NoTargetError(text, "nothing was done; make a new plan")
        given = plan.made["options"]
        options = replace(options, **{name: given[name] for name in ("pillar", "saltenv", "pillarenv")})
        job = Job("planned", "state.apply", [], {}, options, kept=Kept(plan, accept_drift))
        return self._stream(selection, job)

    def run(
        self,
        selection: Selection,
        fun: str,
        args: list[Any] | None = None,
        kwargs: dict[str, Any] | None = None,
        options: JobOptions | None = None,
    ) -> dict[str, TargetReturn]:
        """Call one execution function on each target."""
        return self._wait(self.run_async(selection, fun, args, kwargs, options))

    async def run_async(
        self,
        selection: Selection,
        fun: str,
        args: list[Any] | None = None,
        kwargs: dict[str, Any] | None = None,
        options: JobOptions | None = None,
    ) -> dict[str, TargetReturn]:
        return await _gather(self.stream_run(selection, fun, args, kwargs, options))

    def stream_run(
        self,
        selection: Selection,
        fun: str,
        args: list[Any] | None = None,
        kwargs: dict[str, Any] | None = None,
        options: JobOptions | None = None,
    ) -> AsyncIterator[TargetReturn]:
        return self._stream(selection, Job("call", fun, list(args or []), dict(kwargs or {}), options or JobOptions()))

    def grains(self, selection: Selection, options: JobOptions | None = None) -> dict[str, TargetReturn]:
        """Collect each target's grains, and cache them."""
        return self._wait(self.grains_async(selection, options))

    async def grains_async(self, selection: Selection, options: JobOptions | None = None) -> dict[str, TargetReturn]:
        return await _gather(self.stream_grains(selection, options))

    def stream_grains(self, selection: Selection, options: JobOptions | None = None) -> AsyncIterator[TargetReturn]:
        return self._stream(selection, Job("grains", "grains.items", options=options or JobOptions()))

    def clean(self, selection: Selection, options: JobOptions | None = None) -> dict[str, TargetReturn]:
        """Remove pushsalt's files from each target; returns the removed paths."""
        return self._wait(self.clean_async(selection, options))

    async def clean_async(self, selection: Selection, options: JobOptions | None = None) -> dict[str, TargetReturn]:
        return await _gather(self.stream_clean(selection, options))

    def stream_clean(self, selection: Selection, options: JobOptions | None = None) -> AsyncIterator[TargetReturn]:
        return self._stream(selection, Job("clean", "clean", options=options or JobOptions()))

    def raw(self, selection: Selection, command: str, options: JobOptions | None = None) -> dict[str, TargetReturn]:
        """Run a command in each target's own shell, without Python. The value has ``stdout``, ``stderr``,
        ``retcode``.
        """
        return self._wait(self.raw_async(selection, command, options))

    async def raw_async(
        self, selection: Selection, command: str, options: JobOptions | None = None
    ) -> dict[str, TargetReturn]:
        return await _gather(self.stream_raw(selection, command, options))

    def stream_raw(
        self, selection: Selection, command: str, options: JobOptions | None = None
    ) -> AsyncIterator[TargetReturn]:
        return self._stream(selection, Job("raw", "raw", [command], options=options or JobOptions()))

    def copy(self, selection: Selection, copy: Copy, options: JobOptions | None = None) -> dict[str, TargetReturn]:
        """Copy a file or a tree to each target, or from it."""
        return self._wait(self.copy_async(selection, copy, options))

    async def copy_async(
        self, selection: Selection, copy: Copy, options: JobOptions | None = None
    ) -> dict[str, TargetReturn]:
        return await _gather(self.stream_copy(selection, copy, options))

    def stream_copy(
        self, selection: Selection, copy: Copy, options: JobOptions | None = None
    ) -> AsyncIterator[TargetReturn]:
        return self._stream(selection, Job("copy", "cp", [copy], options=options or JobOptions()))

    def wait(
        self, selection: Selection, what: str = "ssh", seconds: float = 300.0, options: JobOptions | None = None
    ) -> dict[str, TargetReturn]:
        """Wait until a login on each target works (``ssh``), or until it has restarted (``reboot``)."""
        return self._wait(self.wait_async(selection, what, seconds, options))

    async def wait_async(
        self, selection: Selection, what: str = "ssh", seconds: float = 300.0, options: JobOptions | None = None
    ) -> dict[str, TargetReturn]:
        return await _gather(self.stream_wait(selection, what, seconds, options))

    def stream_wait(
        self, selection: Selection, what: str = "ssh", seconds: float = 300.0, options: JobOptions | None = None
    ) -> AsyncIterator[TargetReturn]:
        return self._stream(selection, Job("wait", "wait", [what, seconds], options=options or JobOptions()))

    def stream_job(self, selection: Selection, job: Job) -> AsyncIterator[TargetReturn]:
        """Run a given job, such as a repeated one."""
        return self._stream(selection, job)

    def stop(self, exit_code: int = EXIT_INTERRUPTED, gently: bool = False) -> None:
        """Stop the running work, from any thread; targets without a return get ``interrupted``.

        ``exit_code``: the exit code of the job in its record. ``gently``: on targets that run states, the running state
        is completed, and later ones are returned as not run.
        """
        self.stopped_with = exit_code
        if self._stop is not None:
            loop, stopping = self._stop
            loop.call_soon_threadsafe(stopping.request if gently else stopping.stop)

    @property
    def is_ending(self) -> bool:
        """Whether a gentle stop waits for running states."""
        return self._stop is not None and self._stop[1].is_ending

    async def _stream(self, selection: Selection, job: Job) -> AsyncIterator[TargetReturn]:
        import asyncio  # slow to import, and not needed without connections, here and below

        from pushsalt.run.jobbegin import begun
        from pushsalt.run.jobrecord import ProjectState, hide_given, hide_kept, recorder
        from pushsalt.run.jobstart import job_start
        from pushsalt.run.observers import Observers
        from pushsalt.run.returns import finish, open_delivery
        from pushsalt.run.rollout import Rollout, settle
        from pushsalt.run.runner import Runner
        from pushsalt.select.values import values_of
        from pushsalt.workers.jobevents import open_events, settle_events
        from pushsalt.workers.place import place_of

        project = self.project
        if renders(job, project.functions) and not project.config.opts["workers"]:
            project.pool.start()  # before data of targets is read, so that it is ready when needed
        hide_given(project, job)
        if selection.refresh:
            say_not_refreshed(await self.refresh_async(selection, job.options))
        ids = self.target(selection)
        opts = project.config.opts if job.kind in ("apply", "call", "raw") else {}  # Salt's words of batches
        course = settle(job.options, opts, ids, partial(values_of, project))
        delivery = open_delivery(project, job)
        self.reporter.run_started(ids, job.title)
        job = replace(job, jid=job.jid or new_jid())
        log.debug("job %s: %s on %d targets", job.jid, job.title, len(ids))
        runner = Runner(project, job, course.width, len(ids) == 1, kept=self._connections(job), on_value=self.on_value)
        self._stop = (asyncio.get_running_loop(), stopping := runner.stopping)
        keeps = self.keeps_jobs and not job.options.plan
        record = recorder(project, job) if keeps else None
        events = open_events(project, runner) if keeps else None
        others = [*self.observers, *([delivery] if delivery else []), *([events] if events else [])]
        runner.keep = (observers := Observers(record, others, project.redactor)).keep
        place = place_of(project, self.settings, runner, ids, course)
        rollout = Rollout(course, place.run_one, self.reporter, stopping, place.check, observers.returned)
        state = partial(job_start, job, selection, ids, self.words, project.redactor)
        try:
            if not self._is_within:
                await project.prepare(stopping.requested)
            await runner.list_copy_sources()
            if record is not None:
                await runner.in_thread(partial(hide_kept, project, job, ids))
            start, early = await place.open(state()), place.begins_early and self.on_begin is _ignore_jid
            project_state = ProjectState(project, record)
            returning = begun(runner, observers, start, rollout, self.on_begin, early=early)
            async with aclosing(returning) as returns:
                async for result in returns:
                    yield result
            if record is not None:
                record.restated(state())  # does not have the secrets that were found in the targets' pillar since
            await project_state.settled()
        finally:
            self._stop = None
            await observers.job_ends(self.stopped_with if stopping.requested.is_set() else None)
            await place.close()
            await settle_events(events, project)
            await finish(delivery, project, stopped=stopping.requested.is_set())
            self.reporter.run_finished()
        if runner.kept and record is not None and not stopping.requested.is_set():
            await self._collect(job, runner.kept)

    def _connections(self, job: Job) -> KeptConnections | None:
        """The connections that jobs of this client share."""
        return self._kept if self._keeping is None else self._keeping.connections(self.project, job)

    async def _collect(self, job: Job, kept: dict[str, list[str]]) -> None:
        """Collect the returns of earlier jobs that are stored on targets of this job. ``kept``: JID -> ids."""
        from pushsalt.run.latereturns import collect

        if not job.resumes:
            await collect(self.jobs, self.within().stream_job, self.reporter, kept)

    def _wait(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Run a coroutine to its end, also if the caller has a running event loop."""
        import asyncio
        import threading

        if self._keeping is not None and not self._keeping.is_current:
            return self._keeping.run(work)
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return asyncio.run(work)
        answers: list[Result] = []
        troubles: list[BaseException] = []

        def run() -> None:
            try:
                answers.append(asyncio.run(work))
            except BaseException as exc:
                troubles.append(exc)

        thread = threading.Thread(target=run, name="pushsalt")
        thread.start()
        thread.join()
        if troubles:
            raise troubles[0]
        return answers[0]


def _ignore_jid(jid: str) -> None:
    """The default of ``on_begin``."""


def renders(job: Job, functions: ControllerFunctions) -> bool:
    """Whether a job is sure to render something."""
    return job.kind == "apply" or (job.kind == "call" and functions.named(job.fun) is not None)


def _some(ids: list[str], number: int) -> list[str]:
    """Randomly chosen ids, in their order, at most ``number``. Salt: ``--subset``."""
    chosen = set(random.sample(range(len(ids)), min(number, len(ids))))
    return [id for at, id in enumerate(ids) if at in chosen]


def say_not_refreshed(failed: dict[str, TargetReturn]) -> None:
    """Warn of targets whose caches were not updated."""
    for id, result in failed.items():
        error = result.ret.get("error", {}) if isinstance(result.ret, dict) else {}
        log.warning("%s: not refreshed: %s", id, error.get("message") or "its pillar cannot be compiled")


async def _gather(stream: AsyncIterator[TargetReturn]) -> dict[str, TargetReturn]:
    return {result.id: result async for result in stream}
