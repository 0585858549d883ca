"""Crashes of workers, servers and controllers in mid-run: each target has one return, each state runs once."""

from __future__ import annotations

import contextlib
import signal

import pytest

from pushsalt.workers import messages, names
from pushsalt.workers.messages import Answer, Head
from pushsalt.workers.parties import Box
from tests.beds.faults import IDS, finish, until
from tests.beds.nats import patched
from tests.beds.project import values
from thin import handouts

pytestmark = [pytest.mark.slow, pytest.mark.sshd]


def test_a_killed_worker_is_replaced(run):
    with run.worker("w1") as first, run.worker("w2"):
        process, _ = run.start()
        run.until_all_wait()
        first.kill()
        run.go()
        run.all_once(finish(process))


def test_a_worker_that_starts_after_the_only_one_was_killed_continues(run):
    with run.worker("w1") as first:
        process, _ = run.start()
        run.until_all_wait()
        first.kill()
    run.go()
    with run.worker("w2"):
        run.all_once(finish(process))


def test_a_worker_that_was_stopped_for_a_while_does_not_run_what_another_one_has_finished(run):
    with run.worker("w1", None, "", "--concurrency", "1") as first:
        process, _ = run.start()  # one shard has two targets, since there is one worker
        until(lambda: any("two" in run.counted(id) for id in IDS))
        first.process.send_signal(signal.SIGSTOP)
        with run.worker("w2"):
            run.go()
            done = finish(process)
        first.process.send_signal(signal.SIGCONT)
        assert run.json("run", "*", "test.ping").data == dict.fromkeys(IDS, True)  # after what it had begun
        run.all_once(done)
    private = [home / ".cache" / "pushsalt" for home in run.homes.values()]
    assert all(list((folder / handouts.DONE).iterdir()) for folder in private)
    assert run.json("clean", "*").code == 0
    assert not any(folder.exists() for folder in private)


def test_a_killed_server_is_waited_for(run):
    with run.worker():
        process, _ = run.start()
        run.until_all_wait()
        run.server.kill()
        run.go()
        until(lambda: all("three" in run.counted(id) for id in IDS))
        run.server.start()
        run.all_once(finish(process))


def test_a_killed_controller_leaves_a_job_that_others_find(run, tmp_path):
    with run.worker():
        process, jid = run.start()
        run.until_all_wait()
        process.kill()
        process.communicate()
        run.go()
        run.all_once(run.json("jobs", "wait", jid))
        run.project.cache = tmp_path / "cache of another machine"
        shown = run.json("jobs", "show", jid)
        assert set(shown.data["Result"]) == set(IDS), shown.err
        run.all_once(run.json("jobs", "wait", jid))
        run.all_once(run.json("jobs", "resume", jid))


def test_a_job_without_workers_is_resumed_when_there_are_some(run):
    process, jid = run.start()
    process.kill()
    process.communicate()
    run.go()
    with run.worker():
        run.all_once(run.json("jobs", "resume", jid))


def test_a_failed_target_runs_again_when_the_job_is_resumed(run):
    good = run.project.write("good", "")
    good.unlink()
    run.project.write("salt/alone.sls", f"one:\n  cmd.run:\n    - name: echo one >> $HOME/count; test -e {good}\n")
    with run.worker():
        process, jid = run.start()
        assert finish(process).code == 2
        good.touch()
        done = run.json("jobs", "resume", jid)
        assert done.code == 0, (done.out, done.err)
        assert all(run.counted(id) == ["one", "one"] for id in IDS)


def test_the_first_signal_lets_running_states_end(run):
    with run.worker() as worker:
        process, _ = run.start()
        run.until_all_wait()
        process.send_signal(signal.SIGINT)
        until(lambda: "was stopped by its controller" in worker.log.read_text())
        run.go()
        done = finish(process)
        assert done.code == 130
        for id in IDS:
            assert run.counted(id) == ["one", "two"]
            assert [ret["result"] for ret in values(done.data[id])] == [True, True, False]


def test_the_second_signal_stops_them(run):
    with run.worker():
        process, _ = run.start()
        run.until_all_wait()
        process.send_signal(signal.SIGINT)
        until(lambda: stopped_jobs(run.server.url))
        process.send_signal(signal.SIGINT)
        done = finish(process)
        assert done.code == 130
        assert {done.data[id]["error"]["kind"] for id in IDS} == {"interrupted"}


def test_a_time_limit_counts_at_the_worker(run):
    with run.worker():
        process, _ = run.start("--timeout", "3")
        done = finish(process)
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
                until(lambda: workers[-1].process.poll() is not None or process.poll() is not None)
            if process.poll() is None and workers[-1].process.poll() is not None:
                workers.append(stack.enter_context(run.worker(f"w{len(workers)}", program)))
                pids.write_text(str(workers[-1].process.pid))
        done = finish(process)
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


def test_an_older_worker_refuses_and_a_newer_one_takes_it(run):
    older = patched(messages_VERSION=0, messages_OLDEST=0, delivery_DELIVERIES=1)
    with run.worker("old", older):
        done = run.json("run", "*", "test.ping")
        assert done.code == 3
        assert all(done.error(id)["kind"] == "worker_lost" for id in IDS)
        assert "upgrade the workers of the site default" in done.error("t1")["message"]
    older = patched(messages_VERSION=0, messages_OLDEST=0, delivery_DELIVERIES=50)
    with run.worker("old too", older), run.worker("new", patched(messages_VERSION=2, delivery_DELIVERIES=50)):
        done = run.json("run", "*", "test.ping")
        assert done.data == dict.fromkeys(IDS, True), done.err


def test_a_site_without_workers_is_given_up(run):
    run.project.argv = lambda *words: [*patched(watching_NO_WORKER=1.0, watching__WARN=0.1), *words]
    done = run.json("run", "*", "test.ping")
    assert done.code == 3
    assert all(done.error(id)["kind"] == "no_worker" for id in IDS)
    assert "has no worker: 3 targets wait for one" in done.err
    with run.worker():  # what was given up is not run later
        del run.project.argv
        assert run.json("run", "*", "test.ping").data == dict.fromkeys(IDS, True)


def test_forged_and_replayed_returns_are_dropped(run):
    with run.worker() as worker:
        process, jid = run.start()
        run.until_all_wait()
        forge(run.server.url, jid, worker.id)
        run.go()
        done = finish(process)
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
