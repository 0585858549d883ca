"""Runs one reaction: a job on targets, a runner function, or a function on the controller.

A reaction of the kind ``local`` whose process has ended before it was done is resumed as the same job: it runs on the
targets that were not asked yet, and the returns of the others are collected (docs/lost-connections.md). Reactions of
other kinds are not run again, since it is not known what they have done.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from pushsalt.errors import EXIT_NO_ANSWER, FunctionError, NoTargetError, PushsaltError
from pushsalt.job import Job, Selection
from pushsalt.jobs.jobs import JobError
from pushsalt.orchestrate import rollouts, runnercalls, wheels
from pushsalt.orchestrate.running import call_on_master
from pushsalt.run import again

if TYPE_CHECKING:
    from pushsalt.job import JobOptions
    from pushsalt.jobs.jobs import KeptJob
    from pushsalt.journal.reactions import Begun
    from pushsalt.model import TargetReturn
    from pushsalt.orchestrate.jobs import Jobs
    from pushsalt.reactor.calls import Call

#: Seconds that a run of states waits for another one on its target.
_WAIT_LOCK: Final = 600.0
#: Seconds between attempts to resume a job whose returns another process is collecting.
_AGAIN: Final = 0.5


class UnknownError(PushsaltError):
    """It is not known what a reaction did before its process ended."""


@dataclass(frozen=True)
class Means:
    """The objects that a reaction uses; ``returned`` is awaited for each target that has returned."""

    client: Jobs
    options: JobOptions
    returned: Callable[[str], Awaitable[None]]


async def do(means: Means, call: Call, jid: str, begun: Begun | None) -> None:
    """Run a reaction as the job with this JID. Raises PushsaltError if it fails.

    ``begun``: the record of an earlier process that has begun it.
    """
    if call.kind == "local":
        await _job(means, call, jid, begun)
        return
    if begun is not None:
        text = f"{call.title} had begun when the reactor was ended: what it did is unknown"
        raise UnknownError(text, "it is not done again; look at what it was to do")
    client = means.client
    if call.kind == "runner":
        answer = await runnercalls.call(client, means.options, call.fun, call.args, call.kwargs)
        if not answer["success"]:
            raise FunctionError("exception", f"{call.title} has failed", "", "SaltRunnerError")
    elif call.kind == "wheel":
        await wheels.answer(client, call.fun, call.kwargs)
    else:
        _raise_failed({"": await call_on_master(client, means.options, call.fun, call.args, call.kwargs)}, call)


async def _job(means: Means, call: Call, jid: str, begun: Begun | None) -> None:
    options = rollouts.options(means.options, call.job)
    options = replace(options, returners=call.returners, wait_lock=_WAIT_LOCK)
    selection = rollouts.selection(call.tgt, call.tgt_type, call.job.get("subset"))
    job = Job("call", call.fun, call.args, call.kwargs, options, jid=jid, survives=True)
    client, kept, returns = means.client, None, {}
    if begun is not None:
        done = set(begun.ids)
        kept = await _claimed(client, jid)
        if kept is not None:
            returns = client.jobs.returns(kept)
            done |= {id for id, result in returns.items() if result.exit_code != EXIT_NO_ANSWER}
            selection = again.selected([id for id in kept.ids if id not in done])
        elif done:
            selection = replace(selection, exclude=(f"L@{','.join(sorted(done))}",))
        job = replace(job, resumes=kept is not None or not client.project.config.opts["job_cache"])
    client.on_value = means.returned
    try:
        more = await _run(client, selection, job) if selection.expr else {}
    finally:
        if kept is not None:
            client.jobs.release(kept)
    if not more and not returns and begun is None:
        raise NoTargetError(f"{call.title}: no target matches {selection.expr!r}", "check tgt and tgt_type")
    _raise_failed({**returns, **more}, call)


async def _run(client: Jobs, selection: Selection, job: Job) -> dict[str, TargetReturn]:
    try:
        return {result.id: result async for result in client.stream_job(selection, job)}
    except NoTargetError:
        return {}


async def _claimed(client: Jobs, jid: str) -> KeptJob | None:
    """Claim the job, so that this process resumes it; None if the job did not begin."""
    while True:
        try:
            kept = client.jobs.get(jid)
        except JobError:
            return None
        try:
            client.jobs.claim(kept)
            return kept
        except JobError:  # another command is collecting its returns
            await asyncio.sleep(_AGAIN)


def _raise_failed(returns: dict[str, TargetReturn], call: Call) -> None:
    """Raises FunctionError for the first return that is a failure, if there is one."""
    failed = {id: result for id, result in returns.items() if result.exit_code}
    if not failed:
        return
    id, result = next(iter(failed.items()))
    text = result.ret["error"]["message"] if result.shape == "error" else "see its return"
    where = f" on {id}" if id else ""
    more = f" and {len(failed) - 1} more" if len(failed) > 1 else ""
    raise FunctionError("exception", f"{call.title} has failed{where}{more}: {text}", "", "SaltReactorError")
