"""What the targets of a job share: threads, connections, files to copy."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from pushsalt import transport
from pushsalt.config import TargetOptions
from pushsalt.errors import EXIT_NO_ANSWER, FunctionError, StateError, TargetError
from pushsalt.job import Job
from pushsalt.lazy import is_made
from pushsalt.plugins import folders
from pushsalt.run.stopping import Stopping

if TYPE_CHECKING:
    from pushsalt.model import Target, TargetReturn
    from pushsalt.run.project import Project
    from pushsalt.session.copying import LocalSources
    from pushsalt.transport.kept import KeptConnections

log = logging.getLogger(__name__)

Result = TypeVar("Result")


class Runner:
    """Threads, jump connections, files to copy. ``pushsalt.run.single`` runs the job on a target."""

    def __init__(
        self,
        project: Project,
        job: Job,
        width: int,
        alone: bool = False,
        within: bool = False,
        kept: KeptConnections | None = None,
        on_value: Callable[[str], Awaitable[None]] | None = None,
    ) -> None:
        """``alone``: the job has one target, whose log lines need no prefix. ``within``: the job belongs to a
        running job; file snapshots and secrets are not read again for it. ``kept``: connections that several jobs use.
        ``on_value`` is awaited with the name of a target that has returned, after the return is recorded and before
        the target removes it.
        """
        self.alone = alone
        self.project = project
        self.job = job
        self.jid = job.jid
        self._pools: dict[str, ThreadPoolExecutor] = {}
        self._ready = False
        self._declared: dict[str, asyncio.Task[dict[str, Any]]] = {}
        self._width = width
        self.sources: LocalSources | None = None
        self.stopping = Stopping()
        #: JID -> ids of targets that keep its return
        self.kept: dict[str, list[str]] = {}
        #: answers the questions of an orchestration's session, which is on the controller
        self.steps: Callable[[str, list[Any], dict[str, Any]], Awaitable[Any]] | None = None
        #: the field of the message ``run`` with ``__orchestration_jid__``; empty outside of orchestrations
        self.of_orchestration: dict[str, str] = {}
        #: tag -> return in the previous run of a resumed orchestration; these states are not run again
        self.done: dict[str, Any] = {}
        #: called with each return of a state: (id, tag, return)
        self.on_state: Callable[[str, str, dict[str, Any]], None] | None = None
        #: called with each event from a target: (id, tag, data, whether it comes from ``fire_event``)
        self.on_event: Callable[[str, str, Any, bool], None] | None = None
        #: records a return before the target removes it
        self.keep: Callable[[TargetReturn], Awaitable[None]] = _discard
        #: id -> name of the hand-out, if other processes may have the same job; see thin/handouts.py
        self.handouts: dict[str, str] = {}
        self.on_value = on_value
        #: renders the states of one target with its cached grains, while the targets collect theirs
        self.ahead: asyncio.Task[None] | None = None
        self.target_options = TargetOptions(project.config)
        #: set unless the job is not recorded yet (``pushsalt.run.jobbegin``)
        self.recorded = asyncio.Event()
        self.recorded.set()
        self._kept = kept
        self.connecting = connect_options(project, job) if kept is None else kept.options
        self._within = within
        if within:
            return
        if is_made(project, "shared"):  # the process has run a job before
            project.shared.look_again()
        project.secrets.forget()

    async def in_thread(self, function: Callable[[], Result]) -> Result:
        """Run a blocking function in a thread, so that other targets do not wait for it."""
        return await self._in_pool("pushsalt", function)

    async def answer_in_thread(self, function: Callable[[], Result]) -> Result:
        """Run a function that answers a question, in a separate pool: all threads of the other may wait for answers."""
        return await self._in_pool("pushsalt-answers", function)

    async def _in_pool(self, name: str, function: Callable[[], Result]) -> Result:
        pool = self._pools.get(name)
        if pool is None:
            pool = ThreadPoolExecutor(max_workers=min(32, self._width) + 4, thread_name_prefix=name)
            self._pools[name] = pool
        return await asyncio.get_running_loop().run_in_executor(pool, function)

    async def declared(self, manager: str) -> dict[str, Any]:
        """type -> its declaration in the pillar of a manager, without a session with it. Raises TargetError."""
        if manager not in self._declared:
            work = self._declared_of(manager)
            self._declared[manager] = asyncio.create_task(work, name=f"pillar {manager}")
        return await asyncio.shield(self._declared[manager])

    async def _declared_of(self, manager: str) -> dict[str, Any]:
        """The declarations by a manager's pillar, compiled with its last known grains.

        If the pillar cannot be compiled, the cached one is used. Raises TargetError if there is none.
        """
        from pushsalt.run.rendered import RenderedTarget
        from pushsalt.session.intake import imposed

        project = self.project
        target = await self.in_thread(partial(project.secrets.ready, project.inventory.targets[manager]))
        kept = project.grains.get(manager)
        grains = imposed(target, kept if isinstance(kept, dict) else {})
        options = self.job.options
        plain = replace(options, pillar=None, saltenv=None, pillarenv=None)
        values: Any
        self.ready_to_render()
        rendered = RenderedTarget(
            project,
            target,
            plain,
            grains,
            calls=None,
            in_thread=self.answer_in_thread,
            time_left=lambda: options.timeout,
        )
        try:
            values = await rendered.pillar()
        except (TargetError, FunctionError, StateError) as exc:
            log.debug("%s: its pillar cannot be compiled without it: %s", manager, exc)
            values = None
        finally:
            rendered.close()
        if values is None:
            values = project.pillar_bank.get(manager) if project.keeps_pillar else None
        if values is None:
            raise TargetError(
                "resource_unreachable",
                f"the pillar of {manager}, which declares what it manages, cannot be compiled",
                f"pushsalt run {manager} pillar.items says why",
            )
        return project.managed.declarations(target, values)

    async def connect(self, target: Target) -> transport.Connection:
        """A connection with the target. Raises TargetError."""
        if self._kept is not None:
            return await self._kept.connect(target)
        return await transport.connect(target, self.connecting)

    async def list_copy_sources(self) -> None:
        """List the files that are copied to all targets. Raises CommandError."""
        if self.job.kind == "copy" and self.job.args[0].to_target:
            from pushsalt.session.copying import LocalSources

            self.sources = await self.in_thread(partial(LocalSources, self.job.args[0]))

    def ready_to_render(self) -> None:
        """Tell the render processes what this job renders."""
        if not self._ready:
            from pushsalt.minion.settings import for_rendering

            self._ready = True
            pool = self.project.pool
            pool.start()
            pool.attach()
            level = logging.getLogger().getEffectiveLevel()
            memory = self.project.config.opts["render_memory"]
            config = for_rendering(self.project.config, self.project.groups)
            pool.setup({"config": config, "log_level": level, "memory": memory})
            pool.fork_ahead()

    async def tell_value(self, result: TargetReturn) -> None:
        """Pass the target's name to ``on_value``, if the target has returned."""
        if self.on_value is not None and not result.left and result.exit_code != EXIT_NO_ANSWER:
            await self.on_value(result.id)

    async def close(self) -> None:
        if self.ahead is not None:
            self.ahead.cancel()
        if self._ready:
            self.project.pool.detach()
        if self._kept is None:
            await close_connecting(self.connecting)
        for pool in self._pools.values():
            pool.shutdown(wait=False, cancel_futures=True)
        if is_made(self.project, "files"):
            from pushsalt.files.digests import digest_cache

            digest_cache.keep()


async def _discard(result: TargetReturn) -> None:
    """``Runner.keep`` for a job without record."""


def connect_options(project: Project, job: Job) -> transport.ConnectOptions:
    opts = project.config.opts
    return transport.ConnectOptions(
        accept_new_host_keys=job.options.accept_new_host_keys or bool(opts.get("accept_new_host_keys")),
        known_hosts_file=Path(opts["known_hosts_file"]) if opts.get("known_hosts_file") else None,
        ssh_config=_ssh_config(opts["ssh_config_file"]) if "ssh_config_file" in project.config.given else None,
        inventory=project.reachable,
        plugin_folders=folders("transport", opts),
        keeper=project.keeper if job.kind != "wait" else None,  # `wait` must make a new login
        **{name: opts[name] for name in ("connect_timeout", "keepalive_interval", "keepalive_count") if opts.get(name)},
    )


def _ssh_config(given: str) -> tuple[Path, ...]:
    return (Path(given),) if given else ()


async def close_connecting(options: transport.ConnectOptions) -> None:
    """Close the objects that a command's connections share."""
    await transport.close_all(options)
    if "resource" in options.shared:
        from pushsalt.transport import resource

        await resource.close(options)
    if "ssh" in options.shared:
        from pushsalt.transport import ssh

        await ssh.close(options)
    if options.shared.get("local"):
        from pushsalt.transport import local

        await local.close(options)
