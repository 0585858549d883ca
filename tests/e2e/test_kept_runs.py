"""Runs that continue without their command, after a kill or by ``--detach``, over real sshds; other commands collect
their returns.
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
from tests.e2e.test_lost_connections import (
    STATES,
    counted_states,
    create_project,
    job_files,
    login_processes,
    wait_until_clean,
)

pytestmark = [pytest.mark.slow, pytest.mark.sshd]

#: Each state counts its runs; the second one waits for the file ``go``. No state needs the controller.
ALONE = STATES.partition("three:")[0] + "three:\n  cmd.run:\n    - name: echo three >> {home}/count\n"
IDS = ["one", "two", "three"]


class Runs:
    """Runs of a project's states on ``t1``."""

    def __init__(self, project: Project, home: Path) -> None:
        self.project, self.home = project, home
        project.write("salt/alone.sls", ALONE.format(home=home))

    def kill_apply(self, sls: str = "alone") -> str:
        """Start an apply, and kill its command in its second state. Returns the JID."""
        process = self.project.start("apply", "--out", "json", "t1", sls)
        wait_until(lambda: "two" in counted_states(self.home))
        process.kill()
        process.communicate()
        (job,) = self.jobs("--limit", "1")
        assert job["state"] == "lost"
        return str(job["jid"])

    def start_detached(self) -> str:
        """The JID of a detached apply."""
        done = self.project.run("apply", "--detach", "t1", "alone")
        assert done.code == 0, done.err
        return done.out.strip()

    def jobs(self, *arguments: str) -> list[dict[str, Any]]:
        document: list[dict[str, Any]] = json.loads(self.project.run("jobs", "list", "--out", "json", *arguments).out)
        return document

    def go(self) -> None:
        (self.home / "go").touch()

    def wait_until_stored(self) -> None:
        """Wait until the run has ended, and the target has stored its return."""
        self.go()
        wait_until(lambda: any(name.endswith("/end") for name in job_files(self.home)))
        wait_until(lambda: not login_processes(self.home))

    def assert_ran_once(self, done: Done) -> None:
        assert done.code == 0, (done.out, done.err)
        assert [ret["__id__"] for ret in values(done.data["t1"])] == IDS
        assert all(ret["result"] for ret in values(done.data["t1"]))
        assert counted_states(self.home) == IDS
        wait_until_clean(self.home)


@pytest.fixture
def runs(make_project: Callable[..., Project], bed: SshdBed) -> Iterator[Runs]:
    home = bed.targets["t1"].home
    yield Runs(create_project(make_project, home), home)
    for pid in login_processes(home):  # processes of a failed test
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def test_a_killed_command_is_resumed_while_its_run_continues(runs: Runs) -> None:
    """If two commands resume at the same time, the second one is refused."""
    jid = runs.kill_apply()
    first = runs.project.start("jobs", "resume", jid, "--out", "json")
    wait_until(lambda: runs.jobs("--limit", "1")[0]["state"] == "running")
    second = runs.project.run("jobs", "resume", jid)
    assert second.code == 1 and "still running, in process" in second.err
    runs.go()
    runs.assert_ran_once(Project.finish(first))
    (job,) = runs.jobs("--limit", "1")
    assert (job["jid"], job["state"], job["exit_code"]) == (jid, "done", 0)


def test_a_killed_command_is_resumed_when_its_run_has_ended(runs: Runs) -> None:
    jid = runs.kill_apply()
    runs.wait_until_stored()
    runs.assert_ran_once(runs.project.json("jobs", "resume", jid))


@pytest.mark.parametrize("collects", [False, True], ids=["apply", "resume"])
def test_a_return_is_kept_if_the_command_is_killed_before_recording_it(runs: Runs, collects: bool) -> None:
    """The target keeps the return until it is recorded."""
    log = runs.home / f"log-{collects}"
    arguments = ["jobs", "resume", runs.kill_apply()] if collects else ["apply", "t1", "alone"]
    process = runs.project.start(*arguments, "--out", "json", "--log-file", str(log), "--log-file-level", "debug")
    wait_until(lambda: "two" in counted_states(runs.home) and runs.jobs("--limit", "1")[0]["state"] == "running")
    with locked_database(runs.project):
        runs.go()
        wait_until(lambda: ("t1: wait: " if collects else "t1: run: ") in log.read_text())
        deadline = time.monotonic() + 1
        while time.monotonic() < deadline and job_files(runs.home):
            time.sleep(0.02)
        assert job_files(runs.home), "it is not recorded"
        process.kill()
        process.communicate()
    (job,) = runs.jobs("--limit", "1")
    assert job["state"] == "lost"
    runs.assert_ran_once(runs.project.json("jobs", "resume", job["jid"]))


@contextlib.contextmanager
def locked_database(project: Project) -> Iterator[None]:
    """A context in which other processes cannot write to the database of jobs."""
    connection = sqlite3.connect(project.cache / "jobs" / "jobs.sqlite3", isolation_level=None)
    try:
        connection.execute("BEGIN IMMEDIATE")
        yield
        connection.execute("ROLLBACK")
    finally:
        connection.close()


def test_a_run_that_needed_its_killed_command_is_repeated(runs: Runs) -> None:
    jid = runs.kill_apply("site")
    runs.go()
    done = runs.project.json("jobs", "resume", jid)
    assert done.code == 0, (done.out, done.err)
    assert [ret["__id__"] for ret in values(done.data["t1"])] == ["one", "two", "three", "four"]
    assert "the job is run again" in done.err and "needed an answer" in done.err
    assert counted_states(runs.home) == ["one", "two", "one", "two", "four"]
    wait_until_clean(runs.home)


def test_jobs_wait_waits_for_a_detached_run(runs: Runs) -> None:
    jid = runs.start_detached()
    assert len(jid) == 20 and jid.isdigit()
    (job,) = runs.jobs("--limit", "1")
    assert (job["jid"], job["state"], job["end"], job["unanswered"]) == (jid, "running", None, 0)
    early = runs.project.json("jobs", "wait", jid, "--timeout", "5")
    assert early.code == 3 and early.data["t1"]["error"]["kind"] == "timeout", early.err
    again = runs.project.run("apply", "--rerun-failed", jid)
    assert again.code == 1 and "still running on its targets" in again.err
    assert runs.jobs("--limit", "1")[0]["state"] == "running"
    waiting = runs.project.start("jobs", "wait", jid, "--out", "json")
    runs.go()
    runs.assert_ran_once(Project.finish(waiting))
    assert runs.jobs("--limit", "1")[0]["state"] == "done"
    runs.assert_ran_once(runs.project.json("jobs", "wait", jid))


def test_the_next_command_collects_stored_returns(runs: Runs) -> None:
    jid = runs.start_detached()
    runs.wait_until_stored()
    done = runs.project.json("run", "t1", "test.ping")
    assert done.data == {"t1": True}
    assert f"collected kept returns of the job {jid}: t1" in done.err
    runs.assert_ran_once(runs.project.json("jobs", "wait", jid))
    assert "collected" not in runs.project.json("run", "t1", "test.ping").err


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


def test_a_target_does_not_run_a_job_that_it_has_finished(runs: Runs) -> None:
    jid = runs.start_detached()
    runs.wait_until_stored()
    script = [sys.executable, "-c", SAME.replace("JID", jid)]
    done = subprocess.run(
        script, cwd=runs.project.folder, env=runs.project.environment, capture_output=True, text=True, check=False
    )
    runs.assert_ran_once(Done(done.returncode, done.stdout, done.stderr))


def test_clean_removes_stored_runs(runs: Runs) -> None:
    jid = runs.start_detached()
    runs.wait_until_stored()
    assert runs.project.run("clean", "t1").code == 0
    assert not job_files(runs.home)
    done = runs.project.json("jobs", "wait", jid)
    assert done.code == 3 and "the target has no data of the job" in done.error("t1")["message"]
    runs.home.joinpath("count").unlink()
    runs.assert_ran_once(runs.project.json("jobs", "resume", jid))


def test_a_detached_function_returns_later(runs: Runs) -> None:
    command = f"while test ! -e {runs.home}/go; do sleep 0.05; done; echo hello; exit 3"
    done = runs.project.run("run", "t1", "cmd.run", command, "--async")
    assert done.code == 0 and login_processes(runs.home)
    runs.wait_until_stored()
    waited = runs.project.json("jobs", "wait", done.out.strip())
    assert waited.code == 2 and waited.data == {"t1": "hello"}, waited.err
    wait_until_clean(runs.home)


def test_a_detached_job_reports_unreachable_targets(
    runs: Runs, make_project: Callable[..., Project], bed: SshdBed
) -> None:
    project = make_project(t1=bed.targets["t1"].host(), t9={**bed.targets["t1"].host(), "port": free_port()})
    done = project.run("run", "t*", "test.ping", "--detach")
    assert done.code == 3 and len(done.out.strip()) == 20
    assert "t9: connection_refused" in done.err
    waited = project.json("jobs", "wait", "last")
    assert waited.code == 3 and waited.data["t1"] is True and waited.error("t9")["kind"] == "connection_refused"


@pytest.mark.parametrize(
    "arguments",
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
def test_options_that_contradict_detach_are_refused(runs: Runs, arguments: list[str]) -> None:
    done = runs.project.run(*arguments, "--detach")
    assert done.code == 1 and "--detach and --" in done.err and "contradict each other" in done.err


def test_detach_needs_the_job_cache(make_project: Callable[..., Project]) -> None:
    project = make_project()
    project.write("pushsalt.yaml", "file_roots: {base: [salt]}\njob_cache: false\n")
    done = project.run("run", "t1", "test.ping", "--detach")
    assert done.code == 1 and "job_cache" in done.err
