"""Results of the compiler's methods besides the language itself: shows, highstate, checks, places of problems."""

from __future__ import annotations

import pytest

from pushsalt.compile import ArgSpec, StateCompiler, no_states_return
from pushsalt.compile.low import tag_of
from pushsalt.compile.source import Problem
from pushsalt.errors import Position


class Functions:
    """State functions by name, as a target reports them."""

    def __init__(self, **modules: dict[str, ArgSpec]) -> None:
        self.specs = {f"{module}.{name}": spec for module, specs in modules.items() for name, spec in specs.items()}

    def spec(self, name):
        return self.specs.get(name)

    def names(self):
        return self.specs


NOP = ArgSpec(("name",), ("name",), kwargs=True)
FUNCTIONS = Functions(
    test={"nop": NOP, "mod_watch": NOP},
    pkg={"installed": ArgSpec(("name", "version", "refresh"), ("name",)), "mod_aggregate": NOP},
    file={"symlink": ArgSpec(("name", "target", "force"), ("name", "target"))},
)


@pytest.fixture
def compiler(memory_tree):
    def make(files, opts=None, *, lines=None, **kwargs):
        kwargs.setdefault("matcher", lambda expression, kind: expression == "*")
        return StateCompiler(memory_tree(files, lines), opts or {}, **kwargs)

    return make


def test_show_low_sls_leaves_out_what_states_say_of_each_other(compiler):
    files = {
        "base": {
            "a.sls": {
                "extend": {"x": {"test": [{"arg": 1}]}},
                "exclude": [{"id": "z"}],
                "x": "test.nop",
                "y": {"test.nop": [{"require_in": [{"test": "x"}]}]},
                "z": "test.nop",
            }
        }
    }
    shown = compiler(files).show_low_sls(["a"]).low
    run = compiler(files).sls(["a"]).low
    assert [(chunk["__id__"], chunk.get("arg"), chunk.get("require")) for chunk in shown] == [
        ("x", None, None),
        ("y", None, None),
        ("z", None, None),
    ]
    assert [(chunk["__id__"], chunk.get("arg"), chunk.get("require")) for chunk in run] == [
        ("y", None, None),
        ("x", 1, [{"test": "y"}]),
    ]


def test_show_sls_keeps_extend_and_exclude_as_lists(compiler):
    files = {"base": {"a.sls": {"extend": {"x": {"test.nop": [{"arg": 1}]}}, "exclude": ["b"], "x": "test.nop"}}}
    high = compiler(files).show_sls(["a"]).high
    assert high == {
        "x": {"__sls__": "a", "__env__": "base", "test": ["nop", {"order": 10000}]},
        "__extend__": [{"x": {"__sls__": "a", "__env__": "base", "test": [{"arg": 1}, "nop"]}}],
        "__exclude__": ["b"],
    }


def test_highstate_takes_what_the_top_file_says(compiler):
    files = {
        "base": {
            "top.sls": {"base": {"*": ["a", "d.*"], "other": ["c"]}},
            "a.sls": {"a": "test.nop"},
            "c.sls": {"c": "test.nop"},
            "d/e.sls": {"e": "test.nop"},
        }
    }
    result = compiler(files).highstate()
    assert result.matches == {"base": ["a", "d.*"]}
    assert [tag_of(chunk) for chunk in result.low] == ["test_|-a_|-a_|-nop", "test_|-e_|-e_|-nop"]
    assert result.sls == ["a", "d.e"]
    assert compiler(files).highstate(whitelist=["a"]).sls == ["a"]
    assert compiler(files).highstate(exclude=["a"]).sls == ["d.e"]
    assert list(compiler(files).show_highstate().high) == ["a", "e"]


NO_MATCHES = "No Top file or master_tops data matches found. Please see master log for details."


@pytest.mark.parametrize(
    "files, why, hint",
    [
        ({"base": {}}, NO_MATCHES, "write top.sls into a folder of file_roots, or name the SLS"),
        ({"base": {"top.sls": {}}}, NO_MATCHES, "top.sls is empty"),
        ({"base": {"top.sls": {"base": {"x": ["a"]}}}}, NO_MATCHES, "top.sls has no SLS for this target: add it there"),
        ({"base": {"top.sls": {"base": {"*": ["a"]}}, "a.sls": {}}}, "No states found for this minion", "no states"),
    ],
)
def test_a_highstate_without_states_says_why(compiler, files, why, hint):
    result = compiler(files).highstate()
    assert (result.errors, result.low) == ([], [])
    assert result.no_states == why and hint in result.no_states.explanation
    assert ("write top.sls" in result.no_states.explanation) is (files == {"base": {}})
    [(tag, ret)] = no_states_return(result.no_states).items()
    assert tag == "no_|-states_|-states_|-None"
    assert (ret["result"], ret["comment"]) == (False, result.no_states)


def test_missing_sls_hint_names_the_nearest(compiler):
    [problem] = compiler({"base": {"nginx/init.sls": {}}}).sls(["ngnix"]).problems
    assert problem.text == "No matching sls found for 'ngnix' in env 'base'"
    assert problem.hint == "Did you mean 'nginx'?"


def test_a_plain_name_lists_nothing(memory_tree):
    tree = memory_tree({"base": {"a.sls": {"include": ["b"], "a": "test.nop"}, "b.sls": {"b": "test.nop"}}})
    assert not StateCompiler(tree, {}, matcher=lambda *_: True).sls(["a"]).errors
    assert tree.listed <= 1, "listing every file of a large tree is slow"


def test_conflict_names_both_places(compiler):
    files = {"base": {"a.sls": {"x": "test.nop"}, "b.sls": {"y": "test.nop", "x": "test.nop"}}}
    lines = {"a.sls": {"x": 1}, "b.sls": {"y": 1, "x": 7}}
    [problem] = compiler(files, lines=lines).sls(["a", "b"]).problems
    assert [str(place) for place in problem.where] == ["/srv/base/a.sls:1", "/srv/base/b.sls:7"]
    assert "base:a" in problem.text and "base:b" in problem.text
    assert problem.explain().splitlines()[-3:-1] == ["  in /srv/base/a.sls:1", "  in /srv/base/b.sls:7"]
    assert problem.explain().splitlines()[-1].startswith("hint: Rename one")


def test_cycle_names_every_place_and_requisite(compiler):
    files = {
        "base": {
            "a.sls": {
                "a": {"test.nop": [{"require": [{"test": "b"}]}]},
                "b": {"test.nop": [{"watch": [{"test": "c"}]}]},
                "c": {"test.nop": [{"onchanges": [{"test": "a"}]}]},
            }
        }
    }
    [problem] = compiler(files, lines={"a.sls": {"a": 1, "b": 4, "c": 7}}).sls(["a"]).problems
    assert problem.text.startswith("Recursive requisites were found: ")
    assert all(f"'{word}'" in problem.text for word in ("a", "b", "c", "require", "watch", "onchanges"))
    assert sorted(place.line for place in problem.where) == [1, 4, 7]
    assert problem.hint


def test_a_long_chain_is_no_deep_recursion(compiler):
    chain = {f"s{i}": {"test.nop": [{"require": [{"test": f"s{i + 1}"}]}]} for i in range(3000)}
    ring = {**chain, "s3000": {"test.nop": [{"require": [{"test": "s0"}]}]}}
    good = compiler({"base": {"a.sls": {**chain, "s3000": "test.nop"}}}).sls(["a"])
    assert [chunk["__id__"] for chunk in good.low] == [f"s{i}" for i in range(3000, -1, -1)]
    assert compiler({"base": {"a.sls": ring}}).sls(["a"]).errors[0].count("'require'") == 3001


@pytest.mark.parametrize(
    "body, text, hint",
    [
        ("pkg.instaled", "State 'pkg.instaled' was not found in SLS 'a'", "Did you mean 'pkg.installed'?"),
        (
            {"pkg.installed": [{"versoin": "1"}]},
            "'versoin' is an invalid keyword argument for 'pkg.installed' (ID 'x' in SLS 'a')",
            "Did you mean 'version'?",
        ),
        ("file.symlink", "Missing parameter target for state file.symlink (ID 'x' in SLS 'a')", ""),
    ],
)
def test_what_a_function_would_refuse_is_found_before_anything_runs(compiler, body, text, hint):
    files = {"base": {"a.sls": {"x": body, "y": {"test.nop": [{"whatever": 1}]}}}}
    [problem] = compiler(files, functions=FUNCTIONS, lines={"a.sls": {"x": 3}}).sls(["a"]).problems
    assert (problem.text, problem.hint, str(problem.where[0])) == (text, hint, "/srv/base/a.sls:3")
    assert not compiler(files, functions=FUNCTIONS, check=False).sls(["a"]).problems
    assert not compiler(files, functions=FUNCTIONS).show_low_sls(["a"]).problems


def test_state_arguments_are_no_function_arguments(compiler):
    args = [
        {"require": [{"test": "y"}]},
        {"unless": "x"},
        {"retry": {"attempts": 2}},
        {"names": ["a", "b"]},
        {"umask": 7},
    ]
    files = {"base": {"a.sls": {"x": {"pkg.installed": args}, "y": "test.nop"}}}
    assert not compiler(files, functions=FUNCTIONS).sls(["a"]).problems


@pytest.mark.parametrize(
    "function, functions, key",
    [
        ("test.nop", FUNCTIONS, "watch"),  # has mod_watch
        ("pkg.installed", FUNCTIONS, "require"),  # shipped without mod_watch
        ("service.running", FUNCTIONS, "watch"),  # not shipped: like Salt's own
        ("custom.run", FUNCTIONS, "require"),
        ("custom.run", Functions(custom={"run": NOP, "mod_watch": NOP}), "watch"),
        ("service.running", None, "watch"),
    ],
)
def test_watch_needs_mod_watch(compiler, function, functions, key):
    files = {"base": {"a.sls": {"x": {function: [{"watch": [{"test": "y"}]}]}, "y": "test.nop"}}}
    low = compiler(files, functions=functions).show_low_sls(["a"]).low
    assert [name for name in ("watch", "require") if name in low[-1]] == [key]


def test_aggregates_are_independent_chunks_of_one_module(compiler):
    files = {
        "base": {
            "a.sls": {
                "a": "pkg.installed",
                "b": "pkg.installed",
                "c": {"pkg.installed": [{"require": [{"test": "t"}]}]},
                "d": {"pkg.installed": [{"aggregate": False}]},
                "t": {"test.nop": [{"require": [{"pkg": "a"}]}]},
            }
        }
    }
    result = compiler(files, {"state_aggregate": True}, functions=FUNCTIONS).sls(["a"])
    assert result.aggregates == [["pkg_|-a_|-a_|-installed", "pkg_|-b_|-b_|-installed"]]
    assert compiler(files, functions=FUNCTIONS).sls(["a"]).aggregates == []


def test_disabled_functions_have_their_return(compiler):
    files = {"base": {"a.sls": {"x": "test.nop", "y": "pkg.installed"}}}
    result = compiler(files, {"grains": {"state_runs_disabled": ["pkg.*"]}}).sls(["a"])
    assert [chunk["__id__"] for chunk in result.low] == ["x"]
    assert result.disabled["pkg_|-y_|-y_|-installed"]["result"] is False
    assert "state.enable pkg.*" in result.disabled["pkg_|-y_|-y_|-installed"]["comment"]


def test_disabled_requisites_are_ignored(compiler):
    files = {
        "base": {"a.sls": {"x": {"test.nop": [{"require": [{"test": "missing"}]}, {"require_in": [{"test": "no"}]}]}}}
    }
    assert len(compiler(files).sls(["a"]).errors) == 2
    assert not compiler(files, {"disabled_requisites": ["require", "require_in"]}).sls(["a"]).errors


def test_without_auto_order_nothing_is_numbered(compiler):
    low = compiler({"base": {"a.sls": {"b": "test.nop", "a": "test.nop"}}}, {"state_auto_order": False}).sls(["a"]).low
    assert [(chunk["__id__"], chunk["order"]) for chunk in low] == [("a", 1), ("b", 1)]


def test_high_data_from_elsewhere(compiler):
    high = {"x": {"test": ["nop", {"require": [{"test": "y"}]}]}, "y": {"test": ["nop"]}}
    result = compiler({"base": {}}).high(high)
    assert [chunk["__id__"] for chunk in result.low] == ["y", "x"]
    assert compiler({"base": {}}).high({"x": {"test.nop": []}, "y": 1}).errors


def test_a_template_is_no_sls(compiler):
    data = {"x": {"pkg.installed": [{"require": [{"test": "y"}]}]}, "y": "test.nop"}
    result = compiler({"base": {}}).template(data, "/tmp/t.sls")
    assert [(chunk["state"], chunk["fun"], "__sls__" in chunk) for chunk in result.low] == [
        ("test", "nop", False),
        ("pkg", "installed", False),
    ]
    assert data == {"x": {"pkg.installed": [{"require": [{"test": "y"}]}]}, "y": "test.nop"}


@pytest.mark.parametrize(
    "data, text",
    [
        ([1], "Template t does not render to a dictionary"),
        ({"include": ["a"]}, "The 'include' declaration found on 't' is invalid when rendering single templates"),
        ({"extends": ["a"]}, "The 'extends' declaration found on 't' is invalid when rendering single templates"),
        ({"x": 1}, "ID x in template t is not a dictionary"),
        (
            {"x": {"file.managed": [], "file.absent": []}},
            "ID 'x' in template 't' contains multiple state declarations of the same type",
        ),
        ({"x": {"test": [{"a": 1}]}}, "No function declared in state 'x' in SLS 'None'"),
    ],
)
def test_templates_that_are_refused(compiler, data, text):
    assert compiler({"base": {}}).template(data, "t").errors == [text]
    assert compiler({"base": {}}).template({}, "t").errors == []


def test_hints_are_bounded(compiler):
    files = {"base": {"a.sls": {f"s{i}": {"test.nop": [{"require": [{"test": f"s{i}x"}]}]} for i in range(100)}}}
    problems = compiler(files).sls(["a"]).problems
    assert len(problems) == 100
    assert 0 < sum(bool(problem.hint) for problem in problems) <= 20


def test_a_place_that_is_met_twice_is_named_once():
    """Two requisites of one line, such as those of two names of a state, may miss the same ID."""
    place = Position("b.sls", 3)
    problem = Problem("Cannot extend ID 'x'", where=(place, place, Position("b.sls", 9)))
    assert str(problem.explained()) == "Cannot extend ID 'x'\n  in b.sls:3\n  in b.sls:9"
    assert problem.explain() == "Cannot extend ID 'x'\n  in b.sls:3\n  in b.sls:9"


@pytest.mark.parametrize("name", [".", "..a"])
def test_an_sls_that_includes_itself_is_one_error(compiler, name):
    files = {"base": {"a/init.sls": {"include": [name, "no.such"], "x": "test.nop"}}}
    problems = compiler(files).sls(["a"]).problems
    assert [problem.text.split(":")[0] for problem in problems][:1] == ["SLS 'a' includes itself"]
    assert len(problems) == 2
