"""The events of an orchestration's steps: arguments, failed states, wheel functions. Recorded from Salt 3008.3."""

from __future__ import annotations

import json

import pytest

from tests.beds.project import Project

DATA = {"arg": [], "ret": "", "timeout": None, "tgt_type": "glob", "ssh": False}


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path, {"web1": {"transport": "local"}})


def events(project, glob):
    done = project.run("events", glob, "--out", "ndjson")
    assert done.code == 0, done.err
    return [(event["tag"], event["data"]) for event in map(json.loads, done.out.splitlines())]


def orchestrated(project, text, *more):
    """Run an orchestration. Returns its JID."""
    project.write("salt/orch.sls", text)
    project.run("orchestrate", "orch", "--out", "json", *more)
    [(tag, _)] = [each for each in events(project, "salt/run/*/new") if "orch" in each[1]["fun_args"]]
    return tag.split("/")[2]


def test_each_step_has_an_event_of_its_arguments(project):
    text = """
one:
  salt.function: [{name: test.echo}, {tgt: web1}, {arg: [x]}, {kwarg: {}}, {failhard: True}]
two:
  salt.state: [{tgt: 'no*'}, {sls: [a, b]}, {pillar: {n: 1}}, {subset: 1}, {expect_minions: False}]
three:
  salt.runner: [{name: test.arg}, {arg: [1]}, {kwarg: {k: v}}, {m: n}]
four:
  salt.wheel: [{name: key.list}, {match: accepted}]
"""
    jid = orchestrated(project, text)
    found = events(project, "salt/run/*/args")
    assert {tag for tag, _ in found} == {f"salt/run/{jid}/args"}
    one = {**DATA, "arg": ["x"], "kwarg": {}, "expect_minions": False, "_cmd_meta": True, "failhard": True}
    kwarg = {"pillar": {"n": 1}, "queue": False, "concurrent": False}
    two = {**DATA, "arg": ["a,b"], "kwarg": kwarg, "subset": 1, "expect_minions": False}
    assert [data for _, data in found] == [
        {"type": "function", "tgt": "web1", "name": "test.echo", "args": one},
        {"type": "state", "tgt": "no*", "name": "two", "args": two},
        {"type": "runner", "name": "test.arg", "args": [1], "kwargs": {"k": "v", "m": "n"}},
        {"type": "wheel", "name": "key.list", "args": {"match": "accepted"}},
    ]


def test_a_dry_run_has_events_of_states_only(project):
    project.write("salt/nop.sls", "a: {test.nop: []}\n")
    text = """
one: {salt.function: [{name: test.ping}, {tgt: web1}]}
two: {salt.state: [{tgt: web1}, {sls: nop}]}
three: {salt.runner: [{name: test.arg}]}
four: {salt.wheel: [{name: key.list_all}]}
"""
    orchestrated(project, text, "--test")
    [(_, data)] = events(project, "salt/run/*/args")
    assert data["type"] == "state" and data["args"]["kwarg"]["test"] is True
    assert events(project, "salt/wheel/*") == []


def test_arguments_of_inner_steps_have_the_outer_jid(project):
    """As in Salt, where ``__orchestration_jid__`` is that of the outermost orchestration."""
    ids = "def show(name):\n    return dict(name=name, result=True, changes={}, comment=str(__orchestration_jid__))\n"
    project.files(
        {"salt/_states/ids.py": ids, "salt/inner.sls": "a: {salt.runner: [{name: test.arg}]}\nb: {ids.show: []}\n"}
    )
    text = "go:\n  salt.runner: [{name: state.orchestrate}, {mods: inner}]\n"
    jid = orchestrated(project, text)
    outer, inner = events(project, "salt/run/*/args")
    assert outer[0] == inner[0] == f"salt/run/{jid}/args"
    assert outer[1]["kwargs"] == {"mods": "inner", "saltenv": "base", "orchestration_jid": jid}
    ends = [data for _, data in events(project, "salt/run/*/ret") if "inner" in data["fun_args"]]
    [states] = ends[0]["return"]["data"].values()
    assert states["ids_|-b_|-b_|-show"]["comment"] == jid and ends[0]["jid"] != jid


def test_wheel_functions_have_events(project):
    orchestrated(
        project, "a: {salt.wheel: [{name: key.list_all}]}\nb: {salt.wheel: [{name: key.accept}, {match: web1}]}\n"
    )
    found = events(project, "salt/wheel/*")
    assert [tag.rpartition("/")[2] for tag, _ in found] == ["new", "ret", "new", "ret"]
    assert [data["fun"] for _, data in found] == ["wheel.key.list_all"] * 2 + ["wheel.key.accept"] * 2
    assert found[1][1]["success"] is True and found[1][1]["return"]["minions"] == ["web1"]
    assert found[3][1]["success"] is False and found[3][1]["fun_args"] == [{"match": "web1"}]


def test_failed_states_are_events(project):
    project.write("salt/bad.sls", "a: {test.fail_without_changes: []}\nb: {test.nop: []}\n")
    assert project.run("run", "web1", "state.sls", "bad").code == 2
    [(tag, data)] = events(project, "salt/job/*/sub/*")
    assert tag == f"salt/job/{data['jid']}/sub/web1/error/state.sls"
    wanted = {"id": "web1", "success": False, "retcode": 2, "fun": "state.sls", "result": False, "__id__": "a"}
    assert wanted.items() <= data.items() and data["return"] == "Error: test.fail_without_changes"


def test_secrets_are_not_in_events_of_arguments(project):
    text = "a:\n  salt.function: [{name: test.ping}, {tgt: 'no*'}, {kwarg: {password: s3cr3t-word}}]\n"
    orchestrated(project, text)
    assert len(events(project, "salt/run/*/args")) == 1
    for path in (project.cache / "events").iterdir():
        assert b"s3cr3t-word" not in path.read_bytes()
