"""Answers for debconf, with stand-ins for its two commands that use a file; environment variables."""

import os

import pytest

from thin import runtime
from thin.loader import Loaders

GET = '#!/bin/sh\ncat "$DEBCONF_FILE"\n'
SET = """#!/bin/sh
test -z "$(find "$1" -perm /077)" || exit 9
: >> "$DEBCONF_FILE" || exit 7
sed 's/^\\([^ ]*\\) \\([^ ]*\\) \\([^ ]*\\) /\\1\\t\\2\\t\\3\\t/' "$1" > "$1.new"
while IFS='\t' read -r package question rest; do
    grep -v "^$package\t$question\t" "$DEBCONF_FILE" > "$DEBCONF_FILE.new"
    mv "$DEBCONF_FILE.new" "$DEBCONF_FILE"
    printf '%s\\t%s\\t%s\\n' "$package" "$question" "$rest" >> "$DEBCONF_FILE"
done < "$1.new"
rm "$1.new"
"""


@pytest.fixture
def states(tmp_path, monkeypatch):
    (tmp_path / "bin").mkdir()
    (tmp_path / "answers").write_text("# a comment\nother\tother/q\tstring\t\n")
    for name, text in (("debconf-get-selections", GET), ("debconf-set-selections", SET)):
        (tmp_path / "bin" / name).write_text(text)
        (tmp_path / "bin" / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setenv("DEBCONF_FILE", str(tmp_path / "answers"))

    def make(test=False):
        return Loaders({"test": test}, runtime, grains={"os_family": "Debian"})

    return make


def test_answers(states):
    data = {
        "p/q": {"type": "string", "value": "a b"},
        "p/n": {"type": "select", "value": 5},
        "p/b": {"type": "boolean", "value": False},
        "p/p": {"type": "password", "value": "secret"},
    }
    foreseen = states(test=True).states["debconf.set"]("p", data)
    assert (foreseen["result"], foreseen["changes"]["p/p"]) == (None, "New value: (password hidden)")
    assert states().modules["debconf.show"]("p") is None
    done = states().states["debconf.set"]("p", data)
    assert done["changes"] == {"p/q": "a b", "p/n": "5", "p/b": "false", "p/p": "(password hidden)"}
    assert ["p/p", "password", "secret"] in states().modules["debconf.show"]("p")
    for test in (False, True):
        again = states(test=test).states["debconf.set"]("p", data)
        assert (again["result"], again["changes"], again["comment"]) == (
            True,
            {},
            "All specified answers are already set",
        )
    assert states().modules["debconf.get_selections"](fetchempty=False).keys() == {"p"}


def test_a_refused_answer_is_a_failure(states, monkeypatch):
    monkeypatch.setenv("DEBCONF_FILE", "/nonexistent/file")
    done = states().states["debconf.set"]("p", {"p/q": {"type": "string", "value": "x"}})
    assert done["result"] is False
    assert "debconf-set-selections failed" in done["comment"]
    assert states().states["debconf.set"]("p", {"p/q": "x"})["result"] is False


@pytest.mark.parametrize(
    "value, options, changes",
    [
        ("x", {}, {"PS_NEW": "x"}),
        ("old", {"name": "PS_OLD"}, {}),
        (False, {"name": "PS_OLD"}, {"PS_OLD": ""}),
        (False, {"name": "PS_OLD", "false_unsets": True}, {"PS_OLD": None}),
        (False, {"false_unsets": True}, {}),
        ({"PS_OLD": "y", "PS_NEW": "z"}, {}, {"PS_OLD": "y", "PS_NEW": "z"}),
    ],
)
def test_variables(value, options, changes, states, monkeypatch):
    monkeypatch.setenv("PS_OLD", "old")
    monkeypatch.setenv("PS_NEW", "")
    monkeypatch.delenv("PS_NEW")
    arguments = {"name": "PS_NEW", "value": value, **options}
    foreseen = states(test=True).states["environ.setenv"](**arguments)
    assert (foreseen["changes"], os.environ["PS_OLD"]) == (changes, "old")
    done = states().states["environ.setenv"](**arguments)
    assert (done["result"], done["changes"]) == (True, changes)
    assert states().states["environ.setenv"](**arguments)["changes"] == {}
    for key, one in changes.items():
        assert os.environ.get(key) == one


@pytest.mark.parametrize(
    "keys, want",
    [
        ("PS_OLD", {"PS_OLD": "old"}),
        (["PS_OLD", "PS_NONE"], {"PS_OLD": "old", "PS_NONE": "-"}),
        (None, {}),
        (7, {}),
    ],
)
def test_asked_for_variables(keys, want, states, monkeypatch):
    monkeypatch.setenv("PS_OLD", "old")
    assert states().modules["environ.item"](keys, default="-") == want


def test_apt_gets_no_options_of_needrestart(make_loaders):
    """States decide which services are restarted, else the configuration of needrestart."""
    from thin.utils.programs import aptrun

    loaders = make_loaders()
    told = aptrun.run(loaders.modules["cmd.run_all"], loaders.opts, ["env"])["stdout"]
    assert "DEBIAN_FRONTEND=noninteractive" in told
    assert "NEEDRESTART" not in told
