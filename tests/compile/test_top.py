"""Top files of several saltenvs, by strategy."""

from __future__ import annotations

import pytest

from pushsalt.compile.top import TopOptions, match_top
from pushsalt.compile.words import did_you_mean
from pushsalt.errors import StateError, UsageError

BASE = {"base": {"*": ["a"]}, "dev": {"*": ["from_base"], "web*": ["w"]}}
DEV = {"base": {"*": ["stolen"]}, "dev": {"*": ["b", "from_base"]}}
TWO = {"base": {"top.sls": BASE}, "dev": {"top.sls": DEV}}
NO_DEV = {"base": {"top.sls": BASE}, "dev": {}}


def matches(tree, opts, **kwargs):
    result = match_top(tree, TopOptions.of(opts), lambda expression, kind: expression == "*", **kwargs)
    return result.matches, [problem.text for problem in result.problems], result.warnings


@pytest.mark.parametrize(
    "files, opts, want",
    [
        (TWO, {}, {"base": ["a"], "dev": ["from_base"]}),
        (TWO, {"top_file_merging_strategy": "same"}, {"base": ["a"], "dev": ["b", "from_base"]}),
        (NO_DEV, {"top_file_merging_strategy": "same", "default_top": "base"}, {"base": ["a"], "dev": ["from_base"]}),
        (TWO, {"top_file_merging_strategy": "merge_all"}, {"base": ["a", "stolen"], "dev": ["from_base", "b"]}),
        (TWO, {"saltenv": "dev"}, {"dev": ["b", "from_base"]}),
        (TWO, {"state_top_saltenv": "dev"}, {"dev": ["b", "from_base"]}),
        (TWO, {"env_order": ["dev"]}, {"dev": ["b", "from_base"]}),
        (
            {"base": {"sub/other.sls": BASE}},
            {"state_top": "salt://sub/other.sls"},
            {"base": ["a"], "dev": ["from_base"]},
        ),
        ({"base": {"top.sls": {"base": {"*": ["a", {"match": "glob"}, {"dev": "x"}]}}}, "dev": {}}, {}, None),
        (
            {"base": {"top.sls": {"include": ["more*"], "base": {"*": ["a"]}}, "more.sls": {"base": {"*": ["m"]}}}},
            {},
            None,
        ),
    ],
)
def test_strategies(memory_tree, files, opts, want):
    tree = memory_tree(files)
    found, problems, _ = matches(tree, {"default_top": "base", **opts})
    assert problems == []
    if want is not None:
        assert found == want
    assert tree.files == tree.pristine


def test_an_sls_of_another_saltenv(memory_tree):
    top = {"base": {"*": ["a", {"dev": "x"}, {"match": "glob"}]}}
    assert matches(memory_tree({"base": {"top.sls": top}, "dev": {}}), {})[0] == {"base": ["a"], "dev": ["x"]}


def test_an_included_top_file_has_the_last_word_on_a_target(memory_tree):
    files = {"base": {"top.sls": {"include": ["more*"], "base": {"*": ["a"]}}, "more.sls": {"base": {"*": ["m"]}}}}
    assert matches(memory_tree(files), {})[0] == {"base": ["m"]}


def test_the_matcher_gets_the_type(memory_tree):
    asked = []
    files = {"base": {"top.sls": {"base": {"os:Debian": [{"match": "grain"}, "a"], "web*": ["b"]}}}}
    match_top(memory_tree(files), TopOptions(), lambda *args: asked.append(args) or False)
    assert asked == [("os:Debian", "grain"), ("web*", "compound")]


@pytest.mark.parametrize(
    "top, text",
    [
        (["x"], "Top data was not formed as a dict"),
        ({"base": None}, "Unable to render top file. No targets found."),
        ({"base": {"*": "a"}}, "Malformed topfile: state declarations for matcher '*' in saltenv 'base'"),
        ({"base": {"*": [""]}}, "Environment base contains an empty sls index"),
        (
            {"base": {"*": ["a", {"match": None}]}},
            "Improperly formatted top file matcher in saltenv {'match': None}: None",
        ),
        ({"": {"*": ["a"]}}, "Empty saltenv statement in top file"),
        ("!errtop.sls:3: no", "Unable to render top file: top.sls:3: no"),
    ],
)
def test_malformed(memory_tree, top, text):
    found, problems, _ = matches(memory_tree({"base": {"top.sls": top}}), {})
    assert found == {}
    assert problems[0].startswith(text)


def test_several_top_files_without_an_order_are_a_warning(memory_tree):
    assert "not deterministic" in matches(memory_tree(TWO), {})[2][0]
    assert matches(memory_tree(TWO), {"env_order": ["base", "dev"]})[2] == []
    assert "Invalid top_file_merging_strategy" in matches(memory_tree(TWO), {"top_file_merging_strategy": "no"})[2][0]


@pytest.mark.parametrize("first, want", [(False, ["a", "m"]), (True, ["m", "a"])])
def test_master_tops(memory_tree, first, want):
    tree = memory_tree({"base": {"top.sls": {"base": {"*": ["a"]}}}})
    found, _, _ = matches(tree, {"master_tops_first": first}, master_tops=lambda: {"base": ["m", "a"], "dev": ["d"]})
    assert found == {"base": want, "dev": ["d"]}


def test_did_you_mean():
    assert did_you_mean("instaled", ["installed", "removed"]) == "Did you mean 'installed'?"
    assert did_you_mean("xyz", ["installed"]) == ""


def test_what_cannot_be_matched_or_asked_is_a_problem(memory_tree):
    def matcher(expression, kind):
        if kind != "compound":
            raise UsageError(f"no {kind}", "try another")
        return True

    def master_tops():
        raise StateError(["one", "two"])

    tree = memory_tree({"base": {"top.sls": {"base": {"x": ["a", {"match": "odd"}], "*": ["b"]}}}})
    result = match_top(tree, TopOptions(), matcher, master_tops=master_tops)
    texts = [problem.text for problem in result.problems]
    assert texts == ["A target in the top file for saltenv 'base' cannot be matched: no odd", "one", "two"]
