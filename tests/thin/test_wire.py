"""The wire: packed values are read back; frames work across splits and other output; invalid ones raise ValueError."""

import datetime
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thin import wire
from thin.vendor import msgpack as vendored

pytestmark = pytest.mark.slow

NONCE = b"0123456789abcdef"

numbers = st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False)
plain = st.none() | st.booleans() | numbers | st.text() | st.binary()
values = st.recursive(
    plain, lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers(0, 9), inner), max_leaves=20
)
messages = st.dictionaries(st.text(), values)
kinds = st.sampled_from([b"M", b"A", b"B", b"H", b"E"])


@given(messages)
def test_messages_come_out_as_they_went_in(message):
    assert wire.unpack(wire.pack(message)) == message


@given(messages)
def test_both_implementations_speak_the_same(message):
    packed = vendored.packb(message, use_bin_type=True, unicode_errors="surrogateescape")
    assert packed == wire.pack(message)
    assert vendored.unpackb(packed, raw=False, strict_map_key=False) == message


@pytest.mark.parametrize(
    "value, want",
    [
        ({3, 1, 2}, [1, 2, 3]),
        ((1, 2), [1, 2]),
        (datetime.date(2026, 11, 21), "2026-11-21"),
        (2**70, str(2**70)),
        (range(3), [0, 1, 2]),
        (b"\xff", b"\xff"),
        ("\udcff", "\udcff"),
        (ValueError("x"), "x"),
        ("a\ud800\udcff\udfffb", "a\ufffd\udcff\ufffdb"),
        ({"\udbff": ["\udd00", {"\ud800"}]}, {"\ufffd": ["\ufffd", ["\ufffd"]]}),
    ],
)
def test_what_has_no_type_travels_all_the_same(value, want):
    assert wire.unpack(wire.pack({"ret": value})) == {"ret": want}


def test_nesting_without_end_travels_in_part():
    deep = value = {}
    for _ in range(2000):
        deep["x"] = deep = {}
    assert "x" in wire.unpack(wire.pack({"ret": value}))["ret"]


@given(st.binary(max_size=60))
def test_no_bytes_are_another_error(data):
    try:
        assert isinstance(wire.unpack(data), dict)
    except ValueError:
        pass


@given(st.lists(st.tuples(kinds, st.binary(max_size=50)), max_size=6), st.data())
def test_frames_survive_cuts_and_noise(frames, data):
    stream = b""
    for kind, payload in frames:
        noise = data.draw(st.binary(max_size=40).filter(lambda text: b"0" not in text))
        stream += noise + NONCE + wire.frame(kind, payload)
    reader = wire.Frames(NONCE)
    found = []
    while stream:
        size = data.draw(st.integers(1, len(stream)))
        reader.feed(stream[:size])
        stream = stream[size:]
        found += list(reader)
    assert found == frames


@given(st.lists(st.tuples(kinds, st.binary(max_size=50)), max_size=6))
def test_frames_without_a_nonce(frames):
    reader = wire.Frames()
    reader.feed(b"".join(wire.frame(kind, payload) for kind, payload in frames))
    assert list(reader) == frames
    assert reader.rest() == b""


def test_limits():
    reader = wire.Frames(NONCE, limit=100)
    reader.feed(NONCE + wire.HEAD.pack(b"M", 101))
    with pytest.raises(ValueError, match="over the limit"):
        list(reader)
    noisy = wire.Frames(NONCE)
    with pytest.raises(ValueError, match="no frame"):
        for _ in range(3):
            noisy.feed(b"x" * wire.NOISE_LIMIT)
            list(noisy)
    assert len(noisy.noise) <= 4096


@given(values, values)
def test_template_keys_depend_on_the_values_alone(context, defaults):
    def key(context, defaults):
        return wire.template_key("salt://a", "base", "jinja", context, defaults, "tag")

    shuffled = dict(reversed(list(context.items()))) if isinstance(context, dict) else context
    assert key(context, defaults) == key(shuffled, defaults)
    assert key({"a": 1}, None) != key(None, {"a": 1})


def test_file_keys_name_the_saltenv():
    assert wire.file_key("salt://a", "dev") == "salt://a?saltenv=dev"
    assert wire.file_key("salt://a?saltenv=x", "dev") == "salt://a?saltenv=x"


def test_the_vendored_msgpack_is_that_of_the_targets():
    assert vendored.__name__ == "thin.vendor.msgpack"
    assert "thin.vendor.msgpack" in sys.modules
