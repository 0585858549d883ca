"""pushsalt from Python, with the command line's words; the command line itself is built on it.

    from pushsalt.api import Client, Selection, Settings

    client = Client(Settings(inventories=[Path("inventory.yaml")]))
    returns = client.apply(Selection("web*"), ["apache"])          # {id: TargetReturn}

Each call has an async twin (``apply_async``); ``stream_apply`` and ``stream_run`` yield each target's return as it
finishes. Trouble of one target is its return (``TargetReturn.ret["error"]``); only a wrong command raises
(``errors.CommandError``). A Client keeps no global state: several may work side by side.
"""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncIterator, Coroutine
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from pushsalt.events import Reporter
from pushsalt.job import Job, JobOptions, Selection, Settings
from pushsalt.model import Target, TargetReturn

if TYPE_CHECKING:
    import asyncio

    from pushsalt.minion.wrappers import ControllerFunctions
    from pushsalt.redact import Redactor
    from pushsalt.run.project import Project
    from pushsalt.session.copying import Copy

__all__ = ["Client", "JobOptions", "Reporter", "Selection", "Settings", "Target", "TargetReturn"]

log = logging.getLogger(__name__)

Result = TypeVar("Result")


class Client:
    """One project: its configuration, inventory and caches, read when first needed."""

    def __init__(self, settings: Settings | None = None, reporter: Reporter | None = None) -> None:
        self.settings = settings or Settings()
        self.reporter = reporter or Reporter()
        self._project: Project | None = None
        self._stop: tuple[asyncio.AbstractEventLoop, asyncio.Event] | None = None

    @property
    def project(self) -> Project:
        """Configuration, inventory, file server and runtime. Raises CommandError when they can't be read."""
        if self._project is None:
            from pushsalt.run.project import Project

            self._project = Project.open(self.settings, self.reporter)
        return self._project

    def redactor(self) -> Redactor:
        """Hides the secrets that this client has met so far."""
        return self.project.redactor

    def target(self, selection: Selection) -> list[str]:
        """The ids that match, in the inventory's order; nothing is connected to. Raises NoTargetError on none.

        Without an inventory only the very id ``localhost`` is a target: any other raises InventoryError.
        """
        return self.project.select(
            selection.expr, selection.tgt_type, selection.delimiter, selection.exclude, selection.limit
        )

    def explain(self, selection: Selection, ids: list[str]) -> dict[str, dict[str, Any]]:
        """Why each of these ids matches or not (``pushsalt.select.explain``); nothing is connected to."""
        from pushsalt.select.explain import explain

        return explain(self.project, selection, ids)

    def refresh(self, selection: Selection, options: JobOptions | None = None) -> dict[str, TargetReturn]:
        """Collect grains, and pillar if the expression uses it, of all targets; returns the failed ones."""
        return self._wait(self.refresh_async(selection, options))

    async def refresh_async(self, selection: Selection, options: JobOptions | None = None) -> dict[str, TargetReturn]:
        from pushsalt.select.explain import looks_at_pillar

        other = Client(self.settings)  # with its own reporter, since this is not the requested job
        other.project.redactor = self.project.redactor
        options = replace(options or JobOptions(), test=False, pillar=None, saltenv=None, pillarenv=None, batch=None)
        everything = Selection("*", "compound")  # includes all resources, unlike a glob
        if not other.project.config.has_inventory:
            everything = replace(selection, refresh=False)
        if looks_at_pillar(other.project, selection):
            found = await other.run_async(everything, "saltutil.refresh_pillar", options=options)
        else:
            found = await other.grains_async(everything, options)
        return {id: result for id, result in found.items() if result.exit_code}

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
        """Run a command by each target's own shell, without Python: ``stdout``, ``stderr``, ``retcode``."""
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

    def stop(self) -> None:
        """Stop the running work, from any thread; targets without a return get ``interrupted``."""
        if self._stop is not None:
            loop, event = self._stop
            loop.call_soon_threadsafe(event.set)

    async def _stream(self, selection: Selection, job: Job) -> AsyncIterator[TargetReturn]:
        import asyncio  # slow to import, and not needed without connections, here and below

        from pushsalt.run.fanout import fan_out
        from pushsalt.run.runner import Runner
        from pushsalt.run.single import run

        project = self.project
        if renders(job, project.functions):
            project.pool.start()  # before data of targets is read, so that it is ready when needed
        project.redactor.add_pillar(job.options.pillar)
        if selection.refresh:
            say_not_refreshed(await self.refresh_async(selection, job.options))
        ids = self.target(selection)
        width = job.options.width(len(ids))
        stop = asyncio.Event()
        self._stop = (asyncio.get_running_loop(), stop)
        self.reporter.run_started(ids, job.title)
        if job.options.batch is not None:
            self.reporter.run_batched(width)
        runner = Runner(project, job, new_jid(), width, alone=len(ids) == 1)
        try:
            await project.prepare(stop)
            await runner.list_copy_sources()
            async for result in fan_out(ids, partial(run, runner), width, self.reporter, stop):
                yield result
        finally:
            self._stop = None
            await runner.close()
            self.reporter.run_finished()

    def _wait(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Run a coroutine to its end, also if the caller has a running event loop."""
        import asyncio
        import threading

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


def renders(job: Job, functions: ControllerFunctions) -> bool:
    """Whether a job is sure to render something."""
    return job.kind == "apply" or (job.kind == "call" and functions.named(job.fun) is not None)


def say_not_refreshed(failed: dict[str, TargetReturn]) -> None:
    """Warn of targets whose caches were not updated."""
    for id, result in failed.items():
        error = result.ret.get("error", {}) if isinstance(result.ret, dict) else {}
        log.warning("%s: not refreshed: %s", id, error.get("message") or "its pillar cannot be compiled")


async def _gather(stream: AsyncIterator[TargetReturn]) -> dict[str, TargetReturn]:
    return {result.id: result async for result in stream}


def new_jid() -> str:
    """A job id: when it began, in Salt's digits (year to microsecond, UTC)."""
    now = time.time()
    return time.strftime("%Y%m%d%H%M%S", time.gmtime(now)) + f"{int(now % 1 * 1_000_000):06}"
