"""The mine on disk: each value with its age; concurrent changes are not lost."""

import multiprocessing
import os
import time

import pytest

from pushsalt.cache.mine import MineBank


@pytest.fixture
def bank(tmp_path):
    return MineBank(tmp_path)


def ages(bank, key):
    return {name: round(time.time() - when) for name, when in bank.with_times(key)[1].items()}


def age(bank, key, seconds):
    os.utime(bank._file(key), (time.time() - seconds,) * 2)


def test_each_value_has_its_age(bank):
    assert bank.put("web1", {"a": 1, "b": None})
    age(bank, "web1", 500)
    assert bank.update("web1", {"b": 2, "c": 3})
    assert bank.get("web1") == {"a": 1, "b": 2, "c": 3}
    assert ages(bank, "web1") == {"a": 500, "b": 0, "c": 0}
    age(bank, "web1", 200)
    assert bank.update("web1", {}, without=["c", "none"])
    assert ages(bank, "web1") == {"a": 500, "b": 200}
    assert bank.put("web1", {"b": 5})
    assert (bank.get("web1"), ages(bank, "web1")) == ({"b": 5}, {"b": 0})
    assert [(key, values) for key, values, _ in bank.entries()] == [("web1", {"b": 5})]
    assert bank.with_times("nobody") == ({}, {})


def test_the_same_again_is_but_a_touch(bank):
    bank.update("web1", {"a": 1, "b": 2})
    age(bank, "web1", 500)
    before = bank._file("web1").stat().st_ino
    bank.update("web1", {"a": 1, "b": 2})
    assert (bank._file("web1").stat().st_ino, ages(bank, "web1")) == (before, {"a": 0, "b": 0})


@pytest.mark.parametrize("body", [None, [], {"a": 1}, {"values": [], "older": {}}, {"values": {}}])
def test_invalid_entries_are_ignored(bank, body):
    super(MineBank, bank).put("web1", body)
    assert bank.get("web1") is None
    assert list(bank.entries()) == []
    assert bank.update("web1", {"a": 1})
    assert bank.get("web1") == {"a": 1}


def write(root, who):
    for n in range(25):
        MineBank(root).update("web1", {f"{who}-{n}": n})


def test_no_change_of_another_controller_is_lost(bank, tmp_path):
    spawn = multiprocessing.get_context("spawn")
    writers = [spawn.Process(target=write, args=(tmp_path, who)) for who in range(3)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert len(bank.get("web1")) == 75
