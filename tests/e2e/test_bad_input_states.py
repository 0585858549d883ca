"""States that cannot be rendered or compiled return a list of texts; with stderr they name the line and the reason.

Other targets are not affected.

One highstate runs all of ``CASES`` at once, each on its own target, with two valid ones. A case has the files of its
states (below ``salt/ID/``; ``main.sls`` is in its top file), and regular expressions that the texts must match.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.beds.project import Done, Project, values

pytestmark = pytest.mark.slow


@dataclass(frozen=True)
class Case:
    """``main`` is ``main.sls``, ``files`` are the others. Errors must match each of ``expected``, not ``forbidden``."""

    main: str
    expected: tuple[str, ...]
    files: dict[str, str] = field(default_factory=dict)
    pillar: str = ""
    forbidden: str = "Traceback|<object|0x[0-9a-f]{6}"


HELLO = "hello:\n  test.succeed_without_changes\n"
CASES = {
    "sls-missing": Case(
        "include:\n  - nowhere.to.be.found\n", (r"nowhere\.to\.be\.found", r"salt/sls-missing/main\.sls")
    ),
    "yaml-error": Case("a:\n  test.nop:\n   - x: 1\n  - y: [\n", (r"salt/yaml-error/main\.sls:4",)),
    "yaml-end": Case("a:\n  test.nop: []\nb: [1,\n\n", (r"salt/yaml-end/main\.sls:3",)),
    "yaml-tab": Case("a:\n\ttest.nop: []\n", (r"salt/yaml-tab/main\.sls:2",)),
    "yaml-behind-jinja": Case(
        "{% for i in range(3) %}\na{{ i }}:\n  test.nop\n{% endfor %}\nb: [1,\n",
        (r"salt/yaml-behind-jinja/main\.sls:5",),
    ),
    "yaml-bomb": Case(
        "a: &a [x,x,x,x,x,x,x,x,x]\n"
        + "".join(f"{b}: &{b} [{','.join(['*' + a] * 9)}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True)),
        (r"salt/yaml-bomb/main\.sls",),
    ),
    "yaml-deep": Case("a: " + "[" * 5000 + "]" * 5000, (r"salt/yaml-deep/main\.sls", "nest|deep")),
    "not-utf8": Case("a: \udcff\n", (r"salt/not-utf8/main\.sls", "UTF-8")),
    "not-a-dict": Case("- a\n- b\n", (r"not-a-dict\.main", "dict|mapping")),
    "jinja-syntax": Case("a:\n  test.nop\n{% if x %}\n", (r"salt/jinja-syntax/main\.sls:[34]",)),
    "jinja-undefined": Case("# one\n# two\nb: {{ nothing.here }}\n", (r"salt/jinja-undefined/main\.sls:3", "nothing")),
    "jinja-in-macro": Case(
        "{% from 'jinja-in-macro/lib.jinja' import vhost with context %}\n{{ vhost('a') }}\n",
        (r"salt/jinja-in-macro/lib\.jinja:3", "unknown_thing"),
        {"lib.jinja": "{% macro vhost(name) %}\n# a comment\n{{ unknown_thing[name].deep }}\n{% endmacro %}\n"},
    ),
    "jinja-import-missing": Case(
        "x: 1\n{% import 'jinja-import-missing/none.jinja' as n %}\n",
        (r"salt/jinja-import-missing/main\.sls:2", r"none\.jinja"),
    ),
    "jinja-raises": Case("{{ 1 / 0 }}\n", (r"salt/jinja-raises/main\.sls:1", "zero")),
    "jinja-raise": Case("{% do 1 %}\n{{ raise('stop here') }}\n", (r"salt/jinja-raise/main\.sls:2", "stop here")),
    "jinja-escape": Case("{{ ''.__class__.__mro__[1].__subclasses__() }}\n", (r"salt/jinja-escape/main\.sls:1",)),
    "jinja-endless": Case(
        "{% macro m() %}{{ m() }}{% endmacro %}\n{{ m() }}\n", (r"salt/jinja-endless/main\.sls:[12]", "recursion")
    ),
    "call-fails": Case(
        "a:\n  test.nop:\n    - name: {{ salt['test.assertion'](False) }}\n",
        (r"salt/call-fails/main\.sls:3", r"test\.assertion"),
    ),
    "call-unknown": Case("{{ salt['no.such']('x') }}\n", (r"salt/call-unknown/main\.sls:1", r"no\.such")),
    "unknown-state": Case("a:\n  pkg.instaled:\n    - name: x\n", (r"pkg\.instaled", r"pkg\.installed")),
    "unknown-module": Case("a:\n  fil.managed:\n    - name: /x\n", (r"fil\.managed", r"file\.managed")),
    "unknown-argument": Case("a:\n  test.configurable_test_state:\n    - chnages: true\n", ("chnages", "changes")),
    "no-function": Case("a:\n  file: []\n", ("state .a.", r"salt/no-function/main\.sls:2")),
    "duplicate-key": Case("a:\n  test.nop\nb:\n  test.nop\na:\n  test.nop\n", (r"salt/duplicate-key/main\.sls:5", "a")),
    "duplicate-id": Case(
        "include:\n  - duplicate-id.other\nsame:\n  test.nop\n",
        ("same", r"duplicate-id/other|duplicate-id\.other"),
        {"other.sls": "same:\n  test.nop\n"},
    ),
    "undefined-requisite": Case("a:\n  test.nop:\n    - require:\n      - test: nonesuch\n", ("nonesuch",)),
    "bad-requisite": Case("a:\n  test.nop:\n    - require: 7\n", ("require", r"\ba\b")),
    "requisite-loop": Case(
        "".join(f"s{n}:\n  test.nop:\n    - require:\n      - test: s{(n + 1) % 3}\n" for n in range(3)),
        ("s0", "s1|s2"),
    ),
    "include-loop-is-fine-but-extend-is-not": Case(
        "include:\n  - include-loop-is-fine-but-extend-is-not.main\nextend:\n  ghost:\n    test:\n      - x: 1\n",
        ("ghost",),
    ),
    "pillar-breaks": Case(HELLO, (r"pillar/pillar-breaks\.sls:2",), pillar="a: 1\nb: [\n"),
    "pillar-jinja": Case(HELLO, (r"pillar/pillar-jinja\.sls:1", "undefined_here"), pillar="a: {{ undefined_here }}\n"),
    "py-renderer": Case(
        "#!py\n\ndef run():\n    return {}['missing']\n", (r"salt/py-renderer/main\.sls:4", "missing|KeyError")
    ),
    "unknown-renderer": Case("#!jinjja|yaml\n" + HELLO, ("jinjja",)),
}


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Done:
    folder = tmp_path_factory.mktemp("states")
    names = ["well-1", *CASES, "well-2"]
    project = Project(folder, {id: {"transport": "local", "thin_dir": str(folder / f"thin-{id}")} for id in names})
    for id, case in CASES.items():
        project.files({f"salt/{id}/{name}": text for name, text in case.files.items()})
        project.write(f"salt/{id}/main.sls", case.main.encode("utf-8", "surrogateescape"))
        if case.pillar:
            project.write(f"pillar/{id}.sls", case.pillar)
    project.write("salt/hello.sls", HELLO)
    project.write("salt/top.sls", json.dumps({"base": {**{id: [f"{id}.main"] for id in CASES}, "well-*": ["hello"]}}))
    project.write("pillar/top.sls", json.dumps({"base": {id: [id] for id, case in CASES.items() if case.pillar}}))
    return project.json("apply", "*", "--concurrency", "4")


@pytest.mark.parametrize("id", CASES)
def test_errors_have_the_reason_and_the_line(done: Done, id: str) -> None:
    case, ret = CASES[id], done.data[id]
    assert isinstance(ret, list) and ret and all(isinstance(text, str) and text.strip() for text in ret), ret
    text = "\n".join([*ret, *(entry for entry in done.err.split("[ERROR   ] ") if entry.startswith(f"{id}: "))])
    for pattern in case.expected:
        assert re.search(pattern, text), f"{pattern!r} is not in: {text}"
    assert not re.search(case.forbidden, text)
    assert len(text) < 5000


def test_states_of_valid_targets_are_run(done: Done) -> None:
    assert done.code == 2
    assert list(done.data) == ["well-1", *CASES, "well-2"]
    for id in ("well-1", "well-2"):
        (state,) = values(done.data[id])
        assert state["result"] is True


@pytest.mark.parametrize(
    "top, pattern",
    [
        ({"base": {"another": ["hello"]}}, "[Nn]o.*(top|state|match)"),
        ({"base": {"it": ["missing"]}}, "missing"),
        ({"base": {"it": 7}}, "top|it"),
        ("base:\n  it: [\n", r"salt/top\.sls:\d"),
        (["base"], r"salt/top\.sls"),
        (None, "[Nn]o.*(top|state)"),
    ],
    ids=["matches nothing", "names a missing sls", "wrong shape", "yaml error", "a list", "none at all"],
)
def test_errors_of_top_files(tmp_path: Path, top: object, pattern: str) -> None:
    project = Project(tmp_path, {"it": {"transport": "local"}})
    project.write("salt/hello.sls", HELLO)
    if top is not None:
        project.write("salt/top.sls", top if isinstance(top, str) else json.dumps(top))
    done = project.json("apply", "it")
    assert done.code == 2
    (ret,) = done.data.values()
    texts = ret if isinstance(ret, list) else [state["comment"] for state in ret.values() if state["result"] is False]
    assert texts and re.search(pattern, "\n".join([*texts, done.err]))


def test_the_error_of_a_missing_sls_names_it(tmp_path: Path) -> None:
    project = Project(tmp_path, {"it": {"transport": "local"}})
    project.write("salt/apache/init.sls", HELLO)
    done = project.json("apply", "it", "apach")
    assert done.code == 2 and "apach" in done.data["it"][0]


@pytest.mark.parametrize(
    "fun, kind, exception, pattern",
    [
        ("test.pingg", "unknown_function", "CommandExecutionError", r"test\.ping"),
        ("nosuch.thing", "unknown_function", "CommandExecutionError", r"nosuch\.thing"),
        ("test.exception", "exception", "Exception", "spilled"),
        ("state.slss", "unknown_function", "CommandExecutionError", r"state\.sls"),
    ],
)
def test_errors_of_functions(tmp_path: Path, fun: str, kind: str, exception: str, pattern: str) -> None:
    project = Project(tmp_path, {"it": {"transport": "local"}})
    done = project.json("run", "it", fun, *(["spilled"] if fun == "test.exception" else []))
    error = done.error("it")
    assert (done.code, error["kind"], error["exception"]) == (2, kind, exception)
    assert re.search(pattern, error["message"] + error["hint"])


def test_unknown_arguments_of_functions_are_errors(tmp_path: Path) -> None:
    project = Project(tmp_path, {"it": {"transport": "local"}})
    done = project.json("run", "it", "test.ping", "wrong=1")
    assert done.code == 2 and "wrong" in done.error("it")["message"]
