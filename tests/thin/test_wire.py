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
def test_packed_messages_are_unpacked_unchanged(message):
    assert wire.unpack(wire.pack(message)) == message


@given(messages)
def test_both_implementations_of_msgpack_are_compatible(message):
    packed = vendored.packb(message, use_bin_type=True, unicode_errors="surrogateescape")
    assert packed == wire.pack(message)
    assert vendored.unpackb(packed, raw=False, strict_map_key=False) == message


@pytest.mark.parametrize(
    "value, expected",
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
def test_values_without_a_type_are_converted(value, expected):
    assert wire.unpack(wire.pack({"ret": value})) == {"ret": expected}


def test_very_deep_nesting_is_truncated():
    deep = value = {}
    for _ in range(2000):
        deep["x"] = deep = {}
    assert "x" in wire.unpack(wire.pack({"ret": value}))["ret"]


@given(st.binary(max_size=60))
def test_any_bytes_are_a_message_or_a_value_error(data):
    try:
        assert isinstance(wire.unpack(data), dict)
    except ValueError:
        pass


@given(st.lists(st.tuples(kinds, st.binary(max_size=50)), max_size=6), st.data())
def test_frames_are_read_across_splits_and_noise(frames, data):
    stream = b""
    for kind, payload in frames:
        noise = data.draw(st.binary(max_size=40).filter(lambda text: b"0" not in text))
        stream += noise + NONCE + wire.frame(kind, payload)
    reader = wire.Frames(NONCE)
    received = []
    while stream:
        size = data.draw(st.integers(1, len(stream)))
        reader.feed(stream[:size])
        stream = stream[size:]
        received += list(reader)
    assert received == frames


@given(st.lists(st.tuples(kinds, st.binary(max_size=50)), max_size=6))
def test_frames_without_a_nonce(frames):
    reader = wire.Frames()
    reader.feed(b"".join(wire.frame(kind, payload) for kind, payload in frames))
    assert list(reader) == frames
    assert reader.rest() == b""


def test_large_frames_and_noise_are_errors():
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
def test_template_keys_depend_only_on_the_values(context, defaults):
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
