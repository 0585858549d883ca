"""Users' own matchers: with a letter in compound expressions, and as ``match:`` of top files."""

from __future__ import annotations

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.gate]

RACK = """
LETTER = "K"
SOURCE = "grains"


def match(expr, value, delimiter=":"):
    return value.get("rack") == expr
"""
SHORT = """
LETTER = "Q"
SOURCE = "id"


def match(expr, value):
    return len(value) <= int(expr)
"""
FROM = """
LETTER = "Q"
SOURCE = "pillar"


def match(expr, value, delimiter=":"):
    return value.get("origin") == expr
"""


def plug(bed, name, text):
    return bed.plug("matchers", "matchers", name, text)


@pytest.mark.parametrize(
    "words, want",
    [
        (["-C", "K@r1"], "web1"),
        (["-C", "not K@r1 and not Q@3"], "here"),
        (["-C", "K@r1 or Q@3"], "web1 db1"),
        (["*", "--exclude", "K@r1"], "db1 here"),
        (["-N", "first"], "web1 here"),
        (["-C", "N@first and Q@4"], "web1 here"),
    ],
    ids=lambda value: None if isinstance(value, list) else value.replace(" ", "-"),
)
def test_it_has_a_letter(bed, words, want):
    bed.configure(nodegroups={"first": "K@r1 or K@r3"})
    plug(bed, "rack", RACK)
    plug(bed, "short", SHORT)
    assert bed.run("target", *words).out.split() == want.split()


@pytest.mark.parametrize("expression, want", [("Q@fromext", "web1"), ("not Q@fromext", "db1 here")])
def test_one_of_pillar_has_a_syntax_of_its_own(bed, expression, want):
    bed.write(
        "inventory.yaml",
        "hosts:\n"
        "  web1: {transport: offline, pillar: {origin: fromext}}\n"
        "  db1: {transport: offline, pillar: {origin: other}}\n"
        "  here: {transport: local}\n",
    )
    plug(bed, "origin", FROM)
    assert bed.run("target", "-C", expression).out.split() == want.split()


def test_explain_says_why(bed):
    plug(bed, "rack", RACK)
    assert "K@r1" in bed.run("target", "-C", "K@r1", "--explain").out


@pytest.mark.parametrize("top", ["{r1: [{match: rack}, one]}", "{'K@r1 or K@r9': [{match: compound}, one]}"])
def test_top_files_use_it(bed, top):
    plug(bed, "rack", RACK)
    bed.files({"salt/top.sls": f"base: {top}", "pillar/top.sls": f"base: {top}", "salt/one.sls": "{}"})
    bed.write("pillar/one.sls", "seen: true")
    done = bed.json("run", "-L", "web1,db1", "state.show_top")
    assert done.data == {"web1": {"base": ["one"]}, "db1": {}}
    done = bed.json("run", "-L", "web1,db1", "pillar.items")
    assert done.data == {"web1": {"seen": "**********"}, "db1": {}}


def test_templates_use_it(bed):
    plug(bed, "rack", RACK)
    bed.write("salt/one.sls", "#!jinja|json\n{\"{{ salt['match.compound']('K@r1') }}\": {\"test.nop\": []}}")
    assert set(bed.json("run", "web1", "state.show_sls", "one").data["web1"]) == {"True"}
    assert set(bed.json("run", "db1", "state.show_sls", "one").data["db1"]) == {"False"}


@pytest.mark.parametrize("text, line", [(RACK + "\nimport nothing_there\n", 9), (RACK + "\n)", 9)])
def test_a_broken_one_is_named_with_its_line(bed, text, line):
    path = plug(bed, "rack", text)
    done = bed.say("target", "-C", "K@r1")
    assert done.code == 1 and f"{path}:{line}" in done.out


def test_one_that_raises_is_named_with_its_line(bed):
    path = plug(bed, "rack", RACK.replace("value.get", "value.got"))
    done = bed.say("target", "-C", "K@r1")
    assert done.code == 1 and f"{path}:7" in done.out
    bed.write("salt/top.sls", "base: {r1: [{match: rack}, one]}")
    done = bed.say("run", "web1", "state.show_top")
    assert done.code == 2 and f"{path}:7" in done.out


def test_a_missing_one_names_the_nearest(bed):
    plug(bed, "rack", RACK)
    bed.write("salt/top.sls", "base: {r1: [{match: rakc}, one]}")
    done = bed.say("run", "web1", "state.show_top")
    assert done.code == 2 and "did you mean rack" in done.out
    done = bed.say("target", "-C", "Z@r1")
    assert done.code == 1 and "there is no matcher with the letter Z" in done.out


@pytest.mark.parametrize(
    "letter, words",
    [("'G'", "the letter G is that of the matcher grain"), ("'k'", "LETTER is 'k'"), ("5", "LETTER is 5")],
)
def test_a_letter_is_one_that_is_free(bed, letter, words):
    path = plug(bed, "rack", RACK.replace('"K"', letter))
    done = bed.say("target", "-C", "Z@r1")
    assert done.code == 1 and words in done.out and str(path) in done.out and " K " in done.out


def test_two_of_one_letter_are_an_error(bed):
    plug(bed, "rack", RACK)
    plug(bed, "short", SHORT.replace("Q", "K"))
    done = bed.say("target", "-C", "K@r1")
    assert done.code == 1 and "the letter K is that of the matcher rack" in done.out


def test_nothing_is_run_that_no_expression_needs(bed):
    plug(bed, "rack", "LETTER = 'K'\nSOURCE = 'id'\nraise RuntimeError('was run')\n")
    plug(bed, "short", SHORT)
    assert bed.run("target", "-C", "G@rack:r1 or Q@3").out.split() == ["web1", "db1"]
