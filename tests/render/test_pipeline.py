from __future__ import annotations

import pytest

from pushsalt.errors import RenderError
from pushsalt.render import compile_source, compile_template, render_any, render_text
from pushsalt.render.pipeline import Stage, parse_pipe, pipe_of
from pushsalt.trust import Trusted


@pytest.mark.parametrize(
    "pipe, stages",
    [
        ("jinja|yaml", [Stage("jinja"), Stage("yaml")]),
        (" jinja -s | yaml ", [Stage("jinja", "-s"), Stage("yaml")]),
        ("stateconf -G yaml . jinja", [Stage("stateconf", "-G yaml . jinja")]),
        ("yaml_jinja", [Stage("jinja"), Stage("yaml")]),
        ("json_mako", [Stage("mako"), Stage("json")]),
    ],
)
def test_parse_pipe(pipe, stages):
    assert parse_pipe(pipe) == stages


@pytest.mark.parametrize(
    "text, pipe",
    [("#!py\n", "py"), ("#! jinja | json \n", " jinja | json"), ("#!/bin/sh\n", "default"), ("a: 1", "default")],
)
def test_pipe_of(text, pipe):
    assert pipe_of(text, "default") == pipe


@pytest.mark.parametrize(
    "text, data",
    [
        ("", {}),
        (" \n\n", {}),
        ("# nothing\n", {}),
        ("a: {{ 1 + 1 }}", {"a": 2}),
        ("#!yaml\na: '{{ 1 }}'", {"a": "{{ 1 }}"}),
        ('#!json\n{"a": 1}', {"a": 1}),
        ('#!jinja|json\n{"a": {{ pillar.port }}}', {"a": 80}),
        (
            "#!py\ndef run():\n  return {__sls__: [__env__, __grains__['os'], pillar]}",
            {"web": ["base", "Debian", {"port": 80}]},
        ),
        (
            "#!py\n__salt__ = 0\ndef run():\n  return {'a': __salt__['x.y'](), 'b': __opts__ is opts}",
            {"a": 5, "b": True},
        ),
    ],
)
def test_data(tree, text, data):
    tree.salt = {"x.y": lambda: 5}
    tree.write("web.sls", text)
    assert tree.render("web") == data


def test_default_renderer_from_options_or_argument(tree):
    tree.opts["renderer"] = "json"
    tree.write("web.sls", '{"a": "{{ 1 }}"}')
    assert tree.render("web") == {"a": "{{ 1 }}"}
    assert tree.render("web", default_renderer="jinja|yaml") == {"a": "1"}


def test_variables_are_names_and_win(tree):
    tree.write("web.sls", "a: {{ extra }}\nb: {{ tpldir }}\n")
    assert tree.render("web", extra=1, tpldir="mine") == {"a": 1, "b": "mine"}


@pytest.mark.parametrize("option", [{"renderer_blacklist": ["jinja"]}, {"renderer_whitelist": ["yaml"]}])
def test_renderers_that_are_not_allowed_are_skipped(tree, option):
    tree.opts.update(option)
    tree.write("web.sls", "a: '{{ 1 }}'")
    assert tree.render("web") == {"a": "{{ 1 }}"}


def test_own_renderer_from_the_tree_wins_and_has_dunders(tree):
    tree.write(
        "_renderers/json.py",
        "def render(data, saltenv='base', sls='', **kwargs):\n"
        "    return {'sls': sls, 'os': __grains__['os'], 'text': data.read()[-1], 'arg': kwargs['argline']}\n",
    )
    tree.write("web.sls", "#!jinja|json -a b\n{{ 1 }}")
    assert tree.render("web") == {"sls": "web", "os": "Debian", "text": "1", "arg": "-a b"}


def test_own_renderer_that_fails(tree):
    tree.write("_renderers/odd.py", "def render(data, *args, **kwargs):\n    raise KeyError('x')\n")
    tree.write("web.sls", "#!odd\n")
    with pytest.raises(RenderError, match="the renderer 'odd' failed: KeyError: 'x'"):
        tree.render("web")


def test_lines_of_declarations(tree):
    tree.write("m.jinja", "{% macro m() %}\nz: 1\n{% endmacro %}")
    file = tree.write(
        "web.sls",
        "{% from 'm.jinja' import m %}\na: 1\n{% for i in [1, 2] %}\n\nb{{ i }}:\n  c: 1\n{% endfor %}\n{{ m() }}\n",
    )
    text = Trusted(file.read_text(), "test")
    source = compile_source(text, path=str(file), sls="web", saltenv="base", context=tree.context)
    assert source.data == {"a": 1, "b1": {"c": 1}, "b2": {"c": 1}, "z": 1}
    assert dict(source.lines) == {"a": 2, "b1": 5, "b2": 5, "z": 8}


def test_lines_of_data_from_no_yaml(tree):
    source = compile_source(
        Trusted("#!py\ndef run():\n  return {'a': 1}", "test"), path="x", sls="", saltenv="base", context=tree.context
    )
    assert (source.data, dict(source.lines)) == ({"a": 1}, {})


@pytest.mark.parametrize(
    "engine, text, want",
    [
        ("jinja", "{{ grains.os }} {{ port }}\n", "Debian 8080\n"),
        ("py", "def run():\n    return '%s %s' % (grains['os'], port)\n", "Debian 8080"),
    ],
)
def test_render_text(tree, engine, text, want):
    source, port = Trusted(text, "test"), {"port": 8080}
    assert render_text(source, engine, path="f", saltenv="base", context=tree.context, variables=port) == want


@pytest.mark.parametrize("pipe, want", [("jinja", "a: 80\n"), ("jinja|yaml", {"a": 80})])
def test_render_any_gives_text_or_data(tree, pipe, want):
    options = {"path": ":string:", "sls": "", "saltenv": "base", "context": tree.context, "default_renderer": pipe}
    assert render_any(Trusted("a: {{ pillar.port }}\n", "test"), **options).data == want


def test_render_text_errors_name_the_file(tree):
    words = r"Rendering /srv/f\.conf failed: Jinja variable 'x' is undefined; line 2\n  in /srv/f\.conf:2"
    with pytest.raises(RenderError, match=words):
        render_text(Trusted("\n{{ x }}", "test"), "jinja", path="/srv/f.conf", saltenv="base", context=tree.context)
    with pytest.raises(RenderError, match="gives dict, not text"):
        render_text(Trusted("a: 1", "test"), "yaml", path="f", saltenv="base", context=tree.context)


def test_a_roster_needs_no_target(tmp_path):
    from pushsalt.render import RenderContext

    (tmp_path / "hosts.jinja").write_text("{% set hosts = ['a', 'b'] %}")
    roster = tmp_path / "roster"
    text = "{% from 'hosts.jinja' import hosts %}{% for h in hosts %}\n{{ h }}: {host: {{ h }}.example}\n{% endfor %}"
    context = RenderContext("", {}, {}, {}, {})
    data = compile_template(
        Trusted(text, "test"), path=str(roster), sls="", saltenv="base", context=context, default_renderer="jinja|yaml"
    )
    assert data == {"a": {"host": "a.example"}, "b": {"host": "b.example"}}
