"""Repeats, continues and collects recorded jobs: ``--rerun-failed``, ``jobs resume`` and ``jobs wait``."""

from __future__ import annotations

import logging
import time
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from pushsalt.cli import stdio
from pushsalt.cli.client import Watcher
from pushsalt.cli.job import exit_code, opened, watched
from pushsalt.cli.options import Given
from pushsalt.cli.returns import Returns
from pushsalt.errors import EXIT_NO_ANSWER, EXIT_OK, UsageError
from pushsalt.model import TargetReturn

if TYPE_CHECKING:
    from pushsalt.api import Client
    from pushsalt.job import JobOptions
    from pushsalt.jobs.jobs import KeptJob

log = logging.getLogger(__name__)

#: Seconds between reads of the record, to detect the end of a job of another process.
_LOOK: Final = 0.25


def rerun_failed(given: Given, words: list[str], kind: str) -> int:
    """Repeat the last job of this kind, or that of the JID in ``words``, as a new job, on targets without a good
    return.
    """
    if len(words) > 1:
        raise UsageError(
            "--rerun-failed takes a JID, or no argument", "targets, function and arguments are those of the job"
        )
    client, watcher, options = opened(given, stdio.TERMINAL.get())
    if words:
        kept = client.jobs.get(words[0])
    else:
        kept = _last(client, kind)
    return _again(given, client, watcher, options, kept, resumes=False)


def resume(given: Given, word: str) -> int:
    """Continue a job under its JID: its good returns stay, and it runs again on the ids without one."""
    client, watcher, options = opened(given, stdio.TERMINAL.get())
    kept = recorded(client, word)
    if kept.detail.get("kind") == "orchestrate":
        from pushsalt.cli.orchestrate import resume as go_on

        return go_on(given, kept.jid)
    return _again(given, client, watcher, options, kept, resumes=True)


def recorded(client: Client, word: str) -> KeptJob:
    """A recorded job; with workers also one that another controller has begun. Raises JobError."""
    project = client.project
    if not project.config.opts["workers"]:
        return client.jobs.get(word)
    import asyncio

    from pushsalt.workers.adopt import get

    return asyncio.run(get(project, client.jobs, word))


def _last(client: Client, kind: str) -> KeptJob:
    last = next((job for job in client.jobs.list() if client.jobs.get(job.jid).detail.get("kind") == kind), None)
    if last is None:
        name = "run" if kind == "call" else kind
        raise UsageError(
            f"there is no record of a job of `pushsalt {name}`", "pushsalt jobs list shows the recorded jobs"
        )
    return client.jobs.get(last.jid)


def _again(given: Given, client: Client, watcher: Watcher, options: JobOptions, kept: KeptJob, *, resumes: bool) -> int:
    from pushsalt.run import again

    if options.pillar is None and again.secret_pillar(kept):
        options = replace(options, pillar=_asked_pillar(kept))
    if kept.is_left and not resumes:
        hint = f"pushsalt jobs wait {kept.jid}"
        raise UsageError(f"the job {kept.jid} is still running on its targets", hint)
    if kept.state == "running" or resumes:
        client.jobs.claim(kept)  # raises an error with the process that runs it
    try:
        return _repeated(given, client, watcher, options, kept, resumes=resumes)
    finally:
        if resumes:
            client.jobs.release(kept)


def _repeated(
    given: Given, client: Client, watcher: Watcher, options: JobOptions, kept: KeptJob, *, resumes: bool
) -> int:
    from pushsalt.run import again

    terminal = stdio.TERMINAL.get()
    todo = again.repeated(kept, client.jobs.returns(kept), options)
    returns = Returns(client, given, terminal, test=todo.job.options.test)
    stay = todo.good if resumes else {}
    if not todo.ids:
        if not resumes:
            log.warning("the job %s has good returns of all its targets: there is nothing to repeat", kept.jid)
            return EXIT_OK
        returns.write(stay, kept.elapsed)
        return EXIT_OK
    for text in again.said_differences(client.project, kept):
        log.warning("since the job %s: %s", kept.jid, text)
    again.pin(client.project, kept)
    job = replace(todo.job, jid=kept.jid, resumes=True) if resumes else todo.job
    try:
        work = watched(given, terminal, client, watcher, returns, lambda: client.stream_job(todo.selection, job), stay)
    finally:
        again.unpin(client.project)
    returns.explain(work.results)
    return exit_code(work, given)


def wait(given: Given, word: str) -> int:
    """Wait for the end of a job, collect its returns that are stored on targets, and show all its returns."""
    client, watcher, options = opened(given, stdio.TERMINAL.get())
    kept = recorded(client, word)
    end = None if options.timeout is None else time.monotonic() + options.timeout
    while kept.state == "running" and not kept.is_left and (end is None or time.monotonic() < end):
        time.sleep(_LOOK)
        kept = client.jobs.get(kept.jid)
    if end is not None:
        options = replace(options, timeout=max(_LOOK, end - time.monotonic()))
    before = client.jobs.returns(kept)
    returns = Returns(client, given, stdio.TERMINAL.get(), test=bool(kept.detail.get("options", {}).get("test")))
    if kept.state == "running" and not kept.is_left:
        returns.write(before, kept.elapsed)
        log.warning("the job %s is still running in another process", kept.jid)
        return EXIT_NO_ANSWER
    lacking = [id for id in kept.ids if id not in before]
    if not lacking:
        returns.write(before, kept.elapsed)
        returns.explain(before)
        worst = max((ret.exit_code for ret in before.values()), default=EXIT_OK)
        return worst if kept.exit_code is None else kept.exit_code
    return _collected(given, client, watcher, options, returns, kept, before, lacking)


def _collected(
    given: Given,
    client: Client,
    watcher: Watcher,
    options: JobOptions,
    returns: Returns,
    kept: KeptJob,
    before: dict[str, TargetReturn],
    ids: list[str],
) -> int:
    """Collect the job's returns that are stored on these targets, and show all its returns."""
    from pushsalt.run.again import collecting

    selection, job = collecting(kept, ids, options)
    client.jobs.claim(kept)
    try:
        stream = partial(client.stream_job, selection, job)
        work = watched(given, stdio.TERMINAL.get(), client, watcher, returns, stream, before)
    finally:
        client.jobs.release(kept)
    returns.explain({**before, **work.results})
    return work.exit_code if work.signal else max(work.exit_code, *(ret.exit_code for ret in before.values()), 0)


def _asked_pillar(kept: KeptJob) -> dict[str, Any]:
    """The ``--pillar`` of the job; secret values, which are not recorded, are asked for on the terminal. Raises
    UsageError without a terminal.
    """
    from pushsalt.cli.asking import ask_value
    from pushsalt.run.again import secret_pillar, with_values

    keys = secret_pillar(kept)
    values = {key: ask_value(f"pillar {key} of the job {kept.jid}: ", kept.jid, keys) for key in keys}
    filled: dict[str, Any] = with_values(kept.detail["options"]["pillar"], values)
    return filled
