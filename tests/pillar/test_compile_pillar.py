"""Pillar from its top files, includes, external sources and the command. The expected data is Salt's."""

from __future__ import annotations

import copy
import pickle

import pytest
import yaml

from pushsalt.errors import UsageError
from pushsalt.ext_pillar import find_source
from pushsalt.yamldump import dump_yaml

TOP = {"base": {"*": ["a"]}}


@pytest.mark.parametrize(
    "files, want",
    [
        ({"a.sls": {"x": {"y": 1}}, "b.sls": {"x": {"z": 2}, "l": [1]}, "top.sls": {"base": {"*": ["a", "b"]}}}, None),
        ({"top.sls": {"base": {"web1": ["a"], "db*": ["b"]}}, "a.sls": {"k": 1}, "b.sls": {"k": 2}}, {"k": 1}),
        ({"top.sls": {"base": {"*": ["d.*"]}}, "d/a.sls": {"k": 1}, "d/b.sls": {"k": 2}}, {"k": 2}),
        (
            {"top.sls": {"base": {"*": ["a"], "web1": ["b", {"order": -1}]}}, "a.sls": {"k": 1}, "b.sls": {"k": 2}},
            {"k": 1},
        ),
        ({"top.sls": {"base": {"*": ["a", "no", {"ignore_missing": True}]}}, "a.sls": {"k": 1}}, {"k": 1}),
        (
            {
                "top.sls": {"include": ["more"], **TOP},
                "more.sls": {"base": {"web1": ["b"]}},
                "a.sls": {"k": 1},
                "b.sls": {},
            },
            {"k": 1},
        ),
        ({"top.sls": TOP, "a.sls": {"include": ["b"], "k": 1}, "b.sls": {"k": 2, "l": 3}}, {"k": 1, "l": 3}),
        ({"top.sls": TOP, "a.sls": {"include": [{"b": {"key": "x:y"}}]}, "b.sls": {"k": 2}}, {"x": {"y": {"k": 2}}}),
        ({"top.sls": TOP, "a.sls": {"include": [{"b": {"defaults": {"v": 5}}}]}, "b.sls": {"k": "$v"}}, {"k": 5}),
        ({"top.sls": TOP, "a.sls": {"include": ["d/b"], "k": 1}, "d/b.sls": {"l": 1}}, {"l": 1, "k": 1}),
        ({"top.sls": {"base": {"*": ["d"]}}, "d/init.sls": {"include": [".b"]}, "d/b.sls": {"k": 1}}, {"k": 1}),
        (
            {
                "top.sls": {"base": {"*": ["d.a"]}},
                "d/a.sls": {"include": [".b"]},
                "d/b.sls": {"k": 1},
                "b.sls": {"top": 1},
            },
            {"top": 1, "k": 1},
        ),
        ({"top.sls": TOP, "a.sls": {"include": ["b"], "k": 1}, "b.sls": {"include": ["a"], "l": 1}}, {"k": 1, "l": 1}),
        ({"top.sls": TOP, "a.sls": None}, {}),
        ({"a.sls": {"k": 1}}, {}),
    ],
)
def test_sls(compiled, files, want):
    result = compiled(files)
    assert result.errors == []
    assert result.pillar == ({"x": {"y": 1, "z": 2}, "l": [1]} if want is None else want)


A, B = {"k": {"a": 1, "l": [1, 2]}, "only_a": 1}, {"k": {"b": 2, "l": [2, 3]}}


@pytest.mark.parametrize(
    "opts, k",
    [
        ({}, {"a": 1, "b": 2, "l": [2, 3]}),
        ({"pillar_merge_lists": True}, {"a": 1, "b": 2, "l": [1, 2, 3]}),
        ({"pillar_source_merging_strategy": "recurse"}, {"a": 1, "b": 2, "l": [2, 3]}),
        ({"pillar_source_merging_strategy": "overwrite"}, {"b": 2, "l": [2, 3]}),
        ({"pillar_source_merging_strategy": "aggregate"}, {"b": 2, "l": [2, 3]}),
        ({"pillar_source_merging_strategy": "none"}, {"a": 1, "b": 2, "l": [2, 3]}),
    ],
)
def test_merging(compiled, opts, k):
    result = compiled({"top.sls": {"base": {"*": ["a", "b"]}}, "a.sls": A, "b.sls": B}, opts)
    assert result.pillar == {"k": k, "only_a": 1}


def test_yaml_of_the_pillar_keeps_its_order(compiled):
    """As in Salt: data of SLS keeps its order, merged or not; data of the command alone is sorted."""
    files = {
        "top.sls": {"base": {"*": ["a", "b"]}},
        "a.sls": {"k": {"z": {"y": 1, "b": [{"q": 1, "a": 2}]}, "c": 1}},
        "b.sls": {"k": {"z": {"a": 3}}},
    }
    assert flow(compiled(files).pillar["k"]) == "{z: {y: 1, b: [{q: 1, a: 2}], a: 3}, c: 1}"
    given = compiled(files, override={"k": {"z": {"new": {"o": 1, "c": 2}, "y": 5}}, "own": {"o": 1, "c": 2}}).pillar
    assert flow(given["k"]) == "{z: {y: 5, b: [{q: 1, a: 2}], a: 3, new: {c: 2, o: 1}}, c: 1}"
    assert flow(given["own"]) == "{c: 2, o: 1}"
    for copied in (given["k"].copy(), copy.copy(given["k"]), copy.deepcopy(given["k"])):
        assert flow(copied) == flow(given["k"])
    assert flow(dict(given["k"])["z"]).startswith("{y: 5") and flow(dict(given["k"])).startswith("{c: 1")
    assert yaml.safe_load(yaml.safe_dump(given)) == given  # users' own code
    assert type(pickle.loads(pickle.dumps(given["k"]))) is dict


def flow(value):
    return dump_yaml(value, default_flow_style=True, width=200).strip()


ENVS = {
    "base": {"top.sls": {"base": {"*": ["a"]}, "dev": {"web1": ["b"]}}, "a.sls": {"k": "base", "from": "base"}},
    "dev": {"top.sls": {"dev": {"*": ["a"]}}, "a.sls": {"k": "dev"}, "b.sls": {"b": 1}},
}


@pytest.mark.parametrize(
    "kwargs, want",
    [
        ({}, {"k": "dev", "from": "base", "b": 1}),
        ({"pillarenv": "dev"}, {"k": "dev"}),
        ({"pillarenv": "other"}, {}),
        ({"opts": {"env_order": ["dev", "base"]}}, {"k": "base", "from": "base", "b": 1}),
        ({"opts": {"pillar_source_merging_strategy": "none"}, "saltenv": "dev"}, {"k": "dev"}),
        ({"opts": {"pillarenv_from_saltenv": True}, "saltenv": "dev"}, {"k": "dev"}),
    ],
)
def test_saltenvs(compiled, kwargs, want):
    assert compiled(ENVS, kwargs.pop("opts", None), **kwargs).pillar == want


def test_own_values_win_over_included_ones_unless_asked_otherwise(compiled):
    files = {"top.sls": TOP, "a.sls": {"include": ["b"], "k": 1}, "b.sls": {"k": 2}}
    assert compiled(files).pillar == {"k": 1}
    assert compiled(files, {"pillar_includes_override_sls": True}).pillar == {"k": 2}


def test_what_a_run_gives_has_the_last_word(compiled):
    files = {"top.sls": TOP, "a.sls": {"k": {"x": 1, "y": 1, "z": 1}}}
    result = compiled(files, target_pillar={"k": {"y": 2, "z": 2}}, override={"k": {"z": 3}, "new": 1})
    assert result.pillar == {"k": {"x": 1, "y": 2, "z": 3}, "new": 1}


def test_every_error_is_listed_and_the_rest_compiled(compiled):
    files = {
        "top.sls": {"base": {"*": ["good", "bad", "missing", "text", "parent"]}},
        "good.sls": {"k": 1},
        "bad.sls": "!errbad.sls:3: boom",
        "text.sls": "text",
        "parent.sls": {"include": "good", "p": 1},
    }
    result = compiled(files)
    assert result.errors == [
        "Rendering SLS 'bad' failed, render error:\nbad.sls:3: boom",
        "Specified SLS 'missing' in environment 'base' is not available on the salt master\n  in /srv/top.sls",
        "SLS 'text' does not render to a dictionary\n  in /srv/text.sls",
        "Include Declaration in SLS 'parent' is not formed as a list\n  in /srv/parent.sls",
    ]
    assert result.pillar == {"k": 1, "p": 1}
    assert result.pillar == {"k": 1, "p": 1}


@pytest.mark.parametrize(
    "top, error",
    [
        ("!errtop.sls:2: no", "Rendering Primary Top file failed, render error:\ntop.sls:2: no"),
        ([1], "Rendering Primary Top file failed, render error:\n/srv/top.sls: Top data was not formed as a dict"),
        ({"base": None}, "Error encountered while rendering pillar top file."),
        ({"base": {"*": None}}, "Error encountered while rendering pillar top file."),
        ({"include": ["no"]}, "Rendering Top file no failed"),
        ({"dev": {"*": ["a"]}}, "No matching pillar environment for environment 'dev' found"),
    ],
)
def test_bad_top_files(compiled, top, error):
    result = compiled({"top.sls": top})
    assert len(result.errors) == 1 and result.errors[0].startswith(error)


# external sources


def sources(**functions):
    return {"ext_pillars": functions.get}


def test_ext_pillar_arguments_and_order(compiled):
    seen = []

    def source(minion_id, pillar, *args, **kwargs):
        seen.append((minion_id, dict(pillar), args, kwargs))
        return {"k": {"n": len(seen)}}

    opts = {"ext_pillar": [{"source": "cmd"}, {"source": ["a", "b"]}, {"source": {"key": "v"}}, {"skipped": 1}]}
    opts["exclude_ext_pillar"] = ["skipped"]
    result = compiled({"top.sls": TOP, "a.sls": {"k": {"a": 1}}}, opts, override={"o": 1}, **sources(source=source))
    assert [call[2:] for call in seen] == [(("cmd",), {}), (("a", "b"), {}), ((), {"key": "v"})]
    assert seen[0][:2] == ("web1", {"k": {"a": 1}, "o": 1})
    assert seen[2][1]["k"] == {"a": 1, "n": 2}
    assert result.pillar == {"k": {"a": 1, "n": 3}, "o": 1}
    assert (result.errors, result.warnings) == ([], [])


def test_ext_pillar_trouble_is_this_targets_error(compiled):
    def broken(minion_id, pillar, *args):
        raise ValueError("no route")

    opts = {"ext_pillar": [{"broken": 1}, {"text": 1}, {"unknown": 1}]}
    functions = sources(broken=broken, text=lambda *_: "text")
    result = compiled({"top.sls": TOP, "a.sls": {"k": 1}}, opts, **functions)
    assert result.errors == [
        "Failed to load ext_pillar broken: no route",
        "Failed to load ext_pillar text: it returned str, not a mapping",
    ]
    assert "'unknown' is not available" in result.warnings[0]
    assert result.pillar == {"k": 1}
    assert compiled({"a.sls": {}}, {"ext_pillar": "cmd"}).errors == ['The "ext_pillar" option is malformed']


@pytest.mark.parametrize("first", [False, True])
def test_templates_see_the_pillar_so_far(compiled, first):
    visible: dict = {}
    seen = []

    def matcher(expression, kind):
        seen.append(dict(visible))
        return True

    result = compiled(
        {"top.sls": TOP, "a.sls": {"k": 1}},
        {"ext_pillar": [{"source": 1}], "ext_pillar_first": first},
        matcher=matcher,
        visible=visible,
        **sources(source=lambda *_: {"ext": 1, "k": 0}),
    )
    assert seen == [{"ext": 1, "k": 0} if first else {}]
    assert result.pillar == visible == {"ext": 1, "k": 1 if first else 0}


@pytest.mark.parametrize("option", [["a:b", {"c": "gpg"}], {"a:b": None, "c": "gpg", "no:where": None}])
def test_decrypt_pillar(compiled, option):
    result = compiled(
        {"top.sls": TOP, "a.sls": {"a": {"b": "B", "x": "X"}, "c": ["C"]}},
        {"decrypt_pillar": option},
        decrypt=lambda value, renderer: f"{renderer}({value})",
    )
    assert result.pillar == {"a": {"b": "None(B)", "x": "X"}, "c": "gpg(['C'])"}


def test_a_failed_decryption_is_an_error(compiled):
    def fail(value, renderer):
        raise ValueError("no key")

    result = compiled({"top.sls": TOP, "a.sls": {"a": "x"}}, {"decrypt_pillar": ["a"]}, decrypt=fail)
    assert result.errors == ["Failed to decrypt pillar key 'a': no key"]


def test_targets_do_not_share_containers(compiled):
    shared = {"deep": {"list": [1]}}
    first = compiled({"top.sls": TOP, "a.sls": {"k": shared}}, target_pillar={"t": shared}).pillar
    first["k"]["deep"]["list"].append(2)
    first["t"]["deep"]["list"].append(3)
    assert shared == {"deep": {"list": [1]}}


def test_a_users_own_source_is_found_by_its_file_name(compiled, tmp_path):
    (tmp_path / "mine.py").write_text("def ext_pillar(minion_id, pillar, key):\n    return {key: minion_id}\n")
    (tmp_path / "torn.py").write_text("def ext_pillar(:\n")
    opts = {"ext_pillar": [{"mine": "from_mine"}, {"torn": 1}, {"other": 1}]}
    result = compiled({"a.sls": {}}, opts, ext_pillars=lambda name: find_source(name, [tmp_path]))
    assert result.pillar == {"from_mine": "web1"}
    assert [error.split(":")[0] for error in result.errors] == ["Failed to load ext_pillar torn"]
    assert len(result.warnings) == 1 and "'other'" in result.warnings[0]


def test_includes_without_end_are_an_error(compiled):
    files = {f"a{level}.sls": {"include": [f"a{level + 1}"], "k": level} for level in range(200)}
    result = compiled({"top.sls": {"base": {"*": ["a0"]}}, **files})
    assert result.pillar == {"k": 0}
    assert len(result.errors) == 1 and "100 levels of them, in environment 'base', such as 'a100'" in result.errors[0]


def test_an_sls_of_a_saltenv_without_roots_is_passed_over(compiled):
    result = compiled({"dev": {"top.sls": {"base": {"*": ["a", "b*"]}, "dev": {"*": ["c"]}}, "c.sls": {"k": 1}}})
    assert (result.pillar, result.errors) == ({"k": 1}, [])


def test_a_target_expression_that_makes_no_sense_is_an_error(compiled):
    def matcher(expression, kind):
        raise UsageError("no such match type", "try another")

    result = compiled({"top.sls": TOP, "a.sls": {"k": 1}}, matcher=matcher)
    text = "A target in the pillar top file for environment 'base': no such match type"
    assert result.errors == [f"{text}\n  in /srv/top.sls"]


@pytest.mark.parametrize("safe, shown", [({}, "**********"), ({"pillar_safe_render_error": False}, "hunter2")])
def test_errors_keep_secrets(compiled, safe, shown):
    result = compiled({"top.sls": TOP, "a.sls": "!errno\n> 1 | password: hunter2"}, safe)
    assert result.errors[0].endswith(f"\n> 1 | password: {shown}")
