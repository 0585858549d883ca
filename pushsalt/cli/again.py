"""Jobs that are done again: ``--rerun-failed`` of ``apply`` and ``run``, and ``jobs resume``."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from pushsalt.cli import stdio
from pushsalt.cli.client import Watcher, open_client
from pushsalt.cli.job import say_jid, watched
from pushsalt.cli.options import Given
from pushsalt.cli.returns import Returns
from pushsalt.errors import EXIT_OK, UsageError
from pushsalt.log import DEFAULT_LEVEL
from pushsalt.model import TargetReturn

if TYPE_CHECKING:
    from pushsalt.api import Client
    from pushsalt.job import JobOptions
    from pushsalt.jobs.jobs import KeptJob

log = logging.getLogger(__name__)


def rerun_failed(given: Given, words: list[str], kind: str) -> int:
    """Do the last job of this kind, or that of the JID in ``words``, again as a new job, where it did not end well."""
    if len(words) > 1:
        raise UsageError(
            "--rerun-failed takes a JID, or nothing", "the job has its targets, its function and arguments itself"
        )
    client, watcher, options = _opened(given)
    if words:
        kept = client.jobs.get(words[0])
    else:
        kept = _last(client, kind)
    return _again(given, client, watcher, options, kept, resumes=False)


def resume(given: Given, word: str) -> int:
    """Go on with a job: its returns so far stay, and the ids without a good one get it again, as the same job."""
    client, watcher, options = _opened(given)
    return _again(given, client, watcher, options, client.jobs.get(word), resumes=True)


def _opened(given: Given) -> tuple[Client, Watcher, JobOptions]:
    import sys

    given.job(DEFAULT_LEVEL)  # report invalid options before any file is read
    watcher = Watcher()
    client, level = open_client(given, stdio.TERMINAL.get(), watcher)
    client.words = sys.argv[1:]
    client.on_begin = partial(say_jid, given)
    return client, watcher, given.job(level)


def _last(client: Client, kind: str) -> KeptJob:
    found = next((job for job in client.jobs.list() if client.jobs.get(job.jid).detail.get("kind") == kind), None)
    if found is None:
        name = "run" if kind == "call" else kind
        raise UsageError(f"no job of `pushsalt {name}` is kept here", "pushsalt jobs list shows what is kept")
    return client.jobs.get(found.jid)


def _again(given: Given, client: Client, watcher: Watcher, options: JobOptions, kept: KeptJob, *, resumes: bool) -> int:
    from pushsalt.run import again

    terminal = stdio.TERMINAL.get()
    if options.pillar is None and again.secret_pillar(kept):
        options = replace(options, pillar=_asked_pillar(kept))
    before = client.jobs.returns(kept)
    todo = again.repeated(kept, before, options)
    returns = Returns(client, given, terminal, test=todo.job.options.test)
    stay = todo.good if resumes else {}
    if kept.state == "running":
        client.jobs.claim(kept)  # which says who is at it
    if not todo.ids:
        if not resumes:
            log.warning("the job %s ended well on all its targets: there is nothing to do", kept.jid)
            return EXIT_OK
        returns.write(stay)
        return EXIT_OK
    for text in again.said_differences(client.project, kept):
        log.warning("since the job %s: %s", kept.jid, text)
    again.pin(client.project, kept)
    job = replace(todo.job, jid=kept.jid, resumes=True) if resumes else todo.job

    def stream() -> AsyncIterator[TargetReturn]:
        return client.stream_job(todo.selection, job)

    if resumes:
        client.jobs.claim(kept)
    try:
        work = watched(given, terminal, client, watcher, returns, stream, stay)
    finally:
        again.unpin(client.project)
        if resumes:
            client.jobs.release(kept)
    returns.explain(work.results)
    return work.exit_code


def _asked_pillar(kept: KeptJob) -> dict[str, Any]:
    """The pillar of the job, its secret values asked for on the terminal. Raises UsageError without one."""
    from pushsalt.cli.asking import ask_value
    from pushsalt.run.again import secret_pillar, with_values

    keys = secret_pillar(kept)
    values = {key: ask_value(f"pillar {key} of the job {kept.jid}: ", kept.jid, keys) for key in keys}
    filled: dict[str, Any] = with_values(kept.detail["options"]["pillar"], values)
    return filled
