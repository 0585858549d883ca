"""thin.packing reads and writes the same bytes as msgpack, and delegates unusual values to it."""

import datetime

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thin import packing, wire
from thin.vendor.msgpack import fallback

LIMITS = (0, 0x7F, 0x80, 0xFF, 0x100, 0xFFFF, 0x10000, 2**31, 2**32 - 1, 2**32, 2**63, 2**64 - 1)
INTEGERS = sorted({*LIMITS, *(-number for number in LIMITS if number <= 2**63), -0x1F, -0x20, -0x21, -0x81})
LONG = [0, 1, 15, 16, 31, 32, 255, 256, 65535, 65536]

scalars = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**63), 2**64 - 1), st.floats(allow_nan=False), st.text(), st.binary()
)
values = st.recursive(
    scalars, lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers(0, 300), inner), max_leaves=40
)


def msgpack_bytes(value):
    return msgpack.packb(value, use_bin_type=True, unicode_errors="surrogateescape")


@given(values)
def test_the_bytes_equal_those_of_msgpack(value):
    data = msgpack_bytes(value)
    assert packing.packed(value) == data
    assert packing.unpacked(data) == value


@pytest.mark.parametrize("number", INTEGERS)
def test_integers_at_the_limits_of_their_sizes(number):
    assert packing.packed(number) == msgpack_bytes(number)
    assert packing.unpacked(packing.packed(number)) == number


@pytest.mark.parametrize("length", LONG)
def test_lengths_at_the_limits_of_their_sizes(length):
    for value in ("a" * length, b"a" * length, [1] * length, dict.fromkeys(range(length), "")):
        assert packing.packed(value) == msgpack_bytes(value)
        assert packing.unpacked(packing.packed(value)) == value


def test_text_that_is_not_utf8_is_packed_with_surrogates():
    assert packing.unpacked(packing.packed("a\udcff")) == "a\udcff"
    assert packing.packed("a\udcff") == msgpack_bytes("a\udcff")


class OfText(str):
    pass


@pytest.mark.parametrize(
    "value",
    [
        {1, 2},
        2**64,
        -(2**63) - 1,
        OfText("a"),
        datetime.date(2026, 1, 2),
        object(),
        "\ud800",
        [[object()]],
        bytearray(3),
    ],
    ids=["set", "large", "small", "text's own class", "date", "object", "lone surrogate", "nested", "bytearray"],
)
def test_other_values_are_delegated_to_msgpack(value):
    with pytest.raises(packing.Unusual):
        packing.packed(value)


def test_deep_nesting_is_delegated_to_msgpack():
    deep = flat = []
    for _ in range(300):
        flat.append([])
        flat = flat[0]
    with pytest.raises(packing.Unusual):
        packing.packed(deep)
    with pytest.raises(packing.Unusual):
        packing.unpacked(b"\x91" * 300 + b"\x90")


@given(values, st.integers(0, 1000))
def test_truncated_bytes_are_refused(value, length):
    data = packing.packed(value)
    with pytest.raises(packing.Unusual):
        packing.unpacked(data[: length % len(data)])


@given(st.binary(max_size=60))
def test_any_bytes_are_unpacked_as_by_msgpack(data):
    """Other bytes are delegated to it."""
    try:
        unpacked = packing.unpacked(data)
    except packing.Unusual:
        return
    size = len(data)
    limits = dict.fromkeys(("max_str_len", "max_bin_len", "max_array_len", "max_map_len"), size)
    expected = fallback.unpackb(data, raw=False, strict_map_key=False, unicode_errors="surrogateescape", **limits)
    assert repr(unpacked) == repr(expected)


@pytest.mark.parametrize("message", [{"k": "log", "text": "a"}, {"k": "ret", "ret": {"a": {1, 2}, "b": 2**70}}])
def test_both_implementations_pack_and_read_messages(message, monkeypatch):
    """Each of the two reads what the other packs."""
    by_library = wire.pack(message)
    monkeypatch.setattr(wire, "_PACKS_ITSELF", True)
    assert wire.pack(message) == by_library
    assert wire.unpack(by_library) == wire.unpack(wire.pack(message))
    for data in (by_library[:-1], by_library + b"\0", b"\x01", b"\x81\x90\x01", b"\xc1"):
        with pytest.raises(ValueError, match="msgpack"):
            wire.unpack(data)
