"""Runs an orchestration: its SLS is compiled for the controller, whose session may run jobs on targets.

An orchestration that another one starts by a runner is run the same way, within the process and project of the first.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pushsalt.job import Job
from pushsalt.orchestrate.master import master_id, master_target
from pushsalt.orchestrate.steps import Steps
from pushsalt.run.runner import Runner, close_connecting, connect_options
from pushsalt.run.single import run_on
from pushsalt.transport.kept import KeptConnections

if TYPE_CHECKING:
    from pushsalt.job import JobOptions
    from pushsalt.model import TargetReturn
    from pushsalt.orchestrate.jobs import Jobs


async def orchestrate(client: Jobs, sls: list[str], options: JobOptions) -> TargetReturn:
    """Run these SLS files on the controller; the return is that of the id ``HOSTNAME_master``.

    Raises CommandError for a project that cannot be used.
    """
    project, stop = client.project, asyncio.Event()
    with client.stoppable(stop):
        project.pool.start()
        project.redactor.add_pillar(options.pillar)
        client.reporter.run_started([master_id()], f"orchestrate {', '.join(sls)}")
        try:
            await project.prepare(stop)
            result = await _orchestrated(client, sls, options, stop)
            client.reporter.target_done(result)
            return result
        finally:
            client.reporter.run_finished()


async def orchestrate_within(client: Jobs, sls: list[str], options: JobOptions) -> TargetReturn:
    """Run an orchestration as a step of another one."""
    return await _orchestrated(client, sls, options, asyncio.Event())


async def call_on_master(
    client: Jobs, options: JobOptions, fun: str, args: list[Any], kwargs: dict[str, Any]
) -> TargetReturn:
    """The return of an execution function that is called on the controller, as a step of an orchestration."""
    options = replace(options, test=False, pillar=None, batch=None)
    return await _on_master(client, Job("call", fun, args, kwargs, options), asyncio.Event())


async def _orchestrated(client: Jobs, sls: list[str], options: JobOptions, stop: asyncio.Event) -> TargetReturn:
    options = replace(options, unknown_states_run=True)
    return await _on_master(client, Job("apply", "state.sls", sls, {}, options), stop)


async def _on_master(client: Jobs, job: Job, stop: asyncio.Event) -> TargetReturn:
    runner = Runner(client.project, replace(job, jid=client.new_jid()), 1, alone=True)
    kept = KeptConnections(connect_options(client.project, job))
    runner.steps = Steps(client, job.options, kept)
    work = asyncio.ensure_future(run_on(runner, master_target(), master_id()))
    stopping = asyncio.ensure_future(stop.wait())
    try:
        await asyncio.wait((work, stopping), return_when=asyncio.FIRST_COMPLETED)
        if not work.done():
            work.cancel()
        result = await work
        return result
    finally:
        stopping.cancel()
        await kept.close()
        await close_connecting(kept.options)
        await runner.close()


def as_printed(result: TargetReturn) -> dict[str, Any]:
    """What ``salt-run state.orchestrate --out json`` prints: ``data``, ``outputter``, ``retcode``."""
    return {"data": {result.id: result.ret}, "outputter": "highstate", "retcode": int(bool(result.exit_code))}
