"""Brings a job that another controller has begun into the record of this one, from the NATS server alone."""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING

from pushsalt.jobs.database import path_of
from pushsalt.jobs.jid import is_jid
from pushsalt.jobs.jobs import JobError, Jobs, KeptJob
from pushsalt.jobs.model import JobEnd
from pushsalt.jobs.record import JobRecord
from pushsalt.run.jobrecord import bounds_of
from pushsalt.run.observers import redacted
from pushsalt.workers import connection as nats
from pushsalt.workers import names, parties, state
from pushsalt.workers.ledger import Ledger
from pushsalt.workers.reading import read_all

if TYPE_CHECKING:
    from pushsalt.run.project import Project

log = logging.getLogger(__name__)


async def get(project: Project, jobs: Jobs, word: str) -> KeptJob:
    """The recorded job of a word; one that is not recorded here is looked for at the NATS server. Raises JobError."""
    url = str(project.config.opts.get("workers") or "")
    try:
        found = jobs.get(word)
        if not url or not found.is_left:
            return found
    except JobError:
        if not url or not is_jid(word.strip()):
            raise
        found = None
    jid = word.strip() if found is None else found.jid
    if not await _adopted(project, url, jid, found) and found is None:
        text = f"neither this record nor the NATS server at {nats.shown(url)} has a job {jid}"
        raise JobError(text, "pushsalt jobs list shows what is kept here")
    return jobs.get(jid)


async def _adopted(project: Project, url: str, jid: str, found: KeptJob | None) -> bool:
    """Record what the server has of a job; False if it has nothing."""
    connection = await nats.connect(url, parties.keys_folder(project))
    try:
        party = parties.controllers(project, url)
        job = await state.load(connection, party, jid)
        if job is None:
            return False
        warn = partial(project.reporter.warning, None)
        ledger = Ledger(jid, job.key, warn, lambda id: None, party)
        record = JobRecord(
            path_of(project.config.cache_dir), warn, bounds_of(project.config.opts), resumes=found is not None
        )
        record.job_begins(job.start)
        returned = 0
        async for subject, data in read_all(connection, names.returns_subject(jid=jid), start=job.first):
            answer = ledger.take(subject, data)
            if answer is None:
                continue
            returned += 1
            project.redactor.add_secrets(*answer.secrets)
            project.redactor.add_pillar(answer.pillar)
            record.target_returned(redacted(answer.result, project.redactor))
        is_whole = returned >= len(job.start.ids)
        if is_whole and job.end:
            record.job_ends(JobEnd(job.exit_code, "done" if job.state == "done" else "interrupted", job.end))
        else:
            record.job_ends(JobEnd(0, "running"))
        await record.committed()
        return True
    finally:
        await connection.close()
