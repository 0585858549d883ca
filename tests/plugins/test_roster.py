"""Users' own rosters: ``roster: mine`` in the configuration."""

from __future__ import annotations

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.gate]

MINE = '''
"""Two machines, as a table has them."""


def __virtual__():
    return "mine" if __opts__["roster"] else False


def targets(tgt, tgt_type="glob", **kwargs):
    names = __salt__["cmd.run"]("echo a b").split()
    raw = {name: {"host": "192.0.2.1", "user": "me", "grains": {"n": name}, "transport": "offline"} for name in names}
    return __utils__["roster_matcher.targets"](raw, tgt, tgt_type, "ipv4")
'''


@pytest.fixture
def mine(bed):
    bed.configure(roster="mine")
    return bed.plug("roster", "roster", "mine", MINE)


def test_it_is_the_inventory(bed, mine):
    assert bed.run("target", "*").out.split() == ["a", "b"]
    assert bed.run("target", "-G", "n:b").out.split() == ["b"]
    assert bed.json("run", "a", "grains.get", "n").data == {"a": "a"}
    shown = bed.run("inventory", "show", "a", "--out", "json").data["a"]
    assert (shown["user"], shown["host"]) == ("me", "192.0.2.1")


def test_a_named_inventory_or_roster_is_used_first(bed, mine):
    assert bed.run("target", "-i", "inventory.yaml", "web*").out.split() == ["web1"]
    bed.configure(roster="flat", roster_file="inventory.yaml")
    assert bed.run("target", "web*").out.split() == ["web1"]


@pytest.mark.parametrize("option", ["mine,more", ["mine", "more"]], ids=["text", "list"])
def test_there_may_be_several(bed, mine, option):
    bed.plug("roster", "roster", "more", "def targets(*args, **kwargs):\n    return {'c': '192.0.2.3'}\n")
    bed.configure(roster=option)
    assert bed.run("target", "*").out.split() == ["a", "b", "c"]


def test_it_is_asked_once_and_only_when_needed(bed, mine):
    text = MINE.replace("    names", "    with open('asked', 'a') as file:\n        file.write('x')\n    names")
    bed.plug("roster", "roster", "mine", text)
    assert bed.json("run", "*", "grains.get", "n").code == 0
    assert (bed.folder / "asked").read_text() == "x"
    assert bed.run("target", "-i", "inventory.yaml", "web*").code == 0
    assert (bed.folder / "asked").read_text() == "x"


@pytest.mark.parametrize(
    "text, words",
    [
        ("a = 1\n)", ":2"),
        ("import nothing", ":1"),
        ("def targets(*args):\n    raise OSError('no table')", ":2: the roster mine fails: OSError: no table"),
        ("def targets(*args):\n    import sys\n    sys.exit(3)", ":3"),
        ("def targets(*args):\n    return [1]", "not a mapping"),
        ("a = 1", "no `targets`"),
        ("def targets(*args):\n    return {'a': {'port': 'x'}}", "`port` of host a"),
    ],
)
def test_a_broken_one_is_named_with_its_line(bed, text, words):
    bed.configure(roster="mine")
    path = bed.plug("roster", "roster", "mine", text)
    done = bed.say("run", "*", "test.ping")
    assert done.code == 1 and str(path) in done.out and words in done.out


def test_a_missing_one_names_the_nearest(bed, mine):
    bed.configure(roster="mien")
    done = bed.say("run", "*", "test.ping")
    assert done.code == 1 and "did you mean mine" in done.out


def test_it_cannot_decide_what_runs_on_the_controller(bed, mine):
    text = "def targets(*args):\n    return {'b': {'minion_opts': {'module_dirs': ['/x']}}}"
    bed.plug("roster", "roster", "mine", text)
    done = bed.say("target", "*")
    assert done.code == 1 and "module_dirs" in done.out
    bed.plug("roster", "roster", "mine", "def targets(*args):\n    return {'a': {'transport': 'local'}, 'b': {}}\n")
    done = bed.say("target", "*")
    assert "host a is left out" in done.out and done.out.split()[0] == "b"
