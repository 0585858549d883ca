"""Jobs through workers are as jobs without them: returns, exit codes, the record, batches."""

from __future__ import annotations

import asyncio
import json
import signal
import time

import pytest

from pushsalt.workers import connection, names
from tests.beds.nats import WorkerProcess, patched
from tests.beds.processes import wait_until
from tests.beds.project import values

pytestmark = pytest.mark.slow

STATES = """
one:
  test.succeed_with_changes
two:
  test.{kind}
{{{{ grains['id'] }}}}:
  test.nop
"""


def without_times(ret):
    return {tag: {key: one[key] for key in one if key not in ("start_time", "duration")} for tag, one in ret.items()}


@pytest.fixture
def workers(local, server):
    with (
        WorkerProcess(local, server.url, "default", "w1") as first,
        WorkerProcess(local, server.url, "far", "w2") as second,
    ):
        yield first, second


def test_apply_and_run_equal_those_without_workers(local, workers):
    local.write("salt/good.sls", STATES.format(kind="succeed_without_changes"))
    local.write("salt/bad.sls", STATES.format(kind="fail_without_changes"))
    local.write("salt/broken.sls", "a: [")
    for words in (("good",), ("bad",), ("broken",), ("good", "--test")):
        there = local.json("apply", "*", *words)
        here = local.json("apply", "--workers", "", "*", *words)
        assert there.code == here.code, there.err
        assert there.data.keys() == here.data.keys() == {f"l{n}" for n in range(1, 7)}
        for id, ret in there.data.items():
            plain = here.data[id]
            assert (without_times(ret) == without_times(plain)) if isinstance(ret, dict) else ret == plain
    for words in (
        ("test.ping",),
        ("test.echo", "[1, 2]"),
        ("cmd.run", "exit 3"),
        ("nothing.there",),
        ("test.exception", "no"),
        ("state.show_sls", "good"),
        ("grains.get", "number"),
    ):
        there = local.json("run", "*", *words)
        here = local.json("run", "--workers", "", "*", *words)
        assert (there.code, there.data) == (here.code, here.data), there.err
    raw = local.json("run", "l1", "--raw", "echo raw")
    assert raw.data["l1"]["stdout"].strip() == "raw"


def test_the_record_the_batches_and_limits_for_failures(local, workers, tmp_path):
    done = local.json("apply", "*", "missing", "--batch", "2", "--max-fail", "1", "--jid-file", str(tmp_path / "jid"))
    assert done.code == 2
    kinds = [ret["error"]["kind"] for ret in done.data.values() if isinstance(ret, dict)]
    assert kinds and set(kinds) == {"not_begun"}
    jid = (tmp_path / "jid").read_text().strip()
    shown = local.json("jobs", "show", jid).data
    assert (shown["jid"], shown["targets"], shown["exit_code"], shown["state"]) == (jid, 6, 2, "done")
    assert {id: one["return"] for id, one in shown["Result"].items()} == done.data


def test_grains_are_kept_by_the_controller(local, workers):
    assert local.json("grains", "*").code == 0
    done = local.json("run", "-G", "number:5", "test.ping")
    assert done.data == {"l5": True}


def test_secrets_are_hidden_as_without_workers(local, workers):
    local.write("pillar/top.sls", "base:\n  '*': [secrets]\n")
    local.write("pillar/secrets.sls", "db_password: correct-horse-battery\n")
    local.write("salt/shows.sls", "echo {{ pillar['db_password'] }}:\n  cmd.run\n")
    done = local.json("apply", "l1", "shows")
    assert done.code == 0 and "correct-horse" not in done.out
    (ret,) = values(done.data["l1"])
    assert "**********" in ret["changes"]["stdout"]
    assert b"correct-horse" not in b"".join(path.read_bytes() for path in local.cache.rglob("*") if path.is_file())


def test_status(local, workers, server):
    deadline = time.monotonic() + 20
    while True:
        document = json.loads(local.run("worker", "status", "--out", "json").out)
        if set(document["sites"]) == {"default", "far"} and all(each["workers"] for each in document["sites"].values()):
            break
        assert time.monotonic() < deadline, document
    far = document["sites"]["far"]
    assert far["waiting"] == 0
    (entry,) = far["workers"]
    assert set(entry) == {"id", "version", "since", "busy"}
    assert (entry["id"], entry["busy"]) == (workers[1].id, 0)


def test_an_unreachable_server_is_a_usage_error(local, server):
    server.kill()
    done = local.run("apply", "*", "x")
    assert done.code == 1
    assert "the NATS server at" in done.err and "cannot be used" in done.err


def test_a_stopped_worker_ends_without_an_error(local, server):
    with WorkerProcess(local, server.url) as worker:
        assert worker.stop() == 0


def test_a_job_that_was_given_up_is_resumed(local, server, tmp_path):
    """Without a worker at first; the second command hands out its targets again."""
    local.argv = lambda *words: [*patched(watching_NO_WORKER=0.5, watching__WARN=0.1), *words]
    done = local.json("run", "l1", "test.ping", "--jid-file", str(tmp_path / "jid"))
    assert done.error("l1")["kind"] == "no_worker"
    del local.argv
    with WorkerProcess(local, server.url):
        done = local.json("jobs", "resume", (tmp_path / "jid").read_text().strip(), timeout=60)
        assert done.data == {"l1": True}, done.err


def test_a_job_that_was_stopped_is_resumed(local, server, tmp_path):
    """Its order to stop does not stop what the second command does."""
    path = tmp_path / "jid"
    first = local.start("run", "l1", "test.ping", "--jid-file", str(path))
    wait_until(lambda: path.exists() and path.read_text().strip())
    wait_until(lambda: message_count(server.url, f"PUSHSALT_WORK_{names.DEFAULT_SITE}"))
    first.send_signal(signal.SIGINT)
    assert local.finish(first).code == 130
    stopped = f"KV_{names.STOPPED_BUCKET}"
    assert message_count(server.url, stopped)
    second = local.start("jobs", "resume", "--out", "json", path.read_text().strip())
    wait_until(lambda: not message_count(server.url, stopped))
    with WorkerProcess(local, server.url):
        done = local.finish(second)
    assert done.data == {"l1": True}, done.err


def message_count(url: str, stream: str) -> int:
    """The number of messages of a stream; 0 if it does not exist."""

    async def work() -> int:
        made = await connection.connect(url)
        try:
            with connection.explained("the stream"):
                return int((await made.js.stream_info(stream)).state.messages)
        except connection.MissingError:
            return 0
        finally:
            await made.close()

    return asyncio.run(work())
