"""Slots in arguments: what a state gets is what it gets from real Salt."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from tests.differential.both import EXAMPLES, Both, difference
from tests.differential.trees import Tree

WORDS = st.sampled_from([
    "x", "a b", "'quoted, (text)'", '"two \\" quotes"', "", "5", "None", "[1, 2]", "{a: 1}", "[a, [b, c]]", "#", "a.b",
    "~", "'", "(", ")", "ä", "key", "\\", "'it''s'", "a=b", " lead", "{'a': 'b', c: (d)}", "'('", "\\)", "'.'", "×",
    "a'='b",
])  # fmt: skip
ARGUMENTS = st.lists(st.one_of(WORDS, st.builds("{}={}".format, st.sampled_from(["k", "y", "a b"]), WORDS)), max_size=3)
CALLS = st.builds(
    lambda fun, args, joint: f"{fun}({joint.join(args)})",
    st.sampled_from(["test.arg", "test.arg", "test.arg", "test.echo", "test.no_such", "test", "", "test.ping"]),
    ARGUMENTS,
    st.sampled_from([", ", ",", " , "]),
)
PATHS = st.sampled_from(["", "", "", ".args", ".kwargs.k", ".args.0", ".no.such", " .args", ".", "x"])
SUFFIXES = st.sampled_from(["", "", "", " ~ /more", "~x", " ~ ' spaced '", ' ~ "double"', " ~ a ~ b", " ~"])
SLOTS = st.builds(
    "{}{}{}{}".format,
    st.sampled_from([*["__slot__:salt:"] * 9, "__slot__:", "__slot__:no:", " __slot__:salt:"]),
    CALLS,
    PATHS,
    SUFFIXES,
)
VALUES = st.one_of(
    SLOTS,
    SLOTS,
    st.lists(st.one_of(SLOTS, st.just("plain"), st.just(1), st.dictionaries(st.sampled_from("ab"), SLOTS)), max_size=3),
    st.dictionaries(st.sampled_from("ab"), st.one_of(SLOTS, st.just(2), st.lists(SLOTS, max_size=1)), max_size=2),
)


@pytest.mark.timeout(0)
@settings(
    max_examples=max(1, EXAMPLES // 20), database=None, print_blob=True, suppress_health_check=list(HealthCheck)
)
@given(values=st.lists(st.tuples(VALUES, VALUES), min_size=1, max_size=30))
def test_random_slots(both: Both, values: list[Any]) -> None:
    body = {f"s{at}": {"probe.echo": [{"value": one}, {"more": two}]} for at, (one, two) in enumerate(values)}
    tree = Tree({"a.sls": body}, ["a"])
    found = difference(*both.run(tree))
    if found:
        note(f"{tree}\n{found}")
        raise AssertionError(found)
