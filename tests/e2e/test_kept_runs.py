"""Runs that continue without their command, over real sshds: after a kill, or by ``--detach``; other commands collect
them.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.beds.processes import wait_until
from tests.beds.project import Done, Project, values
from tests.beds.sshd import SshdBed, free_port
from tests.e2e.test_lost_connections import STATES, at_work, counted, left, nothing_stays, site

pytestmark = [pytest.mark.slow, pytest.mark.sshd]

#: Each state counts itself; the second waits until it may go on. None needs the controller.
ALONE = STATES.partition("three:")[0] + "three:\n  cmd.run:\n    - name: echo three >> {home}/count\n"
IDS = ["one", "two", "three"]


class Site:
    """A project whose states run on ``t1``."""

    def __init__(self, project: Project, home: Path) -> None:
        self.project, self.home = project, home
        project.write("salt/alone.sls", ALONE.format(home=home))

    def killed(self, sls: str = "alone") -> str:
        """The JID of an apply whose command was killed in its second state."""
        process = self.project.start("apply", "--out", "json", "t1", sls)
        wait_until(lambda: "two" in counted(self.home))
        process.kill()
        process.communicate()
        (job,) = self.jobs("--limit", "1")
        assert job["state"] == "lost"
        return str(job["jid"])

    def detached(self) -> str:
        done = self.project.run("apply", "--detach", "t1", "alone")
        assert done.code == 0, done.err
        return done.out.strip()

    def jobs(self, *arguments: str) -> list[dict[str, Any]]:
        document: list[dict[str, Any]] = json.loads(self.project.run("jobs", "list", "--out", "json", *arguments).out)
        return document

    def go(self) -> None:
        (self.home / "go").touch()

    def until_kept(self) -> None:
        """Wait until the run has ended, and the target stores its return."""
        self.go()
        wait_until(lambda: any(name.endswith("/end") for name in left(self.home)))
        wait_until(lambda: not at_work(self.home))

    def all_once(self, done: Done) -> None:
        assert done.code == 0, (done.out, done.err)
        assert [ret["__id__"] for ret in values(done.data["t1"])] == IDS
        assert all(ret["result"] for ret in values(done.data["t1"]))
        assert counted(self.home) == IDS
        nothing_stays(self.home)


@pytest.fixture
def run(project: Callable[..., Project], bed: SshdBed) -> Iterator[Site]:
    home = bed.targets["t1"].home
    yield Site(site(project, home), home)
    for pid in at_work(home):  # processes of a failed test
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def test_a_killed_command_is_resumed_while_its_run_continues(run: Site) -> None:
    """If two commands resume at the same time, the second one is refused."""
    jid = run.killed()
    first = run.project.start("jobs", "resume", jid, "--out", "json")
    wait_until(lambda: run.jobs("--limit", "1")[0]["state"] == "running")
    second = run.project.run("jobs", "resume", jid)
    assert second.code == 1 and "still running, in process" in second.err
    run.go()
    run.all_once(Project.finish(first))
    (job,) = run.jobs("--limit", "1")
    assert (job["jid"], job["state"], job["exit_code"]) == (jid, "done", 0)


def test_a_killed_command_is_resumed_when_its_run_has_ended(run: Site) -> None:
    jid = run.killed()
    run.until_kept()
    run.all_once(run.project.json("jobs", "resume", jid))


@pytest.mark.parametrize("collects", [False, True], ids=["apply", "resume"])
def test_a_command_that_is_killed_before_it_records_a_return(run: Site, collects: bool) -> None:
    """The target keeps the return until it is recorded."""
    log = run.home / f"log-{collects}"
    words = ["jobs", "resume", run.killed()] if collects else ["apply", "t1", "alone"]
    process = run.project.start(*words, "--out", "json", "--log-file", str(log), "--log-file-level", "debug")
    wait_until(lambda: "two" in counted(run.home) and run.jobs("--limit", "1")[0]["state"] == "running")
    with record_held(run.project):
        run.go()
        wait_until(lambda: ("t1: wait: " if collects else "t1: run: ") in log.read_text())
        until = time.monotonic() + 1
        while time.monotonic() < until and left(run.home):
            time.sleep(0.02)
        assert left(run.home), "it is not recorded"
        process.kill()
        process.communicate()
    (job,) = run.jobs("--limit", "1")
    assert job["state"] == "lost"
    run.all_once(run.project.json("jobs", "resume", job["jid"]))


@contextlib.contextmanager
def record_held(project: Project) -> Iterator[None]:
    """A context in which other processes cannot write to the record."""
    connection = sqlite3.connect(project.cache / "jobs" / "jobs.sqlite3", isolation_level=None)
    try:
        connection.execute("BEGIN IMMEDIATE")
        yield
        connection.execute("ROLLBACK")
    finally:
        connection.close()


def test_a_run_that_needed_its_killed_command_is_done_again(run: Site) -> None:
    jid = run.killed("site")
    run.go()
    done = run.project.json("jobs", "resume", jid)
    assert done.code == 0, (done.out, done.err)
    assert [ret["__id__"] for ret in values(done.data["t1"])] == ["one", "two", "three", "four"]
    assert "the job is run again" in done.err and "needed an answer" in done.err
    assert counted(run.home) == ["one", "two", "one", "two", "four"]
    nothing_stays(run.home)


def test_a_detached_run_is_waited_for(run: Site) -> None:
    jid = run.detached()
    assert len(jid) == 20 and jid.isdigit()
    (job,) = run.jobs("--limit", "1")
    assert (job["jid"], job["state"], job["end"], job["unanswered"]) == (jid, "running", None, 0)
    early = run.project.json("jobs", "wait", jid, "--timeout", "2")
    assert early.code == 3 and early.data["t1"]["error"]["kind"] == "timeout", early.err
    again = run.project.run("apply", "--rerun-failed", jid)
    assert again.code == 1 and "still running on its targets" in again.err
    assert run.jobs("--limit", "1")[0]["state"] == "running"
    waiting = run.project.start("jobs", "wait", jid, "--out", "json")
    run.go()
    run.all_once(Project.finish(waiting))
    assert run.jobs("--limit", "1")[0]["state"] == "done"
    run.all_once(run.project.json("jobs", "wait", jid))


def test_the_next_contact_collects(run: Site) -> None:
    jid = run.detached()
    run.until_kept()
    done = run.project.json("run", "t1", "test.ping")
    assert done.data == {"t1": True}
    assert f"collected kept returns of the job {jid}: t1" in done.err
    run.all_once(run.project.json("jobs", "wait", jid))
    assert "collected" not in run.project.json("run", "t1", "test.ping").err


SAME = """
import asyncio, json
from pushsalt.api import Client, Selection, Settings
from pushsalt.job import Job
client = Client(Settings())
client.keeps_jobs = False
async def main():
    async for result in client.stream_job(Selection("t1"), Job("apply", "state.apply", ["alone"], jid="JID")):
        print(json.dumps({result.id: result.ret}))
asyncio.run(main())
"""


def test_a_target_does_not_run_a_job_that_it_has_finished(run: Site) -> None:
    jid = run.detached()
    run.until_kept()
    script = [sys.executable, "-c", SAME.replace("JID", jid)]
    done = subprocess.run(
        script, cwd=run.project.folder, env=run.project.environment, capture_output=True, text=True, check=False
    )
    run.all_once(Done(done.returncode, done.stdout, done.stderr))


def test_clean_removes_stored_runs(run: Site) -> None:
    jid = run.detached()
    run.until_kept()
    assert run.project.run("clean", "t1").code == 0
    assert not left(run.home)
    done = run.project.json("jobs", "wait", jid)
    assert done.code == 3 and "the target has no data of the job" in done.error("t1")["message"]
    run.home.joinpath("count").unlink()
    run.all_once(run.project.json("jobs", "resume", jid))


def test_a_detached_function(run: Site) -> None:
    command = f"while test ! -e {run.home}/go; do sleep 0.05; done; echo hello; exit 3"
    done = run.project.run("run", "t1", "cmd.run", command, "--async")
    assert done.code == 0 and at_work(run.home)
    run.until_kept()
    found = run.project.json("jobs", "wait", done.out.strip())
    assert found.code == 2 and found.data == {"t1": "hello"}, found.err
    nothing_stays(run.home)


def test_targets_that_cannot_begin_are_said(run: Site, project: Callable[..., Project], bed: SshdBed) -> None:
    made = project(t1=bed.targets["t1"].host(), t9={**bed.targets["t1"].host(), "port": free_port()})
    done = made.run("run", "t*", "test.ping", "--detach")
    assert done.code == 3 and len(done.out.strip()) == 20
    assert "t9: connection_refused" in done.err
    found = made.json("jobs", "wait", "last")
    assert found.code == 3 and found.data["t1"] is True and found.error("t9")["kind"] == "connection_refused"


@pytest.mark.parametrize(
    "words",
    [
        ["apply", "t1", "--batch", "2"],
        ["apply", "t1", "--max-fail", "1"],
        ["apply", "t1", "--junit", "x.xml"],
        ["apply", "t1", "--return", "sqlite3"],
        ["apply", "--rerun-failed"],
        ["run", "--raw", "t1", "uptime"],
    ],
    ids=" ".join,
)
def test_options_that_contradict_it(run: Site, words: list[str]) -> None:
    done = run.project.run(*words, "--detach")
    assert done.code == 1 and "--detach and --" in done.err and "contradict each other" in done.err


def test_without_a_record_runs_cannot_be_detached(project: Callable[..., Project]) -> None:
    made = project()
    made.write("pushsalt.yaml", "file_roots: {base: [salt]}\njob_cache: false\n")
    done = made.run("run", "t1", "test.ping", "--detach")
    assert done.code == 1 and "job_cache" in done.err
