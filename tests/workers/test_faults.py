"""Crashes of workers, servers and controllers in mid-run: each target has one return, each state runs once."""

from __future__ import annotations

import contextlib
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pushsalt.workers import messages, names
from pushsalt.workers.messages import Answer, Head
from pushsalt.workers.parties import Box
from tests.beds.nats import NatsServer, WorkerProcess, patched
from tests.beds.processes import wait_until
from tests.beds.project import Done, Project, values
from tests.beds.sshd import SshdBed

pytestmark = [pytest.mark.slow, pytest.mark.sshd]

IDS = ["t1", "t2", "t3"]
#: Each state counts its runs; the second waits until it may continue.
STATES = """
one:
  cmd.run:
    - name: echo one >> $HOME/count
two:
  cmd.run:
    - name: echo two >> $HOME/count; while test ! -e $HOME/go; do sleep 0.05; done
three:
  cmd.run:
    - name: echo three >> $HOME/count
"""


class Bed:
    """A project on the three servers, with counters in their homes."""

    def __init__(self, project: Project, bed: SshdBed, server: NatsServer) -> None:
        self.project, self.server = project, server
        self.homes: dict[str, Path] = {id: bed.targets[id].home for id in IDS}
        for home in self.homes.values():
            for name in ("count", "go"):
                (home / name).unlink(missing_ok=True)
        project.write("salt/alone.sls", STATES)

    def worker(self, name: str = "w1", program: list[str] | None = None) -> WorkerProcess:
        return WorkerProcess(self.project, self.server.url, name=name, program=program)

    def counted(self, id: str) -> list[str]:
        path = self.homes[id] / "count"
        return path.read_text().split() if path.exists() else []

    def until_all_wait(self) -> None:
        wait_until(lambda: all("two" in self.counted(id) for id in IDS), 40)

    def go(self) -> None:
        for home in self.homes.values():
            (home / "go").touch()

    def all_once(self, done: Done) -> None:
        assert done.code == 0, (done.out, done.err)
        for id in IDS:
            assert [ret["__id__"] for ret in values(done.data[id])] == ["one", "two", "three"]
            assert all(ret["result"] for ret in values(done.data[id]))
            assert self.counted(id) == ["one", "two", "three"]

    def start(self, *words: str) -> tuple[subprocess.Popen[bytes], str]:
        """Start an apply; its process, and the JID."""
        path = self.project.folder.parent / "jid"
        path.unlink(missing_ok=True)
        process = self.project.start("apply", "--out", "json", "--jid-file", str(path), "*", "alone", *words)
        wait_until(lambda: path.exists() and path.read_text().strip())
        return process, path.read_text().strip()


@pytest.fixture
def run(remote: Callable[..., Project], bed: SshdBed, server: NatsServer) -> Iterator[Bed]:
    found = Bed(remote(), bed, server)
    yield found
    found.go()


def test_a_killed_worker_is_replaced(run):
    with run.worker("w1") as first, run.worker("w2"):
        process, _ = run.start()
        run.until_all_wait()
        first.kill()
        run.go()
        run.all_once(Project.finish(process, 90))


def test_a_worker_that_starts_after_the_only_one_was_killed_continues(run):
    with run.worker("w1") as first:
        process, _ = run.start()
        run.until_all_wait()
        first.kill()
    run.go()
    with run.worker("w2"):
        run.all_once(Project.finish(process, 90))


def test_a_killed_server_is_waited_for(run):
    with run.worker():
        process, _ = run.start()
        run.until_all_wait()
        run.server.kill()
        run.go()
        wait_until(lambda: all("three" in run.counted(id) for id in IDS))
        run.server.start()
        run.all_once(Project.finish(process, 90))


def test_a_killed_controller_leaves_a_job_that_others_find(run, tmp_path):
    with run.worker():
        process, jid = run.start()
        run.until_all_wait()
        process.kill()
        process.communicate()
        run.go()
        run.all_once(run.project.json("jobs", "wait", jid))
        run.project.cache = tmp_path / "cache of another machine"
        shown = run.project.json("jobs", "show", jid)
        assert set(shown.data["Result"]) == set(IDS), shown.err
        run.all_once(run.project.json("jobs", "wait", jid))
        run.all_once(run.project.json("jobs", "resume", jid))


def test_a_job_without_workers_is_resumed_when_there_are_some(run):
    process, jid = run.start()
    process.kill()
    process.communicate()
    run.go()
    with run.worker():
        run.all_once(run.project.json("jobs", "resume", jid))


def test_the_first_signal_lets_running_states_end(run):
    with run.worker():
        process, _ = run.start()
        run.until_all_wait()
        process.send_signal(signal.SIGINT)
        wait_until(lambda: stopped_jobs(run.server.url))
        run.go()
        done = Project.finish(process)
        assert done.code == 130
        for id in IDS:
            assert run.counted(id) == ["one", "two"]
            assert [ret["result"] for ret in values(done.data[id])] == [True, True, False]


def test_the_second_signal_stops_them(run):
    with run.worker():
        process, _ = run.start()
        run.until_all_wait()
        process.send_signal(signal.SIGINT)
        wait_until(lambda: stopped_jobs(run.server.url))
        process.send_signal(signal.SIGINT)
        done = Project.finish(process)
        assert done.code == 130
        assert {done.data[id]["error"]["kind"] for id in IDS} == {"interrupted"}


def test_a_time_limit_counts_at_the_worker(run):
    with run.worker():
        process, _ = run.start("--timeout", "3")
        done = Project.finish(process)
        assert done.code == 3
        assert {done.data[id]["error"]["kind"] for id in IDS} == {"timeout"}


def test_a_shard_that_kills_its_workers_is_set_aside(run):
    """Other shards of the job go on."""
    project = run.project
    pids = project.write("pids", "")
    project.write("salt/poison.sls", POISON.format(pids=pids))
    program = patched(connection_ACK_WAIT=2.0, delivery_DELIVERIES=2)
    with contextlib.ExitStack() as stack:
        workers = [stack.enter_context(run.worker("w0", program))]
        pids.write_text(str(workers[0].process.pid))
        process = project.start("apply", "--out", "json", "*", "poison")
        while process.poll() is None and len(workers) < 9:
            with contextlib.suppress(AssertionError):
                wait_until(lambda: workers[-1].process.poll() is not None or process.poll() is not None, 30)
            if process.poll() is None and workers[-1].process.poll() is not None:
                workers.append(stack.enter_context(run.worker(f"w{len(workers)}", program)))
                pids.write_text(str(workers[-1].process.pid))
        done = Project.finish(process, 90)
    assert done.code == 3, done.err
    assert done.error("t2")["kind"] == "worker_lost"
    assert values(done.data["t3"])[0]["result"]


POISON = """#!py
import os, signal, time

def run():
    if __grains__["id"] == "t2":
        for pid in open("{pids}").read().split():
            os.kill(int(pid), signal.SIGKILL)
        time.sleep(5)
    return {{"fine": {{"test.nop": []}}}}
"""


def test_a_site_without_workers_is_given_up(run):
    run.project.argv = lambda *words: [*patched(watching_NO_WORKER=1.0, watching__WARN=0.1), *words]
    done = run.project.json("run", "*", "test.ping")
    assert done.code == 3
    assert all(done.error(id)["kind"] == "no_worker" for id in IDS)
    assert "has no worker: 3 targets wait for one" in done.err
    with run.worker():  # what was given up is not run later
        del run.project.argv
        assert run.project.json("run", "*", "test.ping").data == dict.fromkeys(IDS, True)


def test_forged_and_replayed_returns_are_dropped(run):
    with run.worker() as worker:
        process, jid = run.start()
        run.until_all_wait()
        forge(run.server.url, jid, worker.id)
        run.go()
        done = Project.finish(process)
        run.all_once(done)
        assert "forged message" in done.err
        assert "replay" in done.err


def forge(url: str, jid: str, worker: str) -> None:
    """Store a return with a wrong key, and what is stored of the job once more."""
    import asyncio

    from pushsalt.model import TargetReturn
    from pushsalt.workers import connection
    from pushsalt.workers.reading import read_all

    async def work() -> None:
        made = await connection.connect(url)
        head = Head("return", jid, "default", 1, worker)
        head = messages.sealed(head, messages.pack_answer(Answer(TargetReturn("t1", "forged"))), Box())
        subject = names.returns_subject("default", worker, jid)
        await made.store(subject, messages.encode(head))
        await made.store(subject, messages.encode(head))
        stored = [each async for each in read_all(made, names.returns_subject(jid=jid))]
        for subject, data in stored:
            await made.store(subject, data)
        await made.close()

    asyncio.run(work())


def stopped_jobs(url: str) -> list[str]:
    """The keys of the jobs that were stopped."""
    import asyncio

    from pushsalt.workers import connection

    async def work() -> list[str]:
        made = await connection.connect(url)
        try:
            info = await made.js.stream_info(f"KV_{names.STOPPED_BUCKET}", subjects_filter=">")
            return list(info.state.subjects or ())
        finally:
            await made.close()

    return asyncio.run(work())
