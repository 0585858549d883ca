"""Does one reaction: a job on targets, a runner function, or a function on the controller.

A reaction of the kind ``local`` that was begun by a process that is gone is taken up as the same job: targets that were
not asked yet are asked, of the others the return is collected (docs/lost-connections.md). What the other kinds were
doing cannot be known: they are not done again.
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
#: Seconds between attempts to take up a job that another process is collecting.
_AGAIN: Final = 0.5


class UnknownError(PushsaltError):
    """What a reaction did before its process ended cannot be known."""


@dataclass(frozen=True)
class Means:
    """What a reaction works with; ``returned`` is awaited for each target that is done."""

    client: Jobs
    options: JobOptions
    returned: Callable[[str], Awaitable[None]]


async def do(means: Means, call: Call, jid: str, begun: Begun | None) -> None:
    """Do a reaction as the job of this JID. Raises PushsaltError if it fails.

    ``begun``: a process before this one has begun it.
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
        await asyncio.to_thread(wheels.call, client.project, call.fun, call.kwargs)
    else:
        _raise_failed({"": await call_on_master(client, means.options, call.fun, call.args, call.kwargs)}, call)


async def _job(means: Means, call: Call, jid: str, begun: Begun | None) -> None:
    options = rollouts.options(means.options, call.job)
    options = replace(options, returners=call.returners, wait_lock=_WAIT_LOCK)
    selection = rollouts.selection(call.tgt, call.tgt_type, call.job.get("subset"))
    job = Job("call", call.fun, call.args, call.kwargs, options, jid=jid, survives=True)
    client, kept, found = means.client, None, {}
    if begun is not None:
        done = set(begun.ids)
        kept = await _claimed(client, jid)
        if kept is not None:
            found = client.jobs.returns(kept)
            done |= {id for id, result in found.items() if result.exit_code != EXIT_NO_ANSWER}
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
    if not more and not found and begun is None:
        raise NoTargetError(f"{call.title}: no target matches {selection.expr!r}", "check tgt and tgt_type")
    _raise_failed({**found, **more}, call)


async def _run(client: Jobs, selection: Selection, job: Job) -> dict[str, TargetReturn]:
    try:
        return {result.id: result async for result in client.stream_job(selection, job)}
    except NoTargetError:
        return {}


async def _claimed(client: Jobs, jid: str) -> KeptJob | None:
    """The job, which this process goes on with; None if it did not begin."""
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


def _raise_failed(found: dict[str, TargetReturn], call: Call) -> None:
    """Raises FunctionError if a return is a failure, with the first of them."""
    failed = {id: result for id, result in found.items() if result.exit_code}
    if not failed:
        return
    id, result = next(iter(failed.items()))
    text = result.ret["error"]["message"] if result.shape == "error" else "see its return"
    where = f" on {id}" if id else ""
    more = f" and {len(failed) - 1} more" if len(failed) > 1 else ""
    raise FunctionError("exception", f"{call.title} has failed{where}{more}: {text}", "", "SaltReactorError")
