"""Values of the record of jobs, compressed and decompressed."""

from __future__ import annotations

import json
import zlib

import pytest

from pushsalt.jobs import encoding

LONG = "\0ä\U0001f600\n" * (1 << 19)


@pytest.mark.parametrize(
    "value",
    [
        LONG,
        {"a": LONG, "b": [LONG, 1, None, True], "c": {}, "d": []},
        {2: LONG, None: 1.5, True: {"deep": [[], [LONG]]}},
        [LONG.encode(), {b"key": {1, 2}}],
    ],
    ids=["text", "dict", "keys", "bytes"],
)
def test_long_texts_packed_in_parts_are_the_same_as_packed_at_once(value):
    whole = json.loads(encoding.text_of(value))
    assert encoding.unpack(encoding.pack(value)) == whole
    parts = list(encoding._parts(value, 0))
    assert json.loads("".join(parts)) == whole
    assert max(map(len, parts)) <= 12 * encoding._LONG


def test_a_value_that_contains_itself_ends():
    value = {"a": 1}
    value["b"] = [value]
    assert encoding.unpack(encoding.pack(value))["a"] == 1


def test_damaged_data_is_reported():
    data = encoding.pack({"a": 1})
    with pytest.raises(ValueError, match="damaged"):
        encoding.unpack(data[:-5])
    with pytest.raises(ValueError, match="damaged"):
        encoding.unpack(zlib.compress(b"{"))
