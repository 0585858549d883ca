"""Runs an orchestration: its SLS is compiled for the controller, whose session may run jobs on targets.

An orchestration that another one starts by a runner is run the same way, in the process and project of the first.
It is stopped in two steps, as jobs are: at first, the running step is finished if possible, and no later one is run.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pushsalt.errors import EXIT_FAILED
from pushsalt.job import Job
from pushsalt.jobs.model import JobStart
from pushsalt.orchestrate.master import master_id, master_target
from pushsalt.orchestrate.recorded import Recorded
from pushsalt.orchestrate.steps import Steps
from pushsalt.run.fanout import failure
from pushsalt.run.runner import Runner, close_connecting, connect_options
from pushsalt.run.single import run_on
from pushsalt.run.stopping import Stopping
from pushsalt.transport.kept import KeptConnections
from pushsalt.workers.jobevents import open_events, settle_events

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pushsalt.job import JobOptions
    from pushsalt.journal.jobevents import JobEvents
    from pushsalt.model import TargetReturn
    from pushsalt.orchestrate.jobs import Jobs


async def orchestrate(
    client: Jobs,
    sls: list[str],
    options: JobOptions,
    jid: str = "",
    done: Mapping[str, Any] | None = None,
    exclude: Any = None,
) -> TargetReturn:
    """Run these SLS files on the controller; the return has the id ``HOSTNAME_master``.

    ``jid``: that of the recorded job that is resumed; ``done``: its returns, whose states are not run again.
    ``exclude``: SLS and IDs that are left out, as for ``state.sls``.
    Raises CommandError for a project that cannot be used.
    """
    project, stopping = client.project, Stopping()
    with client.stoppable(stopping):
        project.pool.start()
        if project.config.has_inventory:
            _ = project.inventory  # a wrong one is an error of the command, not of a step
        project.redactor.add_pillar(options.pillar)
        client.reporter.run_started([master_id()], f"orchestrate {', '.join(sls)}")
        try:
            await project.prepare(stopping.requested)
            result = await _orchestrated(client, _job(client, sls, options, jid, exclude), stopping, done or {})
            client.reporter.target_done(result)
            return result
        finally:
            client.reporter.run_finished()


async def orchestrate_within(
    client: Jobs, sls: list[str], options: JobOptions, jid: str = "", exclude: Any = None, within: str = ""
) -> TargetReturn:
    """Run an orchestration as a step of another one, or for a runner; ``jid``: its JID, if it was told before.

    ``within``: the JID of the outermost orchestration, which is ``__orchestration_jid__`` of all inner ones (Salt).
    """
    job, stopping = _job(client, sls, options, exclude=exclude), Stopping()
    with client.stoppable(stopping):
        return await _orchestrated(client, replace(job, jid=jid) if jid else job, stopping, {}, within)


async def call_on_master(
    client: Jobs, options: JobOptions, fun: str, args: list[Any], kwargs: dict[str, Any]
) -> TargetReturn:
    """The return of an execution function that is called on the controller, as a step of an orchestration."""
    options = replace(options, test=False, pillar=None, batch=None)
    job, stopping = Job("call", fun, args, kwargs, options, jid=client.new_jid()), Stopping()
    events = open_events(client.project) if client.keeps_jobs else None
    if events is not None:
        events.run_begins(JobStart(job.jid, fun))
    try:
        with client.stoppable(stopping):
            return await _on_master(client, job, stopping, events, {})
    finally:
        await settle_events(events, client.project)


def _job(client: Jobs, sls: list[str], options: JobOptions, jid: str = "", exclude: Any = None) -> Job:
    options = replace(options, unknown_states_run=True)
    kwargs = {"exclude": exclude} if exclude else {}
    return Job("apply", "state.sls", sls, kwargs, options, jid=jid or client.new_jid(), resumes=bool(jid))


async def _orchestrated(
    client: Jobs, job: Job, stopping: Stopping, done: Mapping[str, Any], within: str = ""
) -> TargetReturn:
    recorded = Recorded(client, job, master_id(), within or job.jid)
    try:
        await recorded.begins()
        result = await _on_master(client, job, stopping, recorded, done)
        if result.ret == {}:
            result.exit_code = EXIT_FAILED  # Salt: an orchestration without states has failed
        await recorded.returned(result)
        return result
    finally:
        await recorded.ends(client.stopped_with if stopping.requested.is_set() else None)


async def _on_master(
    client: Jobs, job: Job, stopping: Stopping, events: Recorded | JobEvents | None, done: Mapping[str, Any]
) -> TargetReturn:
    runner = Runner(client.project, job, 1, alone=True)
    runner.stopping, runner.done = stopping, dict(done)
    kept = KeptConnections(connect_options(client.project, job))
    steps = Steps(client, job.options, kept, events if isinstance(events, Recorded) else None)
    runner.steps = steps
    if isinstance(events, Recorded):
        runner.on_state, runner.on_event = events.state, events.event
        runner.of_orchestration = {"orchestration_jid": events.outermost}
    elif events is not None:
        runner.on_event = events.fired
    work = asyncio.ensure_future(run_on(runner, master_target(), master_id()))
    try:
        await _until_done(work, stopping, steps)
        return await work
    except asyncio.CancelledError as exc:
        if not work.cancelled():  # the waiting task was cancelled, not the work
            raise
        return failure(master_id(), exc)
    finally:
        work.cancel()
        steps.stop(gently=False)
        await kept.close()
        await close_connecting(kept.options)
        await runner.close()


async def _until_done(work: asyncio.Future[TargetReturn], stopping: Stopping, steps: Steps) -> None:
    """Wait for the end of the work, and stop it in steps as they are requested."""
    for event, gently in ((stopping.requested, True), (stopping.at_once, False)):
        requested = asyncio.ensure_future(event.wait())
        try:
            await asyncio.wait((work, requested), return_when=asyncio.FIRST_COMPLETED)
        finally:
            requested.cancel()
        if work.done():
            return
        steps.stop(gently=gently)
        stopping.cancel({work: master_id()})  # type: ignore[dict-item]
    await asyncio.wait((work,))
