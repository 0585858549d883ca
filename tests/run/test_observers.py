"""Observers receive the begin of each job, each return before it is shown, and the end; never a secret."""

import asyncio
import json

import pytest

from pushsalt.api import Client, JobOptions, Selection, Settings
from pushsalt.jobs.jid import is_jid
from pushsalt.jobs.model import JobEnd, JobStart, as_result
from pushsalt.model import TargetReturn

INVENTORY = {
    "hosts": {
        "here": {"transport": "local"},
        "paper": {"transport": "offline", "pillar": {"db_password": "s3cr3t-value"}},
    }
}


class Notes:
    """Records the calls."""

    def __init__(self):
        self.told = []

    def job_begins(self, job):
        self.told.append(job)

    def target_returned(self, ret):
        self.told.append(ret)

    def job_ends(self, end):
        self.told.append(end)


@pytest.fixture
def client(tmp_path):
    (tmp_path / "inventory.yaml").write_text(json.dumps(INVENTORY))
    made = Client(Settings(inventories=[tmp_path / "inventory.yaml"], cache_dir=tmp_path / "cache"))
    made.notes = Notes()
    made.observers.append(made.notes)
    return made


def test_observers_are_called_from_begin_to_end_of_a_job(client):
    returns = client.run(Selection("here,paper", "list"), "test.kwarg", [], {"a": 1}, JobOptions(timeout=60))
    start, *rets, end = client.notes.told
    assert isinstance(start, JobStart)
    assert (start.fun, start.arg, start.kwarg, start.ids) == ("test.kwarg", [], {"a": 1}, ("here", "paper"))
    assert (start.tgt, start.tgt_type, start.options, start.kind) == ("here,paper", "list", {"timeout": 60}, "call")
    assert is_jid(start.jid)
    assert start.user
    assert {"host", "pid", "folder"} <= set(start.origin)
    assert {ret.id: ret.exit_code for ret in rets} == {"here": 0, "paper": 0}
    assert (end.exit_code, end.state, end.end >= start.start) == (0, "done", True)
    assert returns["here"].ret["__pub_jid"] == start.jid, "the target knows the job by the controller's id"
    result = as_result(start, next(ret for ret in rets if ret.id == "here"))
    assert (result["jid"], result["fun"], result["id"]) == (start.jid, "test.kwarg", "here")
    assert (result["success"], result["retcode"]) == (True, 0)


def test_two_jobs_of_a_client_have_two_jids(client):
    for _ in range(2):
        client.grains(Selection("paper"))
    first, second = [told.jid for told in client.notes.told if isinstance(told, JobStart)]
    assert first < second


def test_observers_receive_no_secrets(client):
    client.run(
        Selection("here"), "test.echo", ["s3cr3t-value"], options=JobOptions(pillar={"api_token": "t0ken-of-mine"})
    )
    client.run(Selection("here"), "test.kwarg", [], {"password": "opensesame1"})
    text = repr(client.notes.told)
    assert len(client.notes.told) == 6
    assert not [secret for secret in ("s3cr3t-value", "t0ken-of-mine", "opensesame1") if secret in text]


def test_a_stopped_job_is_reported_as_stopped(client):
    async def stopped():
        async for _ in client.stream_run(Selection("here,paper", "list"), "test.sleep", [30]):
            client.stop(143)

    asyncio.run(stopped())
    assert client.notes.told[-1] == JobEnd(143, "interrupted", client.notes.told[-1].end)


def test_a_failing_observer_does_not_stop_the_job(client, caplog):
    class Bad(Notes):
        def target_returned(self, ret):
            raise ZeroDivisionError("no")

    client.observers.insert(0, Bad())
    assert client.run(Selection("paper"), "grains.items")["paper"].exit_code == 0
    assert "Bad failed: ZeroDivisionError: no" in caplog.text
    assert isinstance(client.notes.told[1], TargetReturn)
    assert isinstance(client.notes.told[2], JobEnd)
