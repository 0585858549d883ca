"""Filters against what Salt's own give (cases/filters.yaml), and those that Salt cannot be asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from pushsalt.render import RenderContext
from pushsalt.render.jinja import render_jinja
from pushsalt.render.problems import SourceError
from pushsalt.yamlio import load_yaml

CASES = load_yaml((Path(__file__).parent / "cases" / "filters.yaml").read_text("utf-8"))


def render(template: str, **salt) -> str:
    context = RenderContext("m", {}, {}, {}, {name.replace("__", "."): fun for name, fun in salt.items()})
    return str(render_jinja(template, path="", sls="", saltenv="base", context=context))


@pytest.mark.parametrize("name", CASES)
def test_as_salt(name, monkeypatch):
    monkeypatch.setenv("TZ", "UTC")
    assert [(template, render(template)) for template, _ in CASES[name]] == [tuple(case) for case in CASES[name]]


@pytest.mark.parametrize(
    "template, want",
    [
        (
            "{{ {'a': 'x\\ny', 'b': [1, none, {'c': 'q'}], 'd': true} }}",
            "{'a': \"x\\ny\", 'b': [1, None, {'c': 'q'}], 'd': True}",
        ),
        ("{{ [{'a': 'tab\\t'}] }}", "[{'a': \"tab\\t\"}]"),
        ("{{ odict([('b', 1), ('a', 2)])|yaml }}", "{b: 1, a: 2}"),
        ("{{ {'b': 1, 'a': 2}|yaml }}", "{a: 2, b: 1}"),
    ],
)
def test_mappings_print_as_yaml(template, want):
    assert render(template) == want


@pytest.mark.parametrize("name", ["yaml", "json", "tojson", "python"])
def test_undefined_values_inside_are_not_lost(name):
    with pytest.raises(SourceError, match="'missing' is undefined"):
        render("{{ {'a': [missing]}|NAME }}".replace("NAME", name))


@pytest.mark.parametrize(
    "template, function, answer, want",
    [
        ("{{ 'sh'|which }}", "cmd__which", "/bin/sh", "/bin/sh"),
        ("{{ '/etc/x'|file_hashsum }}", "hashutil__digest_file", "abc", "abc"),
        ("{{ '/srv'|list_files|join(',') }}", "file__find", ["/srv", "/srv/a"], "/srv,/srv/a"),
        ("{{ 'root'|get_uid }}", "file__user_to_uid", 0, "0"),
    ],
)
def test_filters_on_files_ask_the_target(template, function, answer, want):
    assert render(template, **{function: lambda *args, **kwargs: answer}) == want


@pytest.mark.parametrize(
    "content, binary",
    [(b"text\n", False), ("Grüße".encode(), False), (b"\x00\x01", True), (b"\x01" * 50, True), (b"", False)],
)
def test_binary_or_text(content, binary):
    functions = {"file__file_exists": lambda path: True, "file__read": lambda path, binary: content}
    assert render("{{ '/x'|is_bin_file }} {{ '/x'|is_text_file }}", **functions) == f"{binary} {not binary}"


def test_method_call_stays_in_the_sandbox():
    assert render("{{ 'a'|method_call('upper') }} {{ 'a'|method_call('no_such') }}") == "A None"
    with pytest.raises(SourceError, match="unsafe"):
        render("{{ 'a'|method_call('__class__') }}")


def test_match_is_a_test():
    assert render("{{ 'Abc' is match('a', ignorecase=True) }} {{ 'Abc' is match('b') }}") == "True False"
