"""Which returns a controller accepts."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from pushsalt.model import TargetReturn
from pushsalt.workers import messages, names
from pushsalt.workers.delivery import Stored
from pushsalt.workers.ledger import CONTROLLER_TOKEN, Ledger
from pushsalt.workers.messages import Answer, Head
from pushsalt.workers.parties import Box

JID = "20261126101500000000"


class SiteKey:
    """A party with a key that the site and the controllers have."""

    def __init__(self, key: bytes = b"s" * 32) -> None:
        self._box = Box(key)

    def seal(self, to: str, data: bytes, purpose: str) -> bytes:
        return self._box.seal(data, purpose)

    def open(self, sender: str, data: bytes, purpose: str) -> bytes:
        return self._box.open(data, purpose)


class Bed:
    def __init__(self) -> None:
        self.warnings: list[str] = []
        sites = {"a1": "a", "a2": "a", "b1": "b"}
        self.ledger = Ledger(JID, b"k" * 32, self.warnings.append, sites.get, SiteKey())
        self.ledger.add(1, "a", ["a1", "a2"])
        self.ledger.add(2, "b", ["b1"])

    def head(self, kind: str, n: int, site: str, worker: str, data: bytes = b"p\x80", box: Box | None = None) -> Head:
        head = Head(kind, JID, site, n, worker)
        return messages.sealed(head, data, box or self.ledger.box(site))

    def send(self, head: Head, subject: str | None = None) -> Answer | None:
        subject = subject or names.returns_subject(head.site, head.worker, head.jid)
        return self.ledger.take(subject, messages.encode(head))

    def taken(self, n: int = 1, site: str = "a", worker: str = "w1") -> None:
        assert self.send(self.head("taken", n, site, worker)) is None

    def returned(self, id: str, n: int = 1, site: str = "a", worker: str = "w1", box: Box | None = None) -> Head:
        return self.head("return", n, site, worker, messages.pack_answer(Answer(TargetReturn(id, True))), box)


@pytest.fixture
def bed() -> Bed:
    return Bed()


def test_a_return_counts_once(bed):
    bed.taken()
    answer = bed.send(bed.returned("a1"))
    assert answer is not None and answer.result == TargetReturn("a1", True)
    assert bed.send(bed.returned("a1")) is None and not bed.warnings
    assert bed.ledger.waiting() == {"a": 1, "b": 1}


def test_a_second_worker_after_a_second_delivery_counts(bed):
    bed.taken()
    bed.taken(worker="w2")
    assert bed.send(bed.returned("a1", worker="w2"))
    assert bed.send(bed.returned("a2"))
    assert bed.ledger.waiting() == {"b": 1}


def test_a_worker_without_the_shard_does_not_count(bed):
    bed.taken()
    assert bed.send(bed.returned("a1", worker="w2")) is None
    assert "has not taken the shard" in bed.warnings[0]


def test_a_forged_return_does_not_count(bed):
    bed.taken()
    assert bed.send(bed.returned("a1", box=Box())) is None
    assert "forged" in bed.warnings[0]


def test_another_site_cannot_answer(bed):
    """It has the key of its own site only, and the subject names its site."""
    bed.taken()
    bed.taken(2, "b", "w9")
    assert bed.send(bed.returned("a1", 2, "b", "w9")) is None
    assert "does not belong to the shard 2" in bed.warnings[-1]
    assert bed.send(bed.returned("a1", box=bed.ledger.box("b"))) is None
    assert "forged" in bed.warnings[-1]
    assert bed.send(bed.returned("a1"), names.returns_subject("b", "w9", JID)) is None
    assert "another site, worker or job" in bed.warnings[-1]


def test_a_replay_does_not_count(bed):
    bed.taken()
    first = bed.returned("a1")
    assert bed.send(first)
    assert bed.send(first) is None
    assert "replay" in bed.warnings[-1]


def test_a_box_of_another_message_does_not_count(bed):
    bed.taken()
    bed.taken(worker="w2")
    moved = replace(bed.returned("a1"), worker="w2")
    assert bed.send(moved) is None
    assert "forged" in bed.warnings[-1]


def test_a_return_of_another_job_does_not_count(bed):
    bed.taken()
    other = replace(bed.returned("a1"), jid="20261126101500000001")
    assert bed.send(other) is None
    assert bed.warnings


def test_only_controllers_hand_out_and_only_ids_of_the_site(bed):
    data = messages.pack_ids(["b1"])
    assert bed.send(bed.head("handed", 3, "a", "w1", data)) is None
    assert bed.send(bed.head("handed", 3, "a", CONTROLLER_TOKEN, data)) is None
    assert len(bed.warnings) == 2 and 3 not in bed.ledger.shards
    assert bed.send(bed.head("handed", 3, "b", CONTROLLER_TOKEN, data)) is None
    assert bed.ledger.shards[3].ids == ["b1"]


def test_parts_are_joined_in_any_order(bed):
    bed.taken()
    text = random.Random(1).randbytes(1_500_000).hex()
    parts = in_parts(bed, text)
    assert len(parts) > 1
    found = [bed.send(each) for each in reversed(parts)]
    assert found[-1] is not None and found[-1].result.ret == text and found[:-1] == [None] * (len(parts) - 1)


def in_parts(bed: Bed, text: str, worker: str = "w1", box: Box | None = None) -> list[Head]:
    head = Head("return", JID, "a", 1, worker, text=messages.short("a1"))
    data = messages.pack_answer(Answer(TargetReturn("a1", text)))
    return messages.split(head, data, box or bed.ledger.box("a"))


def test_a_large_return_of_a_second_worker_counts_after_a_part_of_the_first_one(bed, monkeypatch):
    """The server drops a message whose id it has stored: no part of a worker is dropped for that of another one."""
    monkeypatch.setattr(messages, "PART", 100)
    text = random.Random(1).randbytes(300).hex()
    bed.taken()
    bed.taken(worker="w2")
    stored: dict[str, Head] = {}
    for each in [in_parts(bed, text)[0], *in_parts(bed, text)[:2], *in_parts(bed, text, "w2")]:
        stored.setdefault(messages.message_id(each, "a1"), each)
    found = [answer for each in stored.values() if (answer := bed.send(each)) is not None]
    assert [answer.result.ret for answer in found] == [text] and not bed.warnings


def test_forged_parts_are_not_kept(bed, monkeypatch):
    monkeypatch.setattr(messages, "PART", 100)
    text = random.Random(1).randbytes(300).hex()
    bed.taken()
    for each in in_parts(bed, text, box=Box())[:-1]:
        assert bed.send(each) is None
    assert all("forged" in text for text in bed.warnings)
    assert bed.warnings
    moved = [replace(each, part=(each.part + 1) % each.parts) for each in in_parts(bed, text)]
    assert [bed.send(each) for each in moved] == [None] * len(moved)
    assert [bed.send(each) for each in in_parts(bed, text)][-1] is not None


def test_a_forged_refusal_does_not_count(bed):
    for kind in ("aside", "refused"):
        head = Head(kind, JID, "a", 1, "w1")
        bed.send(replace(head, text="forged", box=messages.pack_data({"why": "forged"})))
        bed.send(replace(head, box=SiteKey(b"x" * 32).seal("", messages.pack_data({"why": "no"}), head.purpose)))
        bed.send(replace(head, box=SiteKey().seal("", messages.pack_data({"why": "no"}), "refused of another shard")))
    assert not bed.ledger.shards[1].aside and not bed.ledger.shards[1].refusals
    assert len(bed.warnings) == 6 and "forged" in bed.warnings[0]
    bed.send(replace(head, box=SiteKey().seal("", messages.pack_data({"why": "no disk"}), head.purpose)))
    assert bed.ledger.shards[1].refusals == {"w1": "no disk"}


@pytest.mark.parametrize("kind", ["taken", "return"])
def test_a_worker_that_gets_a_shard_again_ignores_forged_messages(bed, monkeypatch, kind):
    monkeypatch.setattr(messages, "PART", 100)
    box = bed.ledger.box("a")
    stored = Stored(Head("shard", JID, "a", 1), box, {"a1", "a2"})
    for key in (Box(), bed.ledger.box("b")):
        forged = [bed.head("taken", 1, "a", "w7", box=key)] if kind == "taken" else in_parts(bed, "x" * 500, box=key)
        for each in [*forged, replace(forged[0], box=b"")]:
            stored.take(messages.encode(each))
    assert not stored.ids and not stored.takers
    honest = [bed.head("taken", 1, "a", "w7")] if kind == "taken" else in_parts(bed, "x" * 500)
    for each in honest:
        stored.take(messages.encode(each))
    assert (stored.ids, stored.takers) == ((set(), {"w7"}) if kind == "taken" else ({"a1"}, set()))


def test_a_shard_that_is_given_up_has_returns_for_the_rest(bed):
    bed.taken()
    bed.send(bed.returned("a1"))
    (lost,) = bed.ledger.close(bed.ledger.shards[1], "worker_lost", "gone", "look")
    assert (lost.id, lost.error_kind, lost.exit_code) == ("a2", "worker_lost", 3)
    assert bed.send(bed.returned("a2")) is None


def test_warnings_are_limited(bed):
    for _ in range(100):
        bed.send(replace(bed.returned("a1", box=Box()), n=1))
    assert len(bed.warnings) == 20
