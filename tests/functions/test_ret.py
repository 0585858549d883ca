"""``ret.*``: jobs from the record of this machine, and from returners."""

import json
import sqlite3

import pytest

from pushsalt.api import Client, Selection, Settings
from pushsalt.job import JobOptions

pytestmark = pytest.mark.slow

HOSTS = {"paper": {"transport": "offline", "grains": {"os": "Debian"}}, "other": {"transport": "offline"}}


@pytest.fixture
def client(tmp_path):
    (tmp_path / "inventory.yaml").write_text(json.dumps({"hosts": HOSTS}))
    options = {
        "file_roots": {"base": [str(tmp_path / "salt")]},
        "returner.sqlite3": {"database": str(tmp_path / "returns.db")},
    }
    (tmp_path / "pushsalt.yaml").write_text(json.dumps(options))
    folder = tmp_path / "salt" / "_returners"
    folder.mkdir(parents=True)
    (folder / "mine.py").write_text(
        "def returner(ret):\n    pass\n\n\ndef get_fun(fun):\n    return {'web1': fun}\n\n\n"
        "def get_jids():\n    raise ValueError('not today')\n"
    )
    inventories = [tmp_path / "inventory.yaml"]
    return Client(Settings(inventories=inventories, config=tmp_path / "pushsalt.yaml", cache_dir=tmp_path / "cache"))


def call(client, fun, *args):
    return client.run(Selection("paper"), fun, list(args))["paper"].ret


def test_the_record_of_jobs(client):
    client.run(Selection("*"), "grains.get", ["os"])
    [job] = client.jobs.list()
    found = call(client, "ret.get_jid", "local_cache", job.jid)
    assert {id: ret["return"] for id, ret in found.items()} == {"paper": "Debian", "other": ""}
    assert (found["paper"]["fun"], found["paper"]["jid"], found["paper"]["success"]) == ("grains.get", job.jid, True)
    client.run(Selection("other"), "grains.get", ["id"])
    last = call(client, "ret.get_fun", "local_cache", "grains.get")
    assert {id: ret["return"] for id, ret in last.items()} == {"paper": "Debian", "other": "other"}
    jobs = call(client, "ret.get_jids", "local_cache")
    assert jobs[job.jid]["Function"] == "grains.get" and jobs[job.jid]["Arguments"] == ["os"]
    assert call(client, "ret.get_minions", "local_cache") == ["other", "paper"]


def test_a_returner_of_salts_tables(client, tmp_path):
    client.run(Selection("paper"), "grains.get", ["os"], options=JobOptions(returners=("sqlite3",)))
    [job] = client.jobs.list()
    assert call(client, "ret.get_jid", "sqlite3", job.jid) == {"paper": "Debian"}
    assert call(client, "ret.get_fun", "sqlite3", "grains.get") == {"paper": "Debian"}
    assert call(client, "ret.get_jids", "sqlite3")[job.jid]["fun"] == "grains.get"
    assert call(client, "ret.get_minions", "sqlite3") == ["paper"]
    with sqlite3.connect(tmp_path / "returns.db") as connection:
        connection.execute("UPDATE salt_returns SET full_ret = 'no json'")
    connection.close()
    assert call(client, "ret.get_jid", "sqlite3", job.jid) == {"paper": "no json"}


@pytest.mark.parametrize(
    "words, said",
    [
        (("ret.get_jid", "mine", "1"), "the returner mine cannot be read, since it has no get_jid"),
        (("ret.get_jids", "mine"), "raises ValueError: not today"),
        (("ret.get_jid", "local_cache", "20991231235959000000"), "no kept job has the JID"),
        (("ret.get_jid", "nowhere", "1"), "nowhere"),
    ],
)
def test_what_cannot_be_read_is_an_error(client, words, said):
    error = call(client, *words)["error"]
    assert said in error["message"] and error["hint"]


def test_ones_own(client):
    assert call(client, "ret.get_fun", "mine", "test.ping") == {"web1": "test.ping"}
