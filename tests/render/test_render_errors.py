"""An error names the file and line to edit, and the reason."""

from __future__ import annotations

import pytest

from pushsalt.errors import RenderError
from pushsalt.fileserver import FileServer
from pushsalt.render import compile_source, read_source
from pushsalt.trust import Trusted

MAP = "{% macro port(n) %}\n{{ n }}\n{{ nothing }}\n{% endmacro %}\n"


def error(tree, sls="web"):
    with pytest.raises(RenderError) as caught:
        tree.render(sls)
    [text] = caught.value.errors
    assert "Traceback" not in text
    return caught.value


@pytest.mark.parametrize(
    "text, line, words",
    [
        ("a: 1\nx: {{ y }}", 2, "Jinja variable 'y' is undefined"),
        ("a: 1\nx: {{ {}.y.z }}", 2, "Jinja variable 'dict object' has no attribute 'y'"),
        ("a: 1\n{% if %}", 2, "Jinja syntax error: Expected an expression, got 'end of statement block'"),
        ("a: 1\n{% for i in [] %}\nx: 1\n", 2, "Jinja syntax error: Unexpected end of template"),
        ("\n{{ raise('stop here') }}", 2, "Jinja error: stop here"),
        ("\n{{ 1/0 }}", 2, "Jinja error: division by zero"),
        ("\n{{ salt['no.such']() }}", 2, "Jinja variable 'salt' has no function 'no.such'"),
        ("\n{{ salt.no.such() }}", 2, "Jinja variable 'salt' has no module 'no'"),
        ("\n{% import 'no/file' as x %}", 2, "no/file"),
        ("\n{{ {}|nofilter }}", 2, "No filter named 'nofilter'"),
        ("\n{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", 2, "never end"),
        (
            "\n{% load_yaml as v %}\na: b: c\n{% endload %}",
            2,
            "Encountered error loading yaml: mapping values are not allowed",
        ),
        ("a:\n\tb: 2\n", 2, "illegal tab character"),
        ("a: 1\nb: 2\na: 3\n", 3, "found conflicting ID 'a' (first used in line 1)"),
        (
            "{% set v = 1 %}\n{% for i in [1, 2] %}\na: {{ i }}\n{% endfor %}",
            3,
            "found conflicting ID 'a' (first used in line 3)",
        ),
        ("{% for i in range(9) %}\n{% endfor %}\na: b: c\n", 3, "mapping values are not allowed"),
        ("a: {{ 'x: y\\nz' }}\n", 1, "mapping values are not allowed"),
        ("a: {{ {'b': 1} }}}\n", 1, "did not find expected key"),
        ("#!py\n\ndef run():\n    return __grains__['nope']\n", 4, "KeyError: 'nope'"),
        ("#!py\n\ndef run(:\n", 3, "Python: invalid syntax"),
        ("#!py\nx = 1\n", 1, "needs a function run()"),
        ('#!json\n{"a": 1,\n"b" 2}', 3, "JSON: "),
    ],
)
def test_line_and_reason(tree, text, line, words):
    file = tree.write("web.sls", text)
    exc = error(tree)
    assert words in exc.errors[0].splitlines()[0]
    assert exc.errors[0].startswith("Rendering SLS 'base:web' failed: ")
    assert (exc.where.path, exc.where.line) == (str(file), line)
    assert f"  in {file}:{line}" in exc.errors[0]
    assert f"> {line} | {text.splitlines()[line - 1].rstrip()}".rstrip() in exc.errors[0]


def test_error_within_an_imported_macro(tree):
    lib = tree.write("lib/map.jinja", MAP)
    sls = tree.write("web.sls", "{% from 'lib/map.jinja' import port %}\n\n\nx: {{ port(80) }}\n")
    text = error(tree).errors[0]
    assert f"  in {lib}:3\n  from {sls}:4\n" in text
    assert "> 3 | {{ nothing }}" in text


def test_syntax_error_within_an_include(tree):
    part = tree.write("part.jinja", "a: 1\n{% endif %}\n")
    sls = tree.write("web.sls", "\n{% include 'part.jinja' %}\n")
    assert f"  in {part}:2\n  from {sls}:2\n" in error(tree).errors[0]


def test_yaml_error_within_an_include(tree):
    part = tree.write("part.jinja", "a: 1\n{% if true %}\nb: c: d\n{% endif %}\n")
    tree.write("web.sls", "# {{ 1 }}\n\n{% include 'part.jinja' %}\n")
    exc = error(tree)
    assert (exc.where.path, exc.where.line) == (str(part), 3)


def test_error_in_an_imported_yaml_file(tree):
    data = tree.write("defaults.yaml", "a: 1\nb: 2\na: 3\n")
    sls = tree.write("web.sls", "\n{% import_yaml 'defaults.yaml' as d %}\n")
    assert f"  in {data}:3\n  from {sls}:2\n" in error(tree).errors[0]


def test_rendered_line_is_shown_where_it_differs(tree):
    tree.write("web.sls", "{% set v = 'x: y' %}\n\n\na: {{ v }}\n")
    exc = error(tree)
    assert exc.where.line == 4
    assert "rendered: line 4: a: x: y" in exc.errors[0]


@pytest.mark.parametrize(
    "shebang, words",
    [
        ("#!jinja|nope", "The renderer 'nope' is not available"),
        ("#!../evil", "is not available"),
        ("#!jinja", "the last renderer, 'jinja', gives text"),
        ("#!yaml|jinja", "the renderer 'jinja' needs text, and the renderer 'yaml' before it gives data (dict)"),
        ("#!jinja -x | yaml", "Unknown renderer option: -x"),
    ],
)
def test_bad_pipes(tree, shebang, words):
    tree.write("web.sls", f"{shebang}\na: 1\n")
    assert words in error(tree).errors[0]


def test_endless_macros_give_a_short_error(tree):
    tree.write(
        "web.sls", "{% macro a() %}\n{{ b() }}{% endmacro %}\n{% macro b() %}\n{{ a() }}{% endmacro %}\n{{ a() }}"
    )
    assert len(error(tree).errors[0].splitlines()) < 25


def test_bad_environment_option(tree):
    tree.opts["jinja_sls_env"] = {"block_start_string": 5}
    tree.write("web.sls", "a: 1")
    assert "Jinja error: " in error(tree).errors[0]


def test_file_that_is_not_utf8(tree):
    tree.write("web.sls", "{% include 'latin' %}")
    (tree.root / "latin").write_bytes("Grüße".encode("latin-1"))
    assert "latin is not UTF-8" in error(tree).errors[0]


def test_sls_that_is_not_utf8(tree):
    tree.write("web.sls", "a: 1\n").write_bytes(b"a: 1\nb: \xfc\n")
    found = FileServer(tree.opts).find("web.sls")
    with pytest.raises(RenderError, match=r"^\S+web\.sls:2: Rendering SLS 'base:web' failed: .*web\.sls is not UTF-8"):
        read_source(found, sls="web", saltenv="base")


@pytest.mark.parametrize(
    "lib, sls, line, callers",
    [
        ("{% macro m() %}\na: 1\n{{ 'b' }}: c: d\n{% endmacro %}", "{{ m() }}", 3, [1]),
        ("{% macro m() %}\na: 1\nb: c: d\n{% endmacro %}", "x:\n{{ m()|indent(2) }}", 3, [2]),
        ("{% macro m() %}\n{{ n() }}\n{% endmacro %}{% macro n() %}\n\nb: c: d\n{% endmacro %}", "{{ m() }}", 5, [1]),
        ("{% macro m() %}\n{{ caller() }}\nb: c: d\n{% endmacro %}", "{% call m() %}\na: 1\n{% endcall %}", 3, [1]),
        ("{% macro m() %}\n{% set x %}\nb: c: d\n{% endset %}\n{{ x }}\n{% endmacro %}", "\n{{ m() }}", 3, [2]),
        ("{% macro m() %}\n{% filter upper %}\nb: c: d\n{% endfilter %}\n{% endmacro %}", "{{ m() }}", 2, [1]),
    ],
    ids=["literal", "indented", "macro in macro", "call", "set", "filter"],
)
def test_yaml_error_within_a_macro(tree, lib, sls, line, callers):
    file = tree.write("lib.jinja", lib)
    web = tree.write("web.sls", "{% from 'lib.jinja' import m %}" + sls)
    exc = error(tree)
    assert (exc.where.path, exc.where.line) == (str(file), line)
    for caller in callers:
        assert f"  from {web}:{caller}\n" in exc.errors[0]


def test_yaml_error_in_a_call_block(tree):
    tree.write("lib.jinja", "{% macro m() %}\na: 1\n{{ caller() }}\n{% endmacro %}")
    web = tree.write("web.sls", "{% from 'lib.jinja' import m %}\n{% call m() %}\n\nb: c: d\n{% endcall %}")
    exc = error(tree)
    assert (exc.where.path, exc.where.line) == (str(web), 4)


def test_values_of_macros_are_plain_text(tree):
    tree.write("lib.jinja", "{% macro m(x) %}v{{ x }}{% endmacro %}")
    seen = []
    tree.salt["my.fun"] = lambda *args: seen.extend(args) or "ok"
    tree.write(
        "web.sls",
        "{% from 'lib.jinja' import m %}{% set b %}w{{ 1 }}{% endset %}a: {{ salt['my.fun'](m(1), b) }}\n"
        "b: {{ [m(2), b]|yaml }}\nc: {{ {m(3): b}|json }}\n",
    )
    assert tree.render("web") == {"a": "ok", "b": ["v2", "w1"], "c": {"v3": "w1"}}
    assert [(type(value), value) for value in seen] == [(str, "v1"), (str, "w1")]


def test_a_literal_line_is_not_taken_for_that_of_a_macro(tree):
    tree.write("lib.jinja", "{% macro m() %}\nb: c: d\n{% endmacro %}")
    web = tree.write("web.sls", "{% from 'lib.jinja' import m %}{% set x = m() %}\na: 1\n\nb: c: d\n")
    exc = error(tree)
    assert (exc.where.path, exc.where.line) == (str(web), 4)


def test_many_errors_of_a_long_sls_take_no_long_time(tree):
    from pushsalt.compile import RenderedSls, StateCompiler

    states = "".join(f"s{i}:\n  test.nop:\n    - require:\n      - test: gone{i}\n" for i in range(1500))
    web = tree.write("web.sls", "{% set x = 1 %}\n" + states)
    text = Trusted(web.read_text(), "test")
    source = compile_source(text, path=str(web), sls="web", saltenv="base", context=tree.context)

    class Rendered:
        def envs(self):
            return ["base"]

        def list_states(self, saltenv):
            return ["web"]

        def render_sls(self, sls, saltenv):
            return RenderedSls(source.data, str(web), lines=source.lines, origin=source.lines.origin)

    result = StateCompiler(Rendered(), tree.opts, matcher=lambda *_: True, check=False).sls(["web"])
    assert [place.line for problem in result.problems for place in problem.where] == list(range(5, 6002, 4))
    assert f"{web}:6001" in result.errors[-1].explanation
