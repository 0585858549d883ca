"""The spool: bounded, private, in order; damaged files and files of other users are ignored."""

from __future__ import annotations

import json
import os
import stat
import threading
import time

import pytest

from pushsalt.delivery.destination import Destination
from pushsalt.delivery.sender import Sender
from pushsalt.delivery.spool import LONGEST, Item, Spool, waiting
from pushsalt.redact import Redactor


@pytest.fixture
def spool(tmp_path):
    made = Spool(tmp_path, "mine", "", 10_000)
    yield made
    made.close()


def item(name, size=0, attempts=0):
    return Item("returner", name, json.dumps([{"id": name, "fun": "f", "pad": "x" * size}]), attempts)


def keys(spool):
    return [each.key for each in spool.items()]


def test_items_come_back_in_order(spool):
    for number in range(20):
        spool.add(item(f"k{number}", attempts=number % 3))
    assert spool.claim()
    found = list(spool.items())
    assert [each.key for each in found] == [f"k{number}" for number in range(20)]
    assert [each.attempts for each in found] == [number % 3 for number in range(20)]
    assert found[0].arguments == item("k0").arguments


def test_all_is_private(spool, tmp_path):
    before = os.umask(0)
    try:
        spool.add(item("k"))
    finally:
        os.umask(before)
    paths = [tmp_path / "returns", spool.folder, *spool.folder.iterdir()]
    assert [stat.S_IMODE(path.stat().st_mode) for path in paths] == [0o700, 0o700, 0o600]


def test_the_oldest_go_when_it_is_full(spool):
    for number in range(30):
        spool.add(item(f"k{number}", 900))
    assert spool.claim()
    left = keys(spool)
    assert left == [f"k{number}" for number in range(30 - len(left), 30)] and len(left) in (9, 10)
    assert spool.lost == 30 - len(left)


def test_one_that_is_larger_than_all_is_refused(spool):
    with pytest.raises(OSError, match="return_spool_size"):
        spool.add(item("k", 20_000))


def test_very_old_items_are_given_up(spool):
    spool.add(item("k"))
    [path] = spool.folder.glob("*.json")
    path.rename(path.with_name(f"{time.time_ns() - (LONGEST + 60) * 10**9:020}-000-ab.json"))
    spool.add(item("new"))
    assert spool.claim() and keys(spool) == ["new"] and spool.lost == 1


@pytest.mark.parametrize("text", ["", "[]", "null", '{"kind": "returner"}', "\x00", "[" * 100_000])
def test_damaged_items_are_removed(spool, text):
    spool.add(item("good"))
    bad = spool.folder / f"{time.time_ns():020}-000-ab.json"
    bad.write_text(text)
    assert spool.claim() and keys(spool) == ["good"]
    assert not bad.exists() and spool.lost == 1


def test_an_item_names_no_other_function(spool):
    spool.add(item("good"))
    [path] = spool.folder.glob("*.json")
    path.write_text(path.read_text().replace('"returner"', '"__init__"'))
    assert spool.claim() and keys(spool) == []


def test_one_process_at_a_time_sends(spool, tmp_path):
    spool.add(item("k"))
    other = Spool(tmp_path, "mine", "", 10_000)
    assert spool.claim() and not other.claim()
    spool.close()
    assert other.claim()
    other.close()


def test_who_has_items(tmp_path):
    for name, profile in (("http", ""), ("http", "../night"), ("mine", "")):
        Spool(tmp_path, name, profile, 10_000).add(item("k"))
    (tmp_path / "returns" / "empty").mkdir()
    assert sorted(waiting(tmp_path)) == [("http", ""), ("http", "../night"), ("mine", "")]
    (tmp_path / "returns").chmod(0o777)
    assert waiting(tmp_path) == []


class Target(Destination):
    """Accepts everything that ``fails`` does not name."""

    def __init__(self, fails=lambda id, times: False):
        super().__init__("mine", {}, redactor=Redactor(), sdb=lambda: None)
        self.taken, self.calls, self.fails = [], {}, fails

    def call(self, item, late):
        from pushsalt.returners import Trouble

        id = item.arguments[0]["id"]
        self.calls[id] = self.calls.get(id, 0) + 1
        if self.fails(id, self.calls[id]):
            raise Trouble("no", "hint")
        self.taken.append(id)


def sent(tmp_path, target, ids=()):
    sender = Sender(target, Spool(tmp_path, "mine", "", 100_000))
    for id in ids:
        sender.put(item(id))
    sender.end()
    sender.wait(20)
    return sender.warnings


def test_two_failures_in_a_row_are_enough(tmp_path):
    down = Target(lambda id, times: True)
    [warning] = sent(tmp_path, down, [f"k{number}" for number in range(100)])
    assert len(down.calls) == 2 and "100 messages are kept" in warning
    up = Target()
    assert sent(tmp_path, up) == [] and up.taken == [f"k{number}" for number in range(100)]
    assert sent(tmp_path, up) == [] and len(up.taken) == 100


def test_new_returns_do_not_wait_for_old_ones(tmp_path):
    sent(tmp_path, Target(lambda id, times: True), ["old1", "old2", "old3"])
    up = Target()
    sent(tmp_path, up, ["new"])
    assert sorted(up.taken) == ["new", "old1", "old2", "old3"]


def test_a_return_that_is_never_accepted_delays_no_other_and_is_dropped(tmp_path):
    bad = Target(lambda id, times: id == "bad")
    sent(tmp_path, bad, ["bad", "good"])
    assert bad.taken == ["good"]
    for number in range(12):
        warnings = sent(tmp_path, Target(lambda id, times: id == "bad"), [f"good{number}"])
        if any("given up" in text for text in warnings):
            break
    assert number == 8 and sent(tmp_path, Target(lambda id, times: True)) == []


def test_many_threads_and_a_claim_send_each_once(tmp_path):
    sent(tmp_path, Target(lambda id, times: True), [f"k{number}" for number in range(50)])
    targets = [Target() for _ in range(4)]
    work = [threading.Thread(target=sent, args=(tmp_path, target)) for target in targets]
    for each in work:
        each.start()
    for each in work:
        each.join()
    taken = [id for target in targets for id in target.taken]
    assert sorted(taken) == sorted(f"k{number}" for number in range(50))
