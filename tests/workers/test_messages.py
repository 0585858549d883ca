"""Encoding and decoding of messages; decoding of foreign bytes."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pushsalt.job import JobOptions
from pushsalt.model import Explained, TargetReturn
from pushsalt.workers import messages
from pushsalt.workers.messages import Answer, Description, Head, MessageError, NewerError
from pushsalt.workers.parties import Box
from thin import wire

JID = "20261126101500000000"


def test_a_message_is_decoded_unchanged():
    head = Head("shard", JID, "berlin", 3, box=b"\0box", job=b"job")
    assert messages.decode(messages.encode(head)) == head


def test_a_newer_version_is_refused_and_its_head_is_read(monkeypatch):
    data = messages.encode(Head("news", JID, "berlin", 3, "w1", version=messages.VERSION + 1))
    with pytest.raises(NewerError, match="are not known here") as caught:
        messages.decode(data)
    assert (caught.value.head.jid, caught.value.head.site, caught.value.head.n) == (JID, "berlin", 3)


def test_an_older_version_is_read(monkeypatch):
    data = messages.encode(Head("done", JID, "berlin", 3, "w1"))
    monkeypatch.setattr(messages, "VERSION", messages.VERSION + 1)
    assert messages.decode(data).version == messages.OLDEST


@pytest.mark.parametrize(
    "change",
    [
        {"v": 0},
        {"v": True},
        {"v": "1"},
        {"k": "cmd"},
        {"k": 3},
        {"jid": "last"},
        {"site": "a.b"},
        {"site": "*"},
        {"worker": "a/b"},
        {"n": -1},
        {"n": "1"},
        {"box": "text"},
        {"part": 5, "parts": 2},
        {"parts": 10**6},
    ],
)
def test_a_wrong_message_is_refused(change):
    good = {"v": 1, "k": "return", "jid": JID, "site": "a", "n": 1, "worker": "w", "box": b""}
    messages.decode(wire.pack(good))
    with pytest.raises(MessageError):
        messages.decode(wire.pack({**good, **change}))


@given(st.binary(max_size=200))
def test_any_bytes_give_a_message_error(data):
    for read in (messages.decode, messages.unpack_ids, messages.unpack_answer, messages.unpack_description):
        with pytest.raises(MessageError):
            read(data)


def test_a_return_is_decoded_unchanged():
    result = TargetReturn("a", {"x": 1}, phases={"run": 0.5}, warnings=["w"], retcode=1, exit_code=2, changes=True)
    answer = messages.unpack_answer(messages.pack_answer(Answer(result, {"os": "Debian"}, {"p": 1}, ["s3cret"])))
    assert answer == Answer(result, {"os": "Debian"}, {"p": 1}, ["s3cret"])


def test_explanations_of_errors_are_decoded_unchanged():
    result = TargetReturn("a", [Explained("short", "long"), "plain"], shape="errors", exit_code=2)
    ret = messages.unpack_answer(messages.pack_answer(Answer(result))).result.ret
    assert ret == ["short", "plain"] and ret[0].explanation == "long" and not isinstance(ret[1], Explained)


def test_a_return_with_a_wrong_shape_is_refused():
    data = messages.pack_answer(Answer(TargetReturn("a", {"error": {}}, shape="error", exit_code=3)))
    with pytest.raises(MessageError, match="has no error"):
        messages.unpack_answer(data)


def test_a_description_is_decoded_with_its_options():
    options = JobOptions(test=True, pillar={"a": 1}, timeout=3.0, batch="2", max_fail="1")
    job = Description(JID, "apply", "state.apply", ["a"], {}, messages.options_of(options), {"local": {}}, b"k" * 32)
    found = messages.unpack_description(messages.pack_description(job))
    assert found == job
    assert found.job_options() == JobOptions(test=True, pillar={"a": 1}, timeout=3.0)


def test_a_description_of_an_unknown_kind_is_refused():
    job = Description(JID, "clean", "clean", [], {}, {}, {}, b"")
    with pytest.raises(MessageError, match="do not run"):
        messages.unpack_description(messages.pack_description(job))


def test_a_large_box_is_split_and_joined():
    head, box, data = Head("return", JID, "a", 1, "w"), Box(), bytes(2 * messages.PART + 5)
    parts = messages.split(head, data, box)
    assert [(each.part, each.parts) for each in parts] == [(0, 3), (1, 3), (2, 3)]
    joining = messages.Parts()
    assert [joining.joined(each, box.open(each.box, each.purpose)) for each in parts] == [None, None, data]
    assert all(len(messages.encode(each)) < messages.LIMIT for each in parts)


def test_parts_that_wait_for_others_are_limited():
    joining = messages.Parts(room=10)
    first, second = (Head("return", JID, "a", n, "w", parts=2) for n in (1, 2))
    assert joining.joined(first, b"12345678") is None
    with pytest.raises(MessageError, match="too many returns wait"):
        joining.joined(second, b"12345678")
    assert joining.joined(replace(first, part=1), b"9") == b"123456789"
    assert joining.joined(second, b"12345678") is None


def test_a_return_that_takes_much_memory_is_refused():
    """A few hundred kilobytes of the network would otherwise be gigabytes of empty maps."""
    data = messages.pack_answer(Answer(TargetReturn("a", [{}] * 3_000_000)))
    assert len(data) < 100_000
    with pytest.raises(MessageError, match="more than 1000000 values"):
        messages.unpack_answer(data)


def test_a_return_as_large_as_a_session_allows_is_decoded():
    result = TargetReturn("a", [[n] for n in range(120_000)])
    assert messages.unpack_answer(messages.pack_answer(Answer(result))).result == result


@pytest.mark.parametrize("ret", [[], "text", None, {1: {}}])
def test_states_without_a_mapping_of_tags_are_refused(ret):
    with pytest.raises(MessageError, match="no returns of states"):
        messages.unpack_answer(messages.pack_answer(Answer(TargetReturn("a", ret, shape="states"))))


def test_the_value_of_a_disabled_highstate_is_decoded_unchanged():
    result = TargetReturn("a", {"name": "disabled", "result": "False"}, shape="states")
    assert messages.unpack_answer(messages.pack_answer(Answer(result))).result == result
