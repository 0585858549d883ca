"""Every kind of message, fuzzed from the tables of ``thin.wire``: whatever targets send, at any time, the results of
other targets are right and printed, no secret leaks, nothing is run or written, and each target has one return of a
known shape.

The usual run is short. ``PUSHSALT_HOSTILE=1000 pytest tests/hostile`` tries a thousand commands.
"""

from __future__ import annotations

import json
import os
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, note, settings
from hypothesis import strategies as st

from tests.hostile.bed import MARKER, Bed
from tests.hostile.peer import NUMBER, Frame, Script
from thin import wire

pytestmark = pytest.mark.slow

LONG = int(os.environ.get("PUSHSALT_HOSTILE") or 0)
CODE = f"import pathlib\ndef run():\n    pathlib.Path.home().joinpath('{MARKER}').touch()\n    return {{}}\n"
JINJA = "{{ salt['slsutil.renderer'](string=CODE, default_renderer='py') }}".replace("CODE", repr(CODE))

#: texts with a meaning in some place
WORDS = [
    "",
    "db1",
    "../../db1",
    "salt://../secret",
    "salt://it.sls",
    "salt://tree",
    "/etc/passwd",
    "file:///etc/passwd",
    "py",
    "jinja|py",
    "#!py\n" + CODE,
    CODE,
    JINJA,
    "{{ 7 * 7 }}",
    "\x1b]0;owned\x07",
    "\u202e",
    "a\nb: {c: d}",
    "\0",
    "mine.get",
    "mine.store",
    "state.template_str",
    "slsutil.renderer",
    "cp.get_file_str",
    "cp.list_states",
    "os.system",
    "match.compound",
    "__class__",
    "grains.items",
    "it_|-it_|-it_|-nop",
    "test_|-it_|-x_|-nop",
    "internal",
    "locked",
    f"touch ~/{MARKER}",
    "{0.__class__.__init__.__globals__}",
    "vault",
    "%s%n",
    "rich [bold red]x[/]",
]
words = st.sampled_from(WORDS) | st.text(max_size=12)
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats()
    | words
    | st.binary(max_size=12)
    | st.sampled_from(["x" * 100_000, b"\xff" * 100_000, "a" * 64, "f" * 64])
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(words | st.integers(0, 3), inner, max_size=4),
    max_leaves=8,
)
TABLES: dict[str, dict[str, Any]] = {**wire.UP, **wire.QUESTIONS}
#: values of the fields by type, in valid messages
RIGHT: dict[type, st.SearchStrategy[Any]] = {
    str: words,
    int: st.integers(0, 6) | st.just(NUMBER),
    bool: st.booleans(),
    float: st.floats(),
    dict: st.dictionaries(words, values, max_size=4),
    list: st.lists(values, max_size=4),
    type(None): st.none(),
    object: values,
}


def field(types: Any) -> st.SearchStrategy[Any]:
    """A value of one of these types, mostly."""
    right = st.one_of([RIGHT[one] for one in (types if isinstance(types, tuple) else (types,))])
    return st.integers(0, 9).flatmap(lambda number: values if number == 0 else right)


@st.composite
def messages(draw: st.DrawFn) -> Frame:
    """A message of a kind of the tables; sometimes a field is missing, wrong, or superfluous."""
    kind = draw(st.sampled_from(sorted(TABLES)))
    fields = {name: draw(field(types)) for name, types in TABLES[kind].items() if draw(st.integers(0, 9))}
    if kind in wire.QUESTIONS:
        fields["n"] = draw(st.integers(0, 3) | values)
    fields.update(draw(st.dictionaries(words, values, max_size=1)))
    return "M", {"k": draw(st.just(kind) | values if draw(st.integers(0, 19)) == 0 else st.just(kind)), **fields}


broken = st.builds(
    lambda message, at, byte, cut: ("M", bytes(_hurt(wire.pack(message[1]), at, byte, cut))),
    messages(),
    st.integers(0, 200),
    st.integers(0, 255),
    st.booleans(),
)
others = st.tuples(
    st.sampled_from(["H", "E", "N", "S", "D", "G", "B", "A", "P", "K", "Z"]),
    st.binary(max_size=40)
    | st.dictionaries(
        st.sampled_from(["kind", "message", "stderr", "removed", "python", "exe", "uid", "have", "dir", "holder"]),
        words.filter(lambda text: "\n" not in text) | st.sampled_from(["warning", "waiting", "cleaned", "timeout"]),
    ).map(lambda fields: "\n".join(f"{key}={value}" for key, value in fields.items())),
)
frames = st.lists(messages() | messages() | broken | others | st.just(("raw", b"noise")), max_size=4)
scripts = st.builds(
    lambda grains, opening, replies, last: Script(
        grains=grains,
        opening=opening,
        replies={kind: [*said, *(LAST if last else [])] for kind, said in replies.items()},
    ),
    st.dictionaries(words | st.sampled_from(["id", "role", "os", "fqdn"]), values, max_size=5) | values,
    frames | st.just([]) | st.just([]),
    st.dictionaries(st.sampled_from(["init", "call", "grains", "run", "resources", "answer"]), frames, max_size=4),
    st.booleans(),
)
#: the expected answer, and then nothing more
LAST: list[Frame] = [("M", {"k": "ret", "re": NUMBER, "ret": True}), ("E", "kind=timeout")]


def _hurt(data: bytes, at: int, byte: int, cut: bool) -> bytes:
    at %= len(data)
    return data[:at] if cut else data[:at] + bytes([byte]) + data[at + 1 :]


COMMANDS = {
    "call": ["run", "--out", "json", "*", "test.ping"],
    "apply": ["apply", "--out", "json", "*", "it"],
    "grains": ["grains", "--out", "json", "*"],
    "pillar": ["run", "--out", "ndjson", "*", "pillar.items"],
    "people": ["apply", "-vv", "*", "it"],
}


@pytest.mark.slow
@pytest.mark.timeout(3600 if LONG else 300)
@pytest.mark.parametrize("name", COMMANDS)
def test_no_message_harms_anybody(bed: Bed, name: str) -> None:
    bed.quiet()

    @settings(
        max_examples=LONG or 2,
        database=None,
        derandomize=not LONG,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(st.lists(scripts, min_size=12, max_size=12))
    def exchange(drawn: list[Script]) -> None:
        hostile = {f"evil{number}": script for number, script in enumerate(drawn)}
        bed.peers.heard.clear()
        bed.inventory(hostile)
        before = bed.everything()
        run = bed.run(*COMMANDS[name], "--timeout", "6")
        for id, script in hostile.items():
            note(f"{id}: {script}")
        done = run.done
        if name == "people":
            assert done.code in (0, 2, 3) and "Traceback" not in done.out + done.err
            assert "well" in done.out and "db1" in done.out
            # the following checks examine everything else
            done.out = json.dumps({"well": 1, **dict.fromkeys(hostile, 1)})
        elif name == "pillar":
            rows = [json.loads(line) for line in done.out.splitlines()]
            assert sorted(id for row in rows for id in row) == sorted([*hostile, "well", "db1"])
            done.out = json.dumps({id: ret for row in rows for id, ret in row.items()})
        bed.check(run, hostile)
        data = json.loads(done.out)
        if name == "call":
            assert data["well"] is True and data["db1"] is True
        elif name == "apply":
            for id in ("well", "db1"):
                [state] = data[id].values()
                assert state["result"] is True and state["name"].startswith(f"{id} "), data[id]
        elif name == "grains":
            assert data["well"]["id"] == "well" and data["db1"]["role"] == "db" and data["well"]["os"]
            assert all(data[id].get("id") == id for id in hostile if "error" not in data[id])
        assert bed.everything() - before <= {path for path in bed.everything() if path.startswith(("home/.", "thin"))}

    exchange()


LEAKY = {
    "printed": "import os; print(open(os.environ['HOME'] + '/../key').read().splitlines()[3], file=sys.stderr)",
    "cached": "import os; open(os.environ['PUSHSALT_CACHE'] + '/x', 'w').write(open('secret').read())",
    "run": f"import os, pathlib; pathlib.Path(os.environ['HOME'], '{MARKER}').touch()",
    "crash": "import pushsalt.run.fanout as f; f.fan_out = None",
}


@pytest.mark.parametrize("fault", LEAKY)
def test_each_check_can_fail(bed: Bed, fault: str) -> None:
    """A controller with this fault fails the check."""
    bed.inventory({"evil": Script()})
    run = bed.run("run", "--out", "json", "*", "test.ping", mutant=LEAKY[fault])
    with pytest.raises(AssertionError):
        bed.check(run, ["evil"])
    (bed.project.home / MARKER).unlink(missing_ok=True)
    (bed.project.cache / "x").unlink(missing_ok=True)
    bed.check(bed.run("run", "--out", "json", "*", "test.ping"), ["evil"])


def test_every_kind_of_message_is_in_the_tables() -> None:
    """The messages of a valid target are the ones that are fuzzed: the kinds in thin's own code."""
    import re
    from pathlib import Path

    root = Path(wire.__file__).parent
    sent = set()
    for name in ("worker.py", "controller.py"):
        sent |= set(re.findall(r'"k": "(\w+)"|k="(\w+)"', (root / name).read_text()))
    kinds = {kind for pair in sent for kind in pair if kind}
    assert kinds <= set(TABLES), kinds - set(TABLES)
