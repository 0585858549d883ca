"""Arguments of steps that are unusual or wrong. Recorded from Salt 3008.3."""

from __future__ import annotations

import pytest

from tests.beds.project import Project


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path, {"web1": {"transport": "local"}})


def orchestrated(project, text):
    """id -> return of each step."""
    project.write("salt/orch.sls", text)
    done = project.run("orchestrate", "orch", "--out", "json")
    [returns] = done.data["data"].values()
    return {tag.split("_|-")[1]: ret for tag, ret in returns.items()}


def test_arguments_of_functions(project):
    text = """
text: {salt.function: [{name: test.kwarg}, {tgt: web1}, {arg: ['a=1', 'b=[1, 2]']}]}
list: {salt.function: [{name: test.ping}, {tgt: web1}, {kwarg: [{a: 1}]}]}
wrong: {salt.function: [{name: test.echo}, {tgt: web1}, {kwarg: {nope: 1}}]}
none: {salt.function: [{name: test.ping}, {tgt: web1}, {batch: 0}]}
many: {salt.function: [{name: test.ping}, {tgt: web1}, {batch: many}]}
"""
    found = orchestrated(project, text)
    assert found["text"]["changes"]["ret"]["web1"].items() >= {"a": 1, "b": [1, 2]}.items()
    assert found["list"]["changes"] == found["none"]["changes"] == {"ret": {"web1": True}}
    words = "ERROR executing 'test.echo': The following keyword arguments are not valid: nope=1"
    assert found["wrong"]["changes"] == {"ret": {"web1": words}} and found["wrong"]["result"] is False
    words = "Invalid batch specification 'many': must be an integer or percentage string like '10' or '25%'."
    assert found["many"]["comment"] == words


def test_a_step_without_an_argument_fails_alone(project):
    text = "a: {salt.state: [{sls: x}]}\nb: {test.nop: []}\nc: {test.nop: [{require: [{salt: a}]}]}\n"
    found = orchestrated(project, text)
    assert found["a"]["result"] is False and found["b"]["result"] is True and found["c"]["result"] is False
    assert found["a"]["comment"] == "Missing parameter tgt for state salt.state\n" and "__sls__" not in found["a"]


def test_runners_whose_arguments_are_wrong_say_so_and_succeed(project):
    """Salt counts these calls as successes."""
    text = """
few: {salt.runner: [{name: state.orchestrate}]}
twice: {salt.runner: [{name: salt.execute}, {tgt: web1}, {arg: [x]}]}
own: {salt.runner: [{name: own.two}]}
"""
    project.write("salt/_runners/own.py", "def two(a, b):\n    return a\n")
    found = orchestrated(project, text)
    texts = {id: ret["changes"]["return"].split("\n")[1] for id, ret in found.items()}
    assert texts == {
        "few": "Passed invalid arguments: orchestrate() missing 1 required positional argument: 'mods'",
        "twice": "Passed invalid arguments: execute() got multiple values for argument 'tgt'",
        "own": "Passed invalid arguments: two() missing 2 required positional arguments: 'a' and 'b'",
    }
    assert all(ret["result"] is True for ret in found.values())


def test_the_saltenv_of_the_sls_is_that_of_inner_orchestrations(project):
    project.files({"salt/inner.sls": "a: {test.nop: []}\n", "dev/only.sls": "b: {test.nop: []}\n"})
    project.write("pushsalt.yaml", '{"file_roots": {"base": ["salt"], "dev": ["dev"]}}')
    text = "x: {salt.runner: [{name: state.orchestrate}, {mods: only}, {saltenv: dev}]}\n"
    text += "y: {salt.runner: [{name: state.orchestrate}, {mods: inner}, {kwarg: {saltenv: dev}}]}\n"
    found = orchestrated(project, text)
    assert [found[id]["result"] for id in "xy"] == [True, True]


def test_a_dry_run_calls_no_runner(project, tmp_path):
    mark = f"def mark(name):\n    open('{tmp_path}/' + name, 'w').close()\n    return {{}}\n"
    project.write("salt/_runners/own.py", mark)
    text = """
r: {salt.runner: [{name: own.mark}, {kwarg: {name: r}}]}
w: {salt.wheel: [{name: no.such}]}
p: {salt.parallel_runners: [{runners: {own.mark: [{kwarg: {name: p}}]}}]}
e: {salt.wait_for_event: [{name: a/b}, {id_list: []}]}
f: {salt.function: [{name: test.ping}, {tgt: 'no*'}]}
"""
    project.write("salt/orch.sls", text)
    done = project.run("orchestrate", "orch", "--test", "--out", "json")
    [returns] = done.data["data"].values()
    found = {ret["__id__"]: (ret["result"], ret["comment"]) for ret in returns.values()}
    assert found == {
        "r": (None, "Runner function 'own.mark' would be executed."),
        "w": (None, "Wheel function 'no.such' would be executed."),
        "p": (None, "Runner functions would be executed: 'own.mark'."),
        "e": (None, "Orchestration would wait for event 'a/b'"),
        "f": (None, "Function test.ping would be executed on target no*"),
    }
    assert not (tmp_path / "p").exists() and not (tmp_path / "r").exists()


def test_unknown_ids_of_a_list_are_targets_without_a_return(project):
    text = """
f: {salt.function: [{name: test.ping}, {tgt: [web1, nobody]}, {tgt_type: list}]}
none: {salt.function: [{name: test.ping}, {tgt: [nobody]}, {tgt_type: list}]}
"""
    found = orchestrated(project, text)
    assert found["f"]["changes"] == {"ret": {"web1": True, "nobody": False}} and found["f"]["result"] is False
    assert found["none"]["comment"] == "No minions responded"


def test_runners_of_users_call_others_and_may_exit(project):
    own = "def calls():\n    return __salt__['test.arg'](1, x=2)\ndef exits():\n    raise SystemExit(4)\n"
    project.write("salt/_runners/own.py", own + "def two(a, b=2):\n    return a\n")
    text = """
calls: {salt.runner: [{name: own.calls}]}
exits: {salt.runner: [{name: own.exits}]}
many: {salt.runner: [{name: own.two}, {arg: [1, 2, 3]}]}
text: {salt.runner: [{name: test.arg}, {arg: ['a=1', '[1, 2]']}]}
"""
    found = {id: (ret["result"], ret["changes"]["return"]) for id, ret in orchestrated(project, text).items()}
    assert found["calls"] == (True, {"args": [1], "kwargs": {"x": 2}})
    assert found["exits"][0] is False and "Exception occurred in runner own.exits: SystemExit: 4" in found["exits"][1]
    assert "two() takes from 1 to 2 positional arguments but 3 were given" in found["many"][1]
    assert found["text"] == (True, {"args": [[1, 2]], "kwargs": {"a": 1}})


def test_templates_of_orchestrations_call_runners_and_wheels(project):
    text = """
{% set ids = salt['saltutil.runner']('manage.present') %}
{% set keys = salt['saltutil.wheel']('key.list', 'accepted') %}
{% for id in ids + keys.minions %}
{{ loop.index }} {{ id }}: {test.nop: []}
{% endfor %}
whole: {test.echo_it: [{text: {{ salt['saltutil.runner']('test.arg', ['1'], {'a': 2}, full_return=True) | tojson }}}]}
within: {module.run: [{saltutil.runner: [{name: test.arg}, {kwarg: {b: 3}}]}]}
"""
    project.write(
        "salt/_states/test.py",
        "def nop(name):\n    return {'name': name, 'result': True, 'changes': {}, 'comment': ''}\n"
        "def echo_it(name, text):\n    return dict(name=name, result=True, changes=text, comment='')\n",
    )
    found = orchestrated(project, text)
    assert {"1 web1", "2 web1"} < set(found)
    assert found["whole"]["changes"]["return"] == {"args": [1], "kwargs": {"a": 2}}
    assert found["whole"]["changes"]["success"] is True
    assert found["within"]["changes"]["saltutil.runner"] == {"args": [], "kwargs": {"b": 3}}


def test_wheel_functions(project):
    text = """
connected: {salt.wheel: [{name: minions.connected}]}
nothing: {salt.wheel: [{name: key.list}]}
other: {salt.wheel: [{name: key.list}, {match: nonsense}]}
wrong: {salt.wheel: [{name: key.list_all}, {nope: 1}]}
"""
    found = {id: (ret["result"], ret["changes"].get("return")) for id, ret in orchestrated(project, text).items()}
    assert found["connected"] == (True, ["web1"]) and found["other"] == (True, {})
    assert found["nothing"][0] is True and "missing 1 required positional argument: 'match'" in found["nothing"][1]
    assert found["wrong"][0] is False


def test_an_orchestration_without_states_has_failed(project):
    project.write("salt/orch.sls", "{}\n")
    done = project.run("orchestrate", "orch", "--out", "json")
    assert done.code == 2 and done.data["retcode"] == 1
