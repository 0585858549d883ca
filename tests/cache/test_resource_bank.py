"""The resources of a project: an id has one type at a time, and damage loses only what can be discovered again."""

import os
import shutil

import pytest

from pushsalt.cache.resources import ResourceBank
from pushsalt.cache.store import Bank


@pytest.fixture
def bank(tmp_path):
    bank = ResourceBank(tmp_path)
    yield bank
    bank.close()


def test_an_id_has_one_type_at_a_time(bank):
    bank.register("ssh", "web1", "controller")
    bank.register("ssh", "web1", "bastion")
    bank.register("ssh", "web2", "controller")
    bank.register("local", "web2", "controller")
    assert (bank.get("ssh", "web1"), bank.by_type("ssh"), bank.by_type("local")) == ("bastion", ["web1"], ["web2"])
    assert bank.by_manager("bastion") == [("ssh", "web1")]
    assert bank.keep({"web1": "ssh", "web2": "ssh"}) == 1
    assert (bank.by_type("ssh"), bank.by_type("local")) == (["web1"], [])


def test_a_damaged_index_is_begun_anew(tmp_path, bank, caplog):
    bank.register("ssh", "web1", "controller")
    bank.close()
    (bank.path / "log").write_bytes(b"not an index at all, but a long enough text that is none")
    again = ResourceBank(tmp_path)
    assert again.by_type("ssh") == []
    again.register("ssh", "web1", "controller")
    assert again.by_type("ssh") == ["web1"]
    again.close()
    assert len(caplog.messages) <= 1


@pytest.mark.parametrize("harm", ["noise", "cut", "no log", "no folder"])
def test_the_index_of_resources_is_rebuilt(tmp_path, bank, harm):
    kept = Bank(tmp_path, "minion_resources")
    kept.put("old", {"machine": {"m1": {"enter": ["x"]}, "m2": {}}})
    os.utime(*kept.path.iterdir(), (1000, 1000))
    kept.put("host1", {"machine": {"m1": {}}, "dummy": {"d1": {}}})
    bank.put_many([("machine", "m1", "host1"), ("machine", "m2", "old"), ("dummy", "d1", "host1")])
    bank.register("ssh", "host1", "controller")
    bank.close()
    log = bank.path / "log"
    if harm == "no folder":
        shutil.rmtree(bank.path)
    elif harm == "no log":
        log.unlink()
    else:
        log.write_bytes(log.read_bytes()[:20] if harm == "cut" else os.urandom(300))
    again = ResourceBank(tmp_path)
    assert again.owners("machine") == {"m1": "host1", "m2": "old"}
    assert again.by_manager("host1") == [("dummy", "d1"), ("machine", "m1")]
    again.register("ssh", "host1", "controller")
    assert (again.by_type("ssh"), again.problems()) == (["host1"], [])
    again.close()


def test_an_unusable_cache_counts_as_empty(bank, caplog):
    bank.path.write_text("a file where the folder should be")
    bank.register("ssh", "web1", "controller")
    assert (bank.get("ssh", "web1"), bank.by_type("ssh"), bank.by_manager("x")) == (None, [], [])
    assert len(caplog.messages) == 1
