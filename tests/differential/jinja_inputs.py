"""Inputs for Jinja filters, tests and globals; the same seed gives the same inputs.

It imports only the standard library, since real Salt's Python imports it, too. Any Python value can be an input, since
only its position is transferred.
"""

import datetime
import random
import signal
from collections import OrderedDict

UTC = datetime.timezone.utc

VALUES = [
    None,
    True,
    False,
    0,
    1,
    -3,
    7,
    2.5,
    -0.0,
    1e300,
    10**20,
    "",
    " ",
    "abc",
    "Ab cD",
    "Grüße ☃",
    "日本語",
    "e\u0301",
    "\n\t",
    "a\nb",
    "  x ",
    "1",
    "-2",
    "12.5",
    "0x1F",
    "2G",
    "1.5 MiB",
    "10kB",
    "true",
    "Yes",
    "off",
    "none",
    "10.0.0.1",
    "10.0.0.0/8",
    "192.168.1.7/24",
    "::1",
    "2001:db8::/32",
    "2001:DB8::1/64",
    "fe80::1%eth0",
    "256.1.1.1",
    "aa:bb:cc:dd:ee:ff",
    "/a/b/../c",
    "a,b,c",
    "k=v",
    '{"a": 1}',
    "[1, 2",
    "a: 1\nb: [1, 2]",
    "- x",
    "<b>&'\"",
    "2002-12-25",
    "2002-12-25T10:30:00Z",
    "2002/12/25 10:30",
    "1040814000",
    "http://x.example/y?z=1",
    "camel_case_word",
    "camelCaseWord",
    "$1 (a)*",
    "%s %d",
    "x" * 100,
    "YWJj",
    "0",
    "é" * 3,
    b"",
    b"abc",
    b"\xc3\xa9",
    b"\xff\x00",
    [],
    [1, 2, 2, 3],
    ["b", "a", "B", None],
    [[1, [2]], [3]],
    [{"a": 1, "n": "x"}, {"a": 2, "n": "y"}],
    [None],
    [""],
    ["10.0.0.1", "::1", "x", "192.168.1.0/24", "8.8.8.8"],
    ["é", "e", "z"],
    [True, False, True],
    [[1, 2], [3, 4]],
    [("a", 1), ("b", 2)],
    [{"key": "a", "value": 1}],
    [0.5, 1, "1"],
    ["a", "b", "c"],
    [{}],
    [b"x"],
    (),
    (1, "x"),
    {1},
    {"a"},
    set(),
    frozenset([2]),
    {},
    {"b": 1, "a": [1, {"c": "x\ny"}]},
    {"k": {"x": 1}},
    {1: 2, None: 3},
    {"ü": ["é", None]},
    {"a": {"b": {"c": 5}}},
    {"a": 1, "b": 2, "c": None},
    OrderedDict([("z", 1), ("a", 2)]),
    {"a": datetime.date(2002, 12, 25)},
    {"a": b"x"},
    datetime.date(2002, 12, 25),
    datetime.datetime(2002, 12, 25, 10, 30),
    datetime.datetime(2002, 12, 25, tzinfo=UTC),
    datetime.timedelta(days=1, seconds=5),
    range(3),
]

ARGS = [
    None,
    True,
    False,
    0,
    1,
    2,
    3,
    -1,
    2.5,
    "",
    "a",
    "b",
    ":",
    ",",
    "a:b",
    "a.b",
    "k:x",
    "ü",
    "%Y-%m-%d",
    "%s",
    "public",
    "md5",
    "sha256",
    "hex",
    "utf-8",
    "10.0.0.0/8",
    ".*",
    "(a)(b)?",
    "key",
    "x",
    [],
    [1, 5],
    ["a"],
    ["a", "b"],
    ["ü"],
    ["10.0.0.0/8", "::/0"],
    {},
    {"a": 1},
    {"a": {"b": 2}},
    {"k": {"x": 2, "y": 3}},
    (1, 2),
    {1},
]


def random_value(rng, depth=0):
    """A value of the list, or lists and mappings of such values."""
    kind = rng.random()
    if depth > 2 or kind < 0.6:
        return rng.choice(VALUES)
    size = rng.randrange(4)
    if kind < 0.8:
        return [random_value(rng, depth + 1) for _ in range(size)]
    keys = ["a", "b", "k", "ü", "x", "name", 1]
    return {rng.choice(keys): random_value(rng, depth + 1) for _ in range(size)}


def inputs(seed, name, count):
    """``count`` pairs of a value and arguments for one filter or test: the plain values first, then random ones."""
    rng = random.Random(f"{seed} {name}")
    pairs = [(value, ()) for value in VALUES]
    rng.shuffle(pairs)
    while len(pairs) < count:
        arity = rng.choice((0, 1, 1, 1, 2, 2, 3))
        pairs.append((random_value(rng), tuple(rng.choice(ARGS) for _ in range(arity))))
    return pairs[:count]


class TooLong(BaseException):
    """A call that did not end in time, for example one that lists all hosts of a large network."""


def limited(call, seconds=0.5):
    """The result of a call, or TooLong. Only in the main thread."""

    def raise_too_long(*_):
        raise TooLong

    before = signal.signal(signal.SIGALRM, raise_too_long)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        return call()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
