"""The status page: it is made of counts, so that jobs with many returns do not delay it."""

from __future__ import annotations

import asyncio
import sqlite3
import time

import pytest

from pushsalt.jobs.database import path_of
from pushsalt.jobs.jid import new_jid
from pushsalt.jobs.model import JobStart
from pushsalt.jobs.prune import Bounds
from pushsalt.jobs.record import JobRecord
from pushsalt.model import TargetReturn
from tests.beds.serving import Served

pytestmark = pytest.mark.slow

TARGETS = 5000


def record_running_job(cache_dir):
    """Record a job that runs in this process, with the returns of all targets but one."""
    ids = [f"t{number}" for number in range(TARGETS)]
    warnings = []
    recorder = JobRecord(path_of(cache_dir), warnings.append, Bounds())

    async def record():
        jid = new_jid()
        recorder.job_begins(JobStart(jid, "test.ping", tgt="t*", ids=ids, start=time.time(), user="me"))
        for id in ids[1:]:
            recorder.target_returned(TargetReturn(id, True))
        await recorder.committed()
        return jid

    jid = asyncio.run(record())
    assert warnings == []
    return jid


def test_a_running_job_is_shown_by_counts(tmp_path):
    """The returns of the job are made unreadable: the page shows their number, and reads none of them."""
    with Served(tmp_path) as served:
        jid = record_running_job(served.project.cache)
        with sqlite3.connect(path_of(served.project.cache)) as connection:
            connection.execute("UPDATE returns SET ret = x'00', more = x'00'")
        connection.close()
        answer = served.get("/", "anna", headers={"Accept": "text/html"})
        text = answer.body.decode()
        assert answer.status == 200 and f"<a href='/jobs/{jid}'>" in text
        assert f"<progress max='{TARGETS}' value='{TARGETS - 1}'></progress> {TARGETS - 1} of {TARGETS}" in text
        [active] = served.low("anna", client="runner", fun="jobs.active").data["return"]
        assert active[jid]["Running"] == [{"t0": None}] and len(active[jid]["Returned"]) == TARGETS - 1
