"""Slots in arguments: a state receives the same values as in real Salt."""

from __future__ import annotations

import os
import random
from typing import Any

import pytest

from tests.differential.both import EXAMPLES, Both, difference
from tests.differential.trees import Tree

WORDS = [
    "x",
    "a b",
    "'quoted, (text)'",
    '"two \\" quotes"',
    "",
    "5",
    "None",
    "[1, 2]",
    "{a: 1}",
    "[a, [b, c]]",
    "#",
    "a.b",
    "~",
    "'",
    "(",
    ")",
    "ä",
    "key",
    "\\",
    "'it''s'",
    "a=b",
    " lead",
    "{'a': 'b', c: (d)}",
    "'('",
    "\\)",
    "'.'",
    "×",
    "a'='b",
]
STARTS = [*["__slot__:salt:"] * 9, "__slot__:", "__slot__:no:", " __slot__:salt:"]
FUNCTIONS = ["test.arg", "test.arg", "test.arg", "test.echo", "test.no_such", "test", "", "test.ping"]
PATHS = ["", "", "", ".args", ".kwargs.k", ".args.0", ".no.such", " .args", ".", "x"]
SUFFIXES = ["", "", "", " ~ /more", "~x", " ~ ' spaced '", ' ~ "double"', " ~ a ~ b", " ~"]


def slot(draw: random.Random) -> str:
    values = [draw.choice(WORDS) for _ in range(draw.randint(0, 3))]
    args = [draw.choice(["", "", "k=", "y=", "a b="]) + value for value in values]
    call = f"{draw.choice(FUNCTIONS)}({draw.choice([', ', ',', ' , ']).join(args)})"
    return draw.choice(STARTS) + call + draw.choice(PATHS) + draw.choice(SUFFIXES)


def value(draw: random.Random) -> Any:
    """A slot, or a list or dict with slots."""
    kind = draw.randint(0, 3)
    if kind == 2:
        count = draw.randint(0, 3)
        return [draw.choice([slot(draw), "plain", 1, {draw.choice("ab"): slot(draw)}]) for _ in range(count)]
    if kind == 3:
        return {key: draw.choice([slot(draw), 2, [slot(draw)]]) for key in draw.choice(["", "a", "b", "ab"])}
    return slot(draw)


@pytest.mark.timeout(0)
def test_random_slots(both: Both) -> None:
    seed = os.environ.get("SEED") or "0"
    for number in range(max(1, EXAMPLES // 20)):
        draw = random.Random(f"{seed}.{number}")
        values = [(value(draw), value(draw)) for _ in range(draw.randint(1, 30))]
        body = {
            f"s{n}": {"probe.echo": [{"value": first}, {"more": second}]} for n, (first, second) in enumerate(values)
        }
        differences = difference(*both.run(Tree({"a.sls": body}, ["a"])))
        assert not differences, f"slots {number} of seed {seed}:\n{differences}"
