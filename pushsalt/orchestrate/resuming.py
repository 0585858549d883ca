"""Resumes an orchestration that failed or was stopped: states that succeeded are not run again."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from pushsalt.errors import UsageError
from pushsalt.orchestrate.recorded import KIND
from pushsalt.orchestrate.running import orchestrate
from pushsalt.run import again

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pushsalt.job import JobOptions
    from pushsalt.jobs.jobs import KeptJob
    from pushsalt.model import TargetReturn
    from pushsalt.orchestrate.jobs import Jobs

log = logging.getLogger(__name__)


async def resume(client: Jobs, word: str, sls: list[str], options: JobOptions) -> TargetReturn:
    """Run the rest of the orchestration that ``word`` names, as the same job. Returns the return of all states.

    ``sls``: empty, or its SLS names; ``options``: override the options it was run with. Raises CommandError.
    """
    kept = client.jobs.get(word)
    if kept.detail.get("kind") != KIND:
        raise UsageError(f"the job {kept.jid} is no orchestration", f"pushsalt jobs resume {kept.jid} goes on with it")
    names = str(kept.arg[0]).split(",") if kept.arg else []
    if sls and sls != names:
        raise UsageError(f"the job {kept.jid} is one of {', '.join(names)}, not of {', '.join(sls)}", "leave out SLS")
    options = again.same_options(kept, options)
    done = finished(client, kept)
    client.jobs.claim(kept)
    try:
        for text in again.said_differences(client.project, kept):
            log.warning("since the job %s: %s", kept.jid, text)
        again.pin(client.project, kept)
        return await orchestrate(client, names, options, kept.jid, done, kept.kwarg.get("exclude"))
    finally:
        again.unpin(client.project)
        client.jobs.release(kept)


def finished(client: Jobs, kept: KeptJob) -> dict[str, Any]:
    """tag -> return of the states that succeeded, or that did not have to run."""
    returns: Mapping[str, Any] = client.jobs.parts(kept, "state")
    for result in client.jobs.returns(kept).values():
        if result.shape == "states":
            returns = {**returns, **result.ret}
        elif result.shape == "error":
            returns = {**returns, **result.ret["error"].get("returned", {})}
    return {tag: ret for tag, ret in returns.items() if isinstance(ret, dict) and ret.get("result") is True}
