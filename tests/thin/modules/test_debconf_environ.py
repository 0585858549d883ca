"""Answers for debconf, with scripts in place of its two commands, which use a file; environment variables."""

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


def test_answers_are_set_once(states):
    data = {
        "p/q": {"type": "string", "value": "a b"},
        "p/n": {"type": "select", "value": 5},
        "p/b": {"type": "boolean", "value": False},
        "p/p": {"type": "password", "value": "secret"},
    }
    dry_run = states(test=True).states["debconf.set"]("p", data)
    assert (dry_run["result"], dry_run["changes"]["p/p"]) == (None, "New value: (password hidden)")
    assert states().modules["debconf.show"]("p") is None
    ret = states().states["debconf.set"]("p", data)
    assert ret["changes"] == {"p/q": "a b", "p/n": "5", "p/b": "false", "p/p": "(password hidden)"}
    assert ["p/p", "password", "secret"] in states().modules["debconf.show"]("p")
    for test in (False, True):
        unchanged = states(test=test).states["debconf.set"]("p", data)
        assert (unchanged["result"], unchanged["changes"], unchanged["comment"]) == (
            True,
            {},
            "All specified answers are already set",
        )
    assert states().modules["debconf.get_selections"](fetchempty=False).keys() == {"p"}


def test_a_refused_answer_is_a_failure(states, monkeypatch):
    monkeypatch.setenv("DEBCONF_FILE", "/nonexistent/file")
    ret = states().states["debconf.set"]("p", {"p/q": {"type": "string", "value": "x"}})
    assert ret["result"] is False
    assert "debconf-set-selections failed" in ret["comment"]
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
def test_environment_variables_are_set(value, options, changes, states, monkeypatch):
    monkeypatch.setenv("PS_OLD", "old")
    monkeypatch.setenv("PS_NEW", "")
    monkeypatch.delenv("PS_NEW")
    arguments = {"name": "PS_NEW", "value": value, **options}
    dry_run = states(test=True).states["environ.setenv"](**arguments)
    assert (dry_run["changes"], os.environ["PS_OLD"]) == (changes, "old")
    ret = states().states["environ.setenv"](**arguments)
    assert (ret["result"], ret["changes"]) == (True, changes)
    assert states().states["environ.setenv"](**arguments)["changes"] == {}
    for key, value in changes.items():
        assert os.environ.get(key) == value


@pytest.mark.parametrize(
    "keys, expected",
    [
        ("PS_OLD", {"PS_OLD": "old"}),
        (["PS_OLD", "PS_NONE"], {"PS_OLD": "old", "PS_NONE": "-"}),
        (None, {}),
        (7, {}),
    ],
)
def test_requested_variables_are_returned(keys, expected, states, monkeypatch):
    monkeypatch.setenv("PS_OLD", "old")
    assert states().modules["environ.item"](keys, default="-") == expected


def test_apt_gets_no_options_of_needrestart(make_loaders):
    """States decide which services are restarted, else the configuration of needrestart."""
    from thin.utils.programs import aptrun

    loaders = make_loaders()
    environment = aptrun.run(loaders.modules["cmd.run_all"], loaders.opts, ["env"])["stdout"]
    assert "DEBIAN_FRONTEND=noninteractive" in environment
    assert "NEEDRESTART" not in environment
