"""The intake: the cost of messages before they are decoded, their shapes, and changed grains."""

from __future__ import annotations

import logging
import sys
from typing import Any

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pushsalt.model import Target
from pushsalt.session import intake
from pushsalt.session.intake import UNFIT, Bucket, Intake, own_grains, returned_grains, weigh
from thin import wire

scalars = st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats() | st.text() | st.binary()
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=8) | st.dictionaries(st.text() | st.integers(0, 9), inner, max_size=5),
    max_leaves=15,
)


def size(value: Any) -> int:
    """The memory of a value and the objects in it, in bytes."""
    own = sys.getsizeof(value)
    if isinstance(value, dict):
        return own + sum(size(key) + size(item) for key, item in value.items())
    return own + sum(map(size, value)) if isinstance(value, list) else own


@given(values)
def test_a_weight_is_never_less_than_the_memory_of_the_objects(value):
    data = wire.pack({"ret": value})
    assert weigh(data) >= size(wire.unpack(data)) - 1500  # an empty dict or list counts as one with some entries
    assert weigh(bytearray(data)) == weigh(data)


@pytest.mark.parametrize(
    "value",
    [
        {str(number): {} for number in range(50_000)},
        [{}] * 100_000,
        [[None]] * 50_000,
        {"x": ["é" * 40] * 9000},
        ["x" * 40] * 100_000,
        dict.fromkeys(range(90000), 1.5),
        "x" * 3_000_000 + "\U0001f600",
        "é" * 3_000_000,
        b"\xff" * 3_000_000,
        "\udcff" * 2_000_000,
        [{"a": 1}] * 70_000,
    ],
    ids=lambda value: repr(value)[:20],
)
def test_a_weight_is_not_less_than_the_memory_of_many_and_of_long_objects(value):
    data = wire.pack({"ret": value})
    assert weigh(data) >= size(wire.unpack(data))


@given(st.binary(max_size=80) | st.builds(lambda v, cut: wire.pack({"a": v})[:cut], values, st.integers(0, 80)))
def test_only_messages_with_a_weight_can_be_decoded(data):
    reader = msgpack.Unpacker()
    reader.feed(data)
    try:
        weigh(data)
    except wire.Excess:
        pass
    except ValueError:
        refused = False
        try:
            msgpack.unpackb(data, strict_map_key=False, unicode_errors="surrogateescape", max_ext_len=0)
        except Exception:
            refused = True
        assert refused
    else:
        reader.skip()
        assert reader.tell() == len(data)


@pytest.mark.parametrize(
    "data, words",
    [
        (b"\x81\xa1k" + b"\x91" * 1000 + b"\xc0", "64 lists and mappings"),
        (b"\xdd\x00\x0f\x42\x40" + b"\x80" * 1_000_000, "500000 values"),
        ((b"\xdd\x00\x10\x00\x00" * 50).ljust(1_100_000, b"\xc0"), "500000 values"),
        (b"\xdb\x02\x00\x00\x00" + b"x" * (2**25 - 4) + "\U0001f600".encode(), "72 MiB"),
        (b"\xdc\x80\x00" + (b"\xda\x04\x00" + b"\xc3\xa9" * 512) * 0x8000, None),
    ],
    ids=["deep", "empty maps", "claims", "one wide character", "much text"],
)
def test_messages_above_the_limit_are_refused_before_decoding(data, words):
    if words is None:
        assert weigh(data) < intake.WEIGHT_LIMIT
        return
    with pytest.raises(wire.Excess, match=words):
        weigh(data)


def message(taker: Intake, **fields: Any) -> dict[str, Any] | None:
    return taker.message(wire.pack(fields))


def test_messages_have_the_fields_of_their_kind():
    taker = Intake(Target("t"))
    assert message(taker, k="start", tag="x", more=1) == {"k": "start", "tag": "x"}
    assert message(taker, k="unheard-of", tag=7) is None
    start = {"k": "start"}
    for wrong in (start, {**start, "tag": 7}, {"k": ["start"]}, {}, {"k": "ret", "re": True}, {"k": "file"}):
        with pytest.raises(ValueError, match=r"start|kind|re|n cannot"):
            message(taker, **wrong)


def test_the_stored_data_of_one_target_is_limited():
    taker = Intake(Target("t"))
    with pytest.raises(wire.Excess, match="all that it returned"):
        for number in range(1000):
            message(taker, k="state", tag=str(number), ret={"comment": "x" * 1_000_000})
    assert number > 60
    assert message(Intake(Target("u")), k="state", tag="x", ret={"comment": "x" * 1_000_000})


def test_events_have_a_rate_and_log_lines_are_left_out():
    now = [0.0]
    taker = Intake(Target("t"), lambda: now[0])
    for _ in range(5000):
        message(taker, k="event", tag="a", data=1)
    with pytest.raises(wire.Excess, match="events"):
        message(taker, k="event", tag="a", data=1)
    now[0] = 1.0
    for _ in range(1000):
        message(taker, k="event", tag="a", data=1)
    with pytest.raises(wire.Excess, match="events"):
        message(taker, k="event", tag="a", data=1)
    lines = [message(taker, k="log", level="info", text="x" * 100_000) for _ in range(20_010)]
    assert len(lines[0]["text"]) == intake.LOG_CHARS and lines[-1] is None and taker.left_out == 10


def test_received_bytes_of_a_session_and_of_stderr():
    taker = Intake(Target("t"))
    with pytest.raises(wire.Excess, match="256 MiB"):
        for _ in range(300):
            taker.received(2**20)
    with pytest.raises(wire.Excess, match="stderr"):
        for _ in range(300):
            taker.heard(2**20)


def test_a_bucket_fills_again():
    now = [0.0]
    bucket = Bucket(2, 1, lambda: now[0])
    assert [bucket.take() for _ in range(3)] == [True, True, False]
    now[0] = 1.5
    assert [bucket.take() for _ in range(2)] == [True, False]


# --- grains

WEB = Target("web1", grains={"role": "web", "app": {"name": "shop"}})


def test_a_target_cannot_change_its_id_and_inventory_grains():
    claimed = {"id": "db1", "role": "db", "app": {"name": "x", "more": 1}, "os": "Debian"}
    assert own_grains(WEB, claimed) == {"id": "web1", "role": "web", "app": {"name": "shop"}, "os": "Debian"}
    deep = own_grains(WEB, claimed, deep=True)
    assert deep["id"] == "web1" and deep["role"] == "web" and deep["app"] == {"name": "shop", "more": 1}
    assert own_grains(Target("web1", grains={"id": "x"}), {})["id"] == "web1"


@pytest.mark.parametrize(
    "fun, args, value, want",
    [
        ("grains.items", [], {"id": "db1", "a": 1}, {"a": 1, "role": "web", "app": {"name": "shop"}, "id": "web1"}),
        ("grains.item", ["id", "a"], {"id": "db1", "a": 1}, {"id": "web1", "a": 1}),
        ("grains.get", ["id"], "db1", "web1"),
        ("grains.get", ["a"], 1, 1),
        ("grains.get", [], 1, 1),
        ("grains.items", [], "no mapping", "no mapping"),
        ("cmd.run", ["id"], "db1", "db1"),
    ],
)
def test_functions_of_grains_return_the_same(fun, args, value, want):
    assert returned_grains(WEB, fun, args, value) == want


BAD = list("\n\r\0\x1b\x7f\x85\u2028\u2029\u202e\udcff\ufeff")


@pytest.mark.parametrize("bad", BAD, ids=lambda bad: f"U+{ord(bad):04X}")
def test_only_control_characters_are_removed(bad, caplog):
    text = f"a{bad}b"
    claimed = {
        "fqdn": text,
        text: 1,
        "list": ["x", text, "y"],
        "map": {"x": text, "y": {text: 1, "z": 2}},
        "os": "Debian",
        "tab": "a\tb",
        "ends": "line\r\n",
    }
    with caplog.at_level(logging.WARNING):
        found = own_grains(Target("t"), claimed)
    assert found == {
        "id": "t",
        "list": ["x", "y"],
        "map": {"y": {"z": 2}},
        "os": "Debian",
        "tab": "a\tb",
        "ends": "line",
    }
    assert "t: grains are left out" in caplog.text and "fqdn, " in caplog.text and "map:x" in caplog.text
    assert all(intake.fit(record.getMessage()) for record in caplog.records)


@given(st.dictionaries(st.text() | st.integers() | st.none(), values, max_size=6))
def test_whatever_is_claimed_becomes_grains_without_structure(claimed):
    try:
        found = own_grains(WEB, claimed)
    except wire.Excess:
        return
    assert found["id"] == "web1" and found["role"] == "web"

    def texts(value: Any) -> Any:
        if isinstance(value, dict):
            for key, item in value.items():
                yield from texts(key)
                yield from texts(item)
        elif isinstance(value, list):
            for item in value:
                yield from texts(item)
        elif isinstance(value, str):
            yield value
        else:
            assert value is None or isinstance(value, bool | int | float)

    for text in texts(found):
        assert len(text.splitlines()) < 2 and intake.fit(text)
        text.encode("utf-8")


@pytest.mark.parametrize("claimed", [None, 7, "x", [], [["id", "x"]]])
def test_grains_must_be_a_mapping(claimed):
    with pytest.raises(ValueError, match="no mapping"):
        own_grains(WEB, claimed)


@pytest.mark.parametrize("claimed", [{"x": [1] * 60_000}, {"x": "y" * 5_000_000}, {"x" * 5_000_000: 1}])
def test_the_size_of_grains_is_limited(claimed):
    with pytest.raises(wire.Excess, match="grains"):
        own_grains(WEB, claimed)


def test_the_grains_of_this_machine_are_unchanged(caplog):
    from thin import grains

    found = grains.collect({"id": "here"})
    with caplog.at_level(logging.WARNING):
        assert own_grains(Target("here"), found) == {**found, "id": "here"}
    assert not caplog.records


def test_each_printable_character_is_allowed_in_grains():
    """``_Cleaning`` searches no further in a text that Python calls printable."""
    printable = "".join(filter(str.isprintable, map(chr, range(0x110000))))
    assert UNFIT.search(printable) is None
    claimed = {"a b": "c", "list": ["x", "é", "y\n"], "ok": ["x", "é"], "none": [], "mixed": ["a", 1, None], "b\n": 1}
    assert own_grains(Target("t"), claimed, warn=lambda *args: None) == {
        "a b": "c",
        "list": ["x", "é", "y"],
        "ok": ["x", "é"],
        "none": [],
        "mixed": ["a", 1, None],
        "id": "t",
    }
