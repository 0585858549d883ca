"""Users' own functions that the controller answers, like Salt's ``_wrapper``."""

from __future__ import annotations

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.gate]

MINE = '''
"""Words about a target."""
import os

__reads__ = ("words", "asked", "id_")
__func_alias__ = {"id_": "id"}


def words(*args, **kwargs):
    """What it was called with, and for whom."""
    return [__opts__["id"], __grains__["rack"], __pillar__.get("role"), list(args), kwargs]


def asked(command):
    return [__salt__["cmd.run"](command), os.getpid()]


def id_():
    return __grains__["id"] if "id" in __grains__ else __opts__["id"]


def fails():
    raise ValueError("not today")


def _hidden():
    return 1
'''


@pytest.fixture
def mine(bed):
    bed.files({"pillar/top.sls": "base: {'*': [one]}", "pillar/one.sls": "role: db"})
    return bed.plug("functions", "wrapper", "mine", MINE)


def test_run_answers_on_the_controller(bed, mine):
    done = bed.json("run", "-L", "web1,here", "mine.words", "a", "b=1")
    assert done.data == {"web1": ["web1", "r1", "db", ["a"], {"b": 1}], "here": ["here", "r3", "db", ["a"], {"b": 1}]}
    assert bed.json("run", "web1", "mine.id").data == {"web1": "web1"}


def test_it_may_ask_the_target(bed, mine):
    done = bed.json("run", "here", "mine.asked", "echo $PPID")
    target_pid, own_pid = done.data["here"]
    assert target_pid.isdigit() and int(target_pid) != own_pid


def test_templates_call_it(bed, mine):
    bed.write("salt/one.sls", "{{ salt['mine.words'](1)[3][0] }}{{ salt.mine.id() }}: {test.nop: []}")
    assert list(bed.json("run", "web1", "state.show_sls", "one").data["web1"]) == ["1web1"]
    assert list(bed.json("run", "db1", "state.show_sls", "one").data["db1"]) == ["1db1"]


def test_sys_lists_it(bed, mine):
    found = bed.json("run", "web1", "sys.list_functions", "mine").data["web1"]
    assert {"mine.words", "mine.asked", "mine.id", "mine.fails", "mine.get"} <= set(found)
    assert "mine._hidden" not in found
    docs = bed.json("run", "web1", "sys.doc", "mine.words").data["web1"]
    assert "for whom" in docs["mine.words"]


def test_what_it_lacks_is_ours(bed, mine):
    assert bed.json("run", "web1", "mine.valid").code == 0


def test_a_dry_run_calls_functions_that_declare_to_only_read(bed, mine):
    for name, code in (("words", 0), ("fails", 2)):
        bed.write("salt/one.sls", f"# {{{{ salt['mine.{name}']() }}}}\ny: test.nop\n")
        assert bed.run("apply", "here", "--test", "one").code == code, name


@pytest.mark.parametrize("text, line", [("import nothing_there", 1), ("a = 1\n)", 2)])
def test_a_broken_one_is_named_with_its_line(bed, text, line):
    path = bed.plug("functions", "wrapper", "mine", text + "\n\ndef words():\n    return 1\n")
    done = bed.json("run", "web1", "mine.words")
    assert done.code == 2 and f"{path}:{line}" in done.error("web1")["message"]


def test_one_that_raises_is_named_with_its_line(bed, mine):
    done = bed.json("run", "web1", "mine.fails")
    line = MINE.splitlines().index('    raise ValueError("not today")') + 1
    assert done.code == 2 and f"{mine}:{line}: ValueError: not today" in done.error("web1")["message"]


def test_a_missing_one_names_the_nearest(bed, mine):
    done = bed.json("run", "web1", "mine.wrods")
    assert done.error("web1")["kind"] == "unknown_function" and "mine.words" in done.error("web1")["hint"]


def test_one_that_says_no_is_not_there(bed):
    text = "def __virtual__():\n    return False, 'no'\n\ndef words():\n    return 1\n"
    bed.plug("functions", "wrapper", "other", text)
    assert bed.json("run", "web1", "other.words").error("web1")["kind"] == "unknown_function"


def test_a_text_of_the_target_cannot_call_it(bed, mine):
    """``contents`` from a module on the target: Jinja that no operator wrote."""
    bed.write(
        "salt/_states/sly.py",
        "def write(name):\n"
        "    return __states__['file.managed'](name, contents=\"{{ salt['mine.words']() }}\", template='jinja')\n",
    )
    target = bed.folder / "out"
    bed.write("salt/one.sls", f"{target}: sly.write")
    done = bed.json("apply", "here", "one")
    assert done.code == 2 and not target.exists()
