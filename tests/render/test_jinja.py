from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor

import pytest

from pushsalt.errors import FunctionError, RenderError, TargetError
from pushsalt.fileserver import FileServer
from pushsalt.render import RenderContext, compile_template, jinja, render_text
from pushsalt.render.jinja import render_jinja
from pushsalt.render.problems import SourceError
from pushsalt.trust import Trusted


def test_names_of_an_sls(tree):
    tree.write(
        "web/nginx/init.sls",
        "x: {{ [tplfile, tpldir, tpldot, slspath, slsdotpath, slscolonpath, sls_path, sls]|json }}",
    )
    assert tree.render("web.nginx") == {
        "x": [
            "web/nginx/init.sls",
            "web/nginx",
            "web.nginx",
            "web/nginx",
            "web.nginx",
            "web:nginx",
            "web_nginx",
            "web.nginx",
        ]
    }


def test_names_of_a_top_level_sls(tree):
    tree.write("web.sls", "x: {{ [tplfile, tpldir, tpldot, slspath]|json }}")
    assert tree.render("web") == {"x": ["web.sls", ".", "", ""]}


def test_imports_with_and_without_context(tree):
    tree.write("lib/m.jinja", "{% set seen = [tplfile, tpldir, sls, here|default('-')] %}")
    tree.write(
        "web/init.sls",
        "{% set here = 'y' %}{% import 'lib/m.jinja' as a %}{% import 'lib/m.jinja' as b with context %}\n"
        "a: {{ a.seen|json }}\nb: {{ b.seen|json }}\n",
    )
    assert tree.render("web") == {"a": ["lib/m.jinja", "lib", "web", "-"], "b": ["web/init.sls", "web", "web", "y"]}


def test_relative_imports(tree):
    tree.write("web/map.jinja", "{% from './deep/x.jinja' import v %}{% set value = v %}")
    tree.write("web/deep/x.jinja", "{% from './y.jinja' import w %}{% set v = w %}")
    tree.write("web/deep/y.jinja", "{% set w = 7 %}")
    tree.write("web/sub/init.sls", "{% from '../map.jinja' import value %}\nx: {{ value }}")
    assert tree.render("web.sub") == {"x": 7}


def test_paths_on_the_disk_are_imported_from_below_a_root_alone(tree):
    tree.write("web/map.jinja", "{% set v = 7 %}{% set at = tplfile %}")
    name = f"{tree.root}/web/../web/map.jinja"
    tree.write("web/init.sls", f"{{% from '{name}' import v, at %}}\nx: {{{{ [v, at]|json }}}}")
    assert tree.render("web") == {"x": [7, "web/map.jinja"]}
    (tree.root.parent / "secret").write_text("x: 1")
    for name in (f"{tree.root}/../secret", f"{tree.root}x/map.jinja", f"{tree.root}/web/none.jinja"):
        tree.write("web/init.sls", f"{{% include '{name}' %}}")
        with pytest.raises(Exception, match="no such file in the file server"):
            tree.render("web")


@pytest.mark.parametrize("path", ["../secret", "/etc/passwd", "a/../../secret", "salt://../secret"])
def test_imports_never_leave_the_tree(tree, path):
    (tree.root.parent / "secret").parent.mkdir(exist_ok=True)
    (tree.root.parent / "secret").write_text("root password")
    tree.write("web.sls", "{% include '" + path + "' %}")
    with pytest.raises(Exception, match="no such file in the file server"):
        tree.render("web")


def test_include_ignore_missing(tree):
    tree.write("web.sls", "{% include 'nope' ignore missing %}x: 1")
    assert tree.render("web") == {"x": 1}


@pytest.mark.parametrize(
    "name, content, want",
    [("yaml", "{a: [1, 0644]}", {"a": [1, 644]}), ("json", '{"a": null}', {"a": None}), ("text", "a\nb", "a\nb")],
)
def test_import_and_load_tags(tree, name, content, want):
    tree.write("data", content)
    tree.write("web.sls", f"{{% import_{name} 'data' as v %}}\nx: {{{{ v|json }}}}")
    assert tree.render("web") == {"x": want}
    tree.write("other.sls", f"{{% load_{name} as v %}}{content}{{% endload %}}\nx: {{{{ v|json }}}}")
    assert tree.render("other") == {"x": want}


def test_loaded_data_is_rendered_first(tree):
    tree.write("d.yaml", "{% set n = 3 %}a: {{ n }} {{ grains.os }}")
    tree.write("web.sls", "{% import_yaml 'd.yaml' as v %}\nx: {{ v|json }}")
    assert tree.render("web") == {"x": {"a": "3 Debian"}}


def test_do_loop_controls_and_profile(tree):
    tree.write(
        "web.sls",
        "{% set l = [] %}{% profile as 'it' %}{% for i in range(9) %}{% if i == 1 %}{% continue %}{% endif %}"
        "{% if i == 4 %}{% break %}{% endif %}{% do l.append(i) %}{% endfor %}{% endprofile %}\nx: {{ l }}",
    )
    assert tree.render("web") == {"x": [0, 2, 3]}


def test_salt_functions_by_item_and_attribute(tree):
    tree.salt = {
        "pillar.get": lambda key, default=None: (key, default),
        "cmd.shell": lambda cmd: "shell",
        "cmd.run": lambda cmd: "run",
    }
    tree.write(
        "web.sls",
        "a: {{ salt['pillar.get']('k', 1)|json }}\nb: {{ salt.pillar.get('k')|json }}\nc: {{ salt['cmd.run']('x') }}\n"
        "d: {{ salt.cmd.run('x') }}\n"
        "e: {{ 'pillar.get' in salt }} {{ 'no.such' in salt }} {{ salt['no.such'] is defined }}\n"
        "f: {{ salt.pillar.nosuch is defined }} {{ salt.nosuch is defined }}",
    )
    assert tree.render("web") == {
        "a": ["k", 1],
        "b": ["k", None],
        "c": "shell",
        "d": "shell",
        "e": "True False False",
        "f": "False False",
    }


def test_allow_undefined(tree):
    tree.write("web.sls", "x: '{{ missing }}'")
    tree.opts["allow_undefined"] = True
    assert tree.render("web") == {"x": ""}


def test_environment_options_for_sls_and_files(tree):
    tree.opts.update(jinja_sls_env={"trim_blocks": True, "NO_SUCH": 1}, jinja_env={"lstrip_blocks": True})
    text = "  {% if true %}\nx: 1\n  {% endif %}\n"
    sls = jinja.render_jinja(text, path="", sls="web", saltenv="base", context=tree.context)
    assert str(sls) == "  x: 1\n  \n"
    assert render_text(Trusted(text, "test"), "jinja", path="", saltenv="base", context=tree.context) == "\nx: 1\n\n"


@pytest.mark.parametrize("shebang", ["", "#!jinja|yaml\n"])
def test_header_line_sets_options_of_one_template(tree, shebang):
    text = shebang + '#jinja2: {"trim_blocks": true}\n{% if true %}\nx: {{ missing }}\n{% endif %}\n'
    with pytest.raises(SourceError) as caught:
        jinja.render_jinja(text, path="f", sls="", saltenv="base", context=tree.context)
    assert caught.value.chain[0].line == text.count("\n", 0, text.index("missing")) + 1
    done = jinja.render_jinja(text.replace("missing", "1"), path="f", sls="", saltenv="base", context=tree.context)
    assert str(done) == f"{shebang}x: 1\n\n"  # as in Salt: the template's last newline is restored


@pytest.mark.parametrize("text", ["a", "a\n", "a\n\n", "{% if 1 %}\n{% endif -%}\n"])
def test_last_newline_is_kept(tree, text):
    done = render_text(Trusted(text, "test"), "jinja", path="", saltenv="base", context=tree.context)
    assert done.endswith("\n") == text.endswith("\n")


def test_templates_are_compiled_once_for_all_targets(tree, monkeypatch):
    tree.write("m.jinja", "{% macro m() %}{{ grains.os }}{% endmacro %}")
    tree.write("web.sls", "{% from 'm.jinja' import m with context %}\nx: {{ m() }}")
    assert tree.render("web") == {"x": "Debian"}

    def compiled_again(*args, **kwargs):
        raise AssertionError("compiled again")

    monkeypatch.setattr(jinja.Environment, "compile", compiled_again)
    tree.grains = {"os": "Arch"}
    assert tree.render("web") == {"x": "Arch"}


@pytest.mark.parametrize("text", ["{{ ''.__class__ }}", "{{ salt.__init__ }}", "{{ (''|attr('__class__')).mro() }}"])
def test_sandbox(tree, text):
    tree.write("web.sls", "x: " + text)
    with pytest.raises(Exception, match=r"unsafe|has no module|no attribute"):
        tree.render("web")


def test_target_trouble_is_no_render_error(tree):
    def lost():
        raise TargetError("connection_lost", "web1: the connection broke", "look at web1")

    tree.salt = {"x.y": lost}
    file = tree.write("web.sls", "a: 1\nx: {{ salt['x.y']() }}")
    with pytest.raises(TargetError) as caught:
        tree.render("web")
    assert caught.value.kind == "connection_lost"
    assert f"(called from {file}:2)" in caught.value.message


def test_function_error_names_the_function_that_failed(tree):
    def fail():
        raise FunctionError("exception", "no such program", "", "CommandExecutionError")

    words = "Problem running salt function in Jinja template: no such program (raised by the function x.y)"
    tree.salt = {"x.y": fail}
    for call in ("salt['x.y']()", "salt.x.y()"):
        tree.write("web.sls", "x: {{ %s }}" % call)  # noqa: UP031
        with pytest.raises(RenderError, match=re.escape(words)):
            tree.render("web")


def test_unexpected_exception_of_a_function(tree):
    tree.salt = {"x.y": lambda: {}["k"]}
    tree.write("web.sls", "x: {{ salt['x.y']() }}")
    with pytest.raises(RenderError, match=r"Jinja error: 'k' \(raised by the function x\.y\)"):
        tree.render("web")


def test_extends_and_blocks(tree):
    tree.write("base.jinja", "a: 1\n{% block more %}{% endblock %}\nc: 3\n")
    tree.write("web.sls", "{% extends 'base.jinja' %}\n{% block more %}\n\nb: 2{% endblock %}\n")
    assert tree.render("web") == {"a": 1, "b": 2, "c": 3}
    file = tree.write("web.sls", "{% extends 'base.jinja' %}\n{% block more %}\n\na: 2{% endblock %}\n")
    with pytest.raises(RenderError, match="conflicting ID 'a'") as caught:
        tree.render("web")
    assert (caught.value.where.path, caught.value.where.line) == (str(file), 4)


def test_many_targets_at_once(tree):
    tree.write("m.jinja", "{% set os = grains.os %}")
    tree.write("web.sls", "{% from 'm.jinja' import os with context %}\nx: {{ os }}{{ salt['x.y']() }}")
    file = tree.root / "web.sls"

    def render(number):
        context = RenderContext(str(number), {}, {"os": number}, {}, {"x.y": lambda: number}, FileServer(tree.opts))
        source = Trusted(file.read_text(), "test")
        return compile_template(source, path=str(file), sls="web", saltenv="base", context=context)

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(render, range(10, 60))) == [{"x": number * 101} for number in range(10, 60)]


@pytest.mark.parametrize(
    "expression, value",
    [
        ("salt.nosuch is defined", "False"),
        ("salt.test is defined", "True"),
        ("salt['test'] is defined", "True"),
        ("salt.test.ping is defined", "True"),
        ("salt.test.nosuch is defined", "False"),
        ("salt['nosuch.fun'] is defined", "False"),
        ("'test.ping' in salt", "True"),
        ("'test' in salt", "False"),
        ("salt.get('nosuch.fun')", "None"),
        ("salt.nosuch|default('d')", "d"),
        ("salt.test.nosuch|default('d')", "d"),
        ("salt.get('test.ping')()", "pong"),
    ],
)
def test_what_salt_has(tree, expression, value):
    tree.salt = {"test.ping": lambda: "pong"}
    text = "{{ " + expression + " }}"
    assert str(render_jinja(text, path="", sls="", saltenv="base", context=tree.context)) == value


@pytest.mark.parametrize("call", ["salt.nosuch.fun()", "salt.nosuch.fun is defined", "salt.nosuch"])
def test_a_module_that_is_not_there(tree, call):
    with pytest.raises(SourceError, match="Jinja variable 'salt' has no module 'nosuch'"):
        render_jinja("{{ " + call + " }}", path="", sls="", saltenv="base", context=tree.context)
