"""Trusted and foreign text, the sandbox, and the statements of docs/security.md."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import pytest

from pushsalt.errors import RenderError
from pushsalt.render import RenderContext, compile_template, render_text
from pushsalt.trust import Foreign, Trusted

ROOT = Path(__file__).parent.parent


class Project:
    """A template must not reach it."""

    secret = "canary-2b7f"
    # as a module of ours: objects of users' own modules are accessible to their templates
    __module__ = "pushsalt.run.project"


class Minion:
    __module__ = "pushsalt.minion.minion"

    def __init__(self) -> None:
        self.project = Project()

    def get(self, name: str = "") -> str:
        return name


def context(**kwargs: Any) -> RenderContext:
    minion = Minion()
    salt = {"test.get": minion.get, "test.obj": lambda: minion, "test.partial": lambda *a: a}
    return RenderContext("it", {"id": "it"}, {"os": "Debian"}, {}, salt, **kwargs)


def rendered(text: str, **kwargs: Any) -> str:
    return render_text(Trusted(text, "test"), "jinja", path="/t", saltenv="base", context=context(**kwargs))


def test_a_plain_text_is_never_rendered() -> None:
    for text in ("a: 1", Trusted("a: 1", "x")[:], Trusted("a: ", "x") + "1", str(Trusted("a: 1", "x"))):
        with pytest.raises(TypeError, match="neither trusted nor foreign"):
            compile_template(text, path="p", sls="s", saltenv="base", context=context())  # type: ignore[arg-type]
    assert compile_template(Trusted("a: 1", "x"), path="p", sls="s", saltenv="base", context=context()) == {"a": 1}


@pytest.mark.parametrize("engine", ["py", "mako", "wempy", "pyobjects", "stateconf", "jinja|py", "gpg"])
def test_foreign_text_has_no_engine_that_runs_python(engine: str) -> None:
    text = f"#!{engine}\ndef run():\n    return {{}}\n"
    with pytest.raises(RenderError, match="only allowed in files of the file roots"):
        compile_template(Foreign(text, "it"), path="p", sls="s", saltenv="base", context=context())
    fine = Foreign("a: {{ 1 }}", "it")
    assert compile_template(fine, path="p", sls="", saltenv="base", context=context()) == {"a": 1}


#: Modules that may declare a text as the operator's: file server, rosters, pillar files, the command line.
MAY_TRUST = {
    "pushsalt/check/rendering.py",
    "pushsalt/ext_pillar/file_tree.py",
    "pushsalt/inventory/kinds.py",
    "pushsalt/render/pipeline.py",
    "pushsalt/minion/minion.py",
}


def test_trust_is_given_at_few_places() -> None:
    found = set()
    for path in (ROOT / "pushsalt").rglob("*.py"):
        text = path.read_text()
        for node in ast.walk(ast.parse(text)) if "Trusted" in text else ():
            if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] == "Trusted":
                found.add(str(path.relative_to(ROOT)))
    assert found <= MAY_TRUST, found - MAY_TRUST


WAYS = (
    "{{ salt['test.obj']().project.secret }}",
    "{{ salt['test.obj']() | attr('project') | attr('secret') }}",
    "{{ salt['test.obj']() | method_call('get', 'x') }}",
    "{{ [salt['test.obj']()] | map(attribute='project.secret') | first }}",
    "{{ '{0.project.secret}'.format(salt['test.obj']()) }}",
    "{{ '{o.project.secret}'.format_map({'o': salt['test.obj']()}) }}",
    "{{ '{0.project.secret}' | method_call('format', salt['test.obj']()) }}",
    "{{ ['{0.project.secret}'] | map('method_call', 'format', salt['test.obj']()) | first }}",
    "{{ ('{0.project.secret}' | attr('format'))(salt['test.obj']()) }}",
    "{% set f = '{0.project.secret}'.format %}{{ f(salt['test.obj']()) }}",
    "{{ salt['test.get'].__self__.project.secret }}",
    "{{ salt['test.get'].__globals__ }}",
    "{{ salt._functions }}",
    "{{ salt['test.get'].__wrapped__.__self__.project.secret }}",
    "{{ lipsum.__globals__ }}",
    "{{ cycler.__init__.__globals__ }}",
    "{{ self.__init__ }}",
    "{{ dict.mro() }}",
    "{{ ''.__class__.mro() }}",
    "{{ namespace.mro() }}",
    "{{ (1).__class__ }}",
    "{{ salt['test.partial'].func }}",
)


@pytest.mark.parametrize("way", WAYS)
def test_nothing_leads_out_of_the_sandbox(way: str) -> None:
    try:
        found = rendered(way)
    except RenderError as exc:
        assert Project.secret not in str(exc)
    else:
        assert Project.secret not in found and "globals" not in found and "class" not in found, found


def test_formulas_can_still_use_their_data() -> None:
    text = (
        "{% set d = {'a': [1]} %}{% do d.update({'b': 2}) %}{% do d.a.append(3) %}{% set ns = namespace(n=0) %}"
        "{% for k, v in d.items() %}{% set ns.n = ns.n + loop.index %}{% endfor %}"
        "{% macro m(x) %}<{{ x }}>{% endmacro %}"
        "{{ d }} {{ ns.n }} {{ m('y') }} {{ m.name }} {{ 'a-%s' | format('b') }} {{ '{} {x}'.format(1, x=2) }} "
        "{{ dict(a=1) }} {{ range(3) | list }} {{ 'a,b'.split(',') | join('-') }} {{ salt.test.get('z') }} "
        "{{ salt['test.get']('q').upper() }} {{ 'x' | method_call('upper') }} {{ 2 ** 10 }}"
    )
    assert rendered(text) == ("{'a': [1, 3], 'b': 2} 3 <y> m a-b 1 2 {'a': 1} [0, 1, 2] a-b z Q X 1024")


def test_opts_that_a_template_changes_let_no_renderer_in(tmp_path: Path) -> None:
    made = tmp_path / "ran"
    code = f"#!py\ndef run():\n    open({str(made)!r}, 'w')\n    return {{}}\n"
    opts: dict[str, Any] = {"renderer_whitelist": ["jinja", "yaml"]}
    frozen = dict(opts)

    def render(string: str) -> Any:
        return compile_template(Trusted(string, "x"), path="p", sls="s", saltenv="base", context=rendering)

    rendering = RenderContext("it", opts, {}, {}, {"slsutil.renderer": render}, frozen=frozen)
    text = "{% do opts.update({'renderer_whitelist': []}) %}{{ salt['slsutil.renderer'](" + repr(code) + ") }}"
    try:
        render_text(Trusted(text, "x"), "jinja", path="/t", saltenv="base", context=rendering)
    except RenderError:
        pass
    assert opts["renderer_whitelist"] == [] and not made.exists()


def test_each_promise_of_the_page_about_security_is_a_test() -> None:
    page = (ROOT / "docs/security.md").read_text().partition("## Not promised")[0]
    tests = "\n".join(path.read_text() for path in (ROOT / "tests").rglob("test_*.py"))
    promises = re.findall(r"^- (.*?)(?=^- |^$|^#)", page, re.MULTILINE | re.DOTALL)
    assert len(promises) > 50
    for promise in promises:
        names = re.findall(r"`(test_\w+)`", promise)
        assert names, promise
        for name in names:
            assert f"def {name}(" in tests, name
