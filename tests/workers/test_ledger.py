"""Which returns a controller accepts."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from pushsalt.model import TargetReturn
from pushsalt.workers import messages, names
from pushsalt.workers.ledger import CONTROLLER_TOKEN, Ledger
from pushsalt.workers.messages import Answer, Head
from pushsalt.workers.parties import Box

JID = "20261126101500000000"


class Bed:
    def __init__(self) -> None:
        self.warnings: list[str] = []
        sites = {"a1": "a", "a2": "a", "b1": "b"}
        self.ledger = Ledger(JID, b"k" * 32, self.warnings.append, sites.get)
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
    head = bed.head("return", 1, "a", "w1", messages.pack_answer(Answer(TargetReturn("a1", text))))
    parts = messages.split(head)
    assert len(parts) > 1
    found = [bed.send(each) for each in reversed(parts)]
    assert found[-1] is not None and found[-1].result.ret == text and found[:-1] == [None] * (len(parts) - 1)


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
