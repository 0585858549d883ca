"""Too much of anything: an error for the target that sends it, little memory on the controller, and all other
results.
"""

from __future__ import annotations

import os
from typing import Any

import pytest

from tests.hostile.bed import MEMORY_LIMIT, Bed
from tests.hostile.peer import NUMBER, Frame, Reply, Script

pytestmark = pytest.mark.slow

MIB = 2**20
RET = {"k": "ret", "re": NUMBER, "retcode": 0}


def ret(value: Any) -> list[Frame]:
    return [("M", {**RET, "ret": value})]


def raw(body: bytes) -> Reply:
    """A return with these bytes of msgpack."""
    return lambda asked: [("M", b"\x83\xa1k\xa3ret\xa2re" + bytes([asked["n"]]) + b"\xa3ret" + body)]


def many(count: int, **fields: Any) -> Reply:
    """A number of messages, written a thousand at a time, if small; ``{}`` in a tag becomes their number."""
    at_once = 1000 if len(repr(fields)) < 1000 else 1

    def frames(asked: dict[str, Any]) -> Any:
        for begin in range(0, count, at_once):
            numbers = range(begin, begin + at_once)
            tags = [{"tag": fields["tag"].format(number)} if "tag" in fields else {} for number in numbers]
            yield "together", [("M", {**fields, **tag}) for tag in tags]
        yield from ret(True)

    return frames


#: name -> its answer to a call, and the error kind, or None for an ordinary return
CALLS: dict[str, tuple[Reply, str | None]] = {
    "nested": (raw(b"\x91" * 1000 + b"\xc0"), "excess"),
    "nested-maps": (raw(b"\x81\xa1x" * 1000 + b"\xc0"), "excess"),
    "empty-maps": (raw(b"\xdd\x00\x0f\x42\x40" + b"\x80" * 1_000_000), "excess"),
    "claims": (raw(b"\xdd\x01\xff\xff\xff" * 500 + b"\x80" * (32 * MIB)), "excess"),
    "claims-more": (raw(b"\xdd\xff\xff\xff\xff" * 50), "protocol_error"),
    "events": (many(15_000, k="event", tag="a/{}", data={"x": "y" * 100}), "excess"),
    "large-events": (many(1000, k="event", tag="a/{}", data={"x": "y" * MIB}), "excess"),
    "logs": (many(30_000, k="log", level="debug", text="y" * 100), None),
    "states": (many(2000, k="state", tag="a_|-{}_|-b_|-c", ret={"comment": "y" * MIB}), "excess"),
    "stderr": (many(2000, k="stderr", text="y" * MIB), "excess"),
    "unheard-of": (many(2000, k="what", text="y" * MIB), "excess"),
    "noise": (lambda asked: (("raw", b"y" * MIB) for _ in range(2000)), "protocol_error"),
    "large-frame": (ret("y" * (40 * MIB)), "excess"),
    "large-other": (lambda asked: [("S", b"y" * (2 * MIB))], "excess"),
    "questions": (many(1000, k="file", n=1, url="salt://x"), "protocol_error"),
    "wide": (ret("y" * (20 * MIB) + "\U0001f600"), "excess"),
}


@pytest.mark.parametrize("name", CALLS)
def test_too_much_is_an_error_of_one_target(bed: Bed, name: str) -> None:
    reply, kind = CALLS[name]
    bed.inventory({name: Script(replies={"call": reply})})
    run = bed.run("run", "--out", "json", "*", "test.ping")
    bed.check(run, [name])
    assert run.done.data["well"] is True and run.done.data["db1"] is True
    if kind is None:
        assert run.done.data[name] is True and run.done.code == 0
    else:
        assert run.done.error(name)["kind"] == kind and run.done.code == 3


def test_too_much_on_stderr(bed: Bed) -> None:
    bed.inventory({"evil": Script(stderr=(b"z" * MIB for _ in range(2000)))})
    run = bed.run("run", "--out", "json", "*", "test.ping")
    bed.check(run, ["evil"])
    assert run.done.error("evil")["kind"] == "excess" and run.done.data["well"] is True


#: the maximum that a target may return
MOST: dict[str, Reply] = {
    "controls": ret("\0" * (35 * MIB)),
    "wide": ret("x" * (16 * MIB) + "\U0001f600"),
    "lines": ret("\n" * (35 * MIB)),
    "maps": raw(b"\xdd\x00\x07\xa0\x00" + b"\x80" * 499_712),
    "keys": ret({str(number): {} for number in range(249_000)}),
}


#: usual runs have the worst of each format
LONG = bool(os.environ.get("PUSHSALT_HOSTILE"))
PRINTED = (
    [(name, out) for name in MOST for out in ("json", "rich", "yaml")]
    if LONG
    else [
        ("controls", "json"),
        ("lines", "rich"),
        ("keys", "yaml"),
    ]
)


@pytest.mark.parametrize("name, out", PRINTED)
def test_the_most_that_is_allowed_is_printed_in_little_memory(bed: Bed, name: str, out: str) -> None:
    bed.inventory({"most": Script(replies={"call": MOST[name]})})
    run = bed.run("run", "--out", out, "*", "test.ping")
    assert run.done.code == 0 and "most" in run.done.out and "well" in run.done.out
    assert run.memory - bed.quiet() < MEMORY_LIMIT, run.memory - bed.quiet()


def test_many_failed_states_are_printed_in_little_memory(bed: Bed) -> None:
    """States are stored for a return; each makes lines for people."""

    def states(asked: dict[str, Any]) -> Any:
        ret_of_one = {"result": False, "comment": "x\n" * 100}
        for begin in range(0, 30_000, 1000):
            tags = [f"a_|-{number}_|-b_|-c" for number in range(begin, begin + 1000)]
            yield "together", [("M", {"k": "state", "tag": tag, "ret": ret_of_one}) for tag in tags]
        yield from ret({"states": 1})

    bed.inventory({"evil": Script(replies={"run": states})})
    run = bed.run("apply", "*", "it")
    assert run.done.code == 2 and "more states" in run.done.out and "well" in run.done.out
    assert run.memory - bed.quiet() < MEMORY_LIMIT, run.memory - bed.quiet()


def test_that_memory_is_measured(bed: Bed) -> None:
    """A controller without limits needs more memory: the checks above can fail."""
    maps = raw(b"\xdd\x00\x2d\xc6\xc0" + b"\x80" * 3_000_000)
    bed.inventory({"evil": Script(replies={"call": maps})})
    unweighed = "import pushsalt.session.intake as i; i.weigh = lambda data, room=0: 0"
    run = bed.run("run", "--out", "quiet", "evil", "test.ping", mutant=unweighed)
    assert run.memory - bed.quiet() > MEMORY_LIMIT, run.memory - bed.quiet()
