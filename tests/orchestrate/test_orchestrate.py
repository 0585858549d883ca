"""Whole orchestrations by the command line, with targets on this machine."""

from __future__ import annotations

import json

import pytest

from tests.beds.project import Project

HOSTS = {
    "web1": {"transport": "local", "grains": {"role": "web"}},
    "web2": {"transport": "local", "grains": {"role": "web"}},
}


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path, HOSTS)


def steps(done):
    """id -> return of each step of an orchestration."""
    document = done.data
    assert set(document) == {"data", "outputter", "retcode"} and document["outputter"] == "highstate"
    [(master, returns)] = document["data"].items()
    assert master.endswith("_master")
    return {ret["__id__"]: ret for ret in returns.values()}


def test_steps_run_in_order_and_see_pillar(project, tmp_path):
    project.files(
        {
            "salt/orch.sls": f"""
both:
  salt.state:
    - tgt: 'web*'
    - sls: note
    - pillar: {{word: {{{{ pillar['word'] }}}}}}
echo:
  salt.function:
    - name: test.echo
    - tgt: web1
    - arg: [after]
    - require: [salt: both]
here:
  file.managed:
    - name: {tmp_path}/here
    - contents: {{{{ grains['id'] }}}}
""",
            "salt/note.sls": f"note:\n  file.managed:\n    - name: {tmp_path}/{{{{ grains['id'] }}}}\n"
            "    - contents: {{ pillar['word'] }}\n",
        }
    )
    done = project.run("orchestrate", "orch", "--pillar", "{word: hello}", "--out", "json")
    assert done.code == 0, done.err
    found = steps(done)
    assert found["both"]["comment"].startswith("States ran successfully. Updating web")
    assert found["echo"]["changes"] == {"ret": {"web1": "after"}}
    assert (tmp_path / "web1").read_text() == (tmp_path / "web2").read_text() == "hello\n"
    assert (tmp_path / "here").read_text().strip().endswith("_master")
    assert done.data["retcode"] == 0


def test_a_failure_is_exit_2_and_stops_what_requires_it(project):
    project.write(
        "salt/orch.sls",
        """
bad:
  salt.function:
    - name: test.false
    - tgt: web1
after:
  salt.function:
    - name: test.ping
    - tgt: web1
    - require: [salt: bad]
""",
    )
    done = project.run("orchestrate", "orch", "--out", "json")
    assert done.code == 2
    found = steps(done)
    assert found["bad"]["result"] is False and found["after"]["__state_ran__"] is False
    assert done.data["retcode"] == 1


def test_a_dry_run_changes_nothing(project, tmp_path):
    project.files(
        {
            "salt/orch.sls": "one:\n  salt.state:\n    - tgt: web1\n    - sls: note\n",
            "salt/note.sls": f"note:\n  file.managed:\n    - name: {tmp_path}/note\n    - contents: x\n",
        }
    )
    done = project.run("orchestrate", "orch", "--test", "--out", "json")
    assert done.code == 0 and steps(done)["one"]["result"] is None
    assert not (tmp_path / "note").exists()


def test_parallel_steps_run_at_the_same_time(project, tmp_path):
    """Each step waits for the other's file: in sequence, both would fail."""
    meet = "touch {dir}/{mine}; for i in $(seq 200); do test -e {dir}/{other} && exit 0; sleep 0.1; done; exit 1"
    text = "".join(
        f"{mine}:\n  salt.function:\n    - name: cmd.retcode\n    - tgt: {mine}\n    - parallel: True\n"
        f"    - arg: [{json.dumps(meet.format(dir=tmp_path, mine=mine, other=other))}]\n"
        "    - kwarg: {python_shell: True}\n"
        for mine, other in (("web1", "web2"), ("web2", "web1"))
    )
    project.write("salt/orch.sls", text)
    done = project.run("orchestrate", "orch", "--out", "json")
    assert done.code == 0, done.out
    assert steps(done)["web1"]["changes"] == {"ret": {"web1": 0}}


def test_only_an_orchestration_may_run_jobs(project):
    """A target that asks the controller to run a job on others is refused."""
    project.write("salt/plain.sls", "one:\n  salt.function:\n    - name: test.ping\n    - tgt: web2\n")
    done = project.run("apply", "web1", "plain", "--out", "json")
    [ret] = done.data["web1"].values()
    assert (
        done.code == 2 and ret["result"] is False and ret["comment"] == "only a step of an orchestration may ask for it"
    )


def test_a_wrong_name_of_an_orchestration(project):
    done = project.run("orchestrate", "nothere", "--out", "json")
    [errors] = done.data["data"].values()
    assert done.code == 2 and errors == ["No matching sls found for 'nothere' in env 'base'"]


def test_unknown_runner_and_wheel_functions_are_failures(project):
    project.write(
        "salt/orch.sls",
        "a:\n  salt.runner:\n    - name: no.such\nb:\n  salt.wheel:\n    - name: key.accept\n    - match: web1\n",
    )
    found = steps(project.run("orchestrate", "orch", "--out", "json"))
    assert "no.such" in found["a"]["comment"] and "key.accept" in found["b"]["comment"]
    assert found["a"]["result"] is found["b"]["result"] is False


def test_people_see_each_step(project):
    project.write("salt/orch.sls", "ask:\n  salt.function:\n    - name: test.echo\n    - tgt: web1\n    - arg: [hi]\n")
    done = project.run("orchestrate", "orch")
    assert done.code == 0 and "_master" in done.out and "ask" in done.out and "web1: hi" in done.out


def test_only_events_since_the_begin_of_a_wait_count(project):
    """As in Salt; a parallel one begins before the steps after it."""
    wait = "{id}:\n  salt.wait_for_event:\n    - name: app/*\n    - id_list: [{ids}]\n    - timeout: {timeout}\n"
    send = "{id}:\n  salt.runner:\n    - name: event.send\n    - tag: app/x\n    - data: {{id: web1}}\n"
    text = (
        send.format(id="early")
        + wait.format(id="missed", ids="web1", timeout=1)
        + wait.format(id="none", ids="", timeout=1)
        + wait.format(id="seen", ids="web1", timeout=60)
        + "    - parallel: True\n"
        + send.format(id="late")
        + wait.format(id="wrong", ids="web1", timeout="soon")
    )
    project.write("salt/orch.sls", text)
    done = project.run("orchestrate", "orch", "--out", "json")
    found = steps(done)
    assert found["missed"]["result"] is found["none"]["result"] is False
    assert found["missed"]["comment"] == found["none"]["comment"] == "Timeout value reached."
    assert found["seen"]["result"] is True and found["seen"]["changes"] == {"minions_seen": ["web1"]}
    assert found["wrong"]["comment"] == "timeout: 'soon' is not a number of seconds" and done.code == 2


def test_states_know_the_orchestration(project):
    """``__orchestration_jid__`` is its JID, and not defined for states of targets; unknown arguments do no harm."""
    own = (
        "def told(name):\n    jid = globals().get('__orchestration_jid__', 'none')\n"
        "    return {'name': name, 'changes': {}, 'result': True, 'comment': str(jid)}\n"
    )
    orch = "here:\n  own.told: []\nthere:\n  salt.state:\n    - tgt: web1\n    - sls: told\n    - some_argument: 1\n"
    project.files({"salt/_states/own.py": own, "salt/orch.sls": orch, "salt/told.sls": "there:\n  own.told: []\n"})
    done = project.run("orchestrate", "orch", "--out", "json")
    assert done.code == 0, done.out
    found = steps(done)
    jobs = json.loads(project.run("jobs", "list", "--out", "json").out)
    [job] = [one["jid"] for one in jobs if one["fun"].startswith("runner.")]
    assert found["here"]["comment"] == job
    shown = project.run("jobs", "show", found["there"]["__jid__"], "--out", "json").data
    [ret] = shown["Result"]["web1"]["return"].values()
    assert ret["comment"] == "none"


def test_a_wrong_inventory_is_an_error_of_the_command(project):
    project.write("inventory.yaml", "hosts: [web1\n")
    done = project.run("orchestrate", "orch", "--out", "json")
    assert done.code == 1 and done.out == "" and "inventory.yaml" in done.err


RUNNERS = """
def boom():
    raise ValueError("no luck")

def said():
    return {"success": False}

def code():
    __context__["retcode"] = 3
    return "ended with 3"

def states(result):
    return {"data": {"here": {"a": {"result": result}}}}

def good(a=1):
    return a
"""

#: id of a step -> its runner, and its other arguments
CALLS = {
    "boom": ("own.boom", {}),
    "said": ("own.said", {}),
    "code": ("own.code", {}),
    "states": ("own.states", {"result": True}),
    "bad states": ("own.states", {"result": False}),
    "wrong argument": ("own.good", {"b": 2}),
    "inner": ("state.orchestrate", {"mods": "inner"}),
    "inner without": ("state.orchestrate", {"mods": "inner", "exclude": [{"id": "bad"}]}),
    "not there": ("state.orchestrate", {"mods": "nowhere"}),
}


def test_success_of_runners_is_that_of_salt(project):
    """By the states in ``data`` of the return, or ``__context__['retcode']``; an exception is the return."""
    steps_of = {
        id: {"salt.runner": [{"name": name}, *({key: value} for key, value in more.items())]}
        for id, (name, more) in CALLS.items()
    }
    parallel = {"a": [{"name": "own.good"}], "b": [{"name": "state.orchestrate"}, {"kwarg": {"mods": "inner"}}]}
    steps_of["mixed"] = {"salt.parallel_runners": [{"runners": parallel}, {"other": 1}]}
    inner = "bad: {test.fail_without_changes: []}\ngood: {test.nop: []}\n"
    files = {"salt/orch.sls": json.dumps(steps_of), "salt/inner.sls": inner, "salt/_runners/own.py": RUNNERS}
    project.files(files)
    done = project.run("orchestrate", "orch", "--out", "json")
    found = steps(done)
    good = {id for id, ret in found.items() if ret["result"] is True}
    assert done.code == 2 and good == {"said", "states", "inner without"}
    assert found["boom"]["comment"] == "Runner function 'own.boom' failed."
    said = found["boom"]["changes"]["return"]
    assert said.startswith("Exception occurred in runner own.boom: ValueError: no luck")
    assert found["wrong argument"]["comment"] == "The following keyword arguments are not valid: b=2"
    assert found["inner"]["comment"] == "Runner function 'state.orchestrate' failed."
    assert found["mixed"]["comment"] == "Runner b failed."
    assert project.run("runner", "state.orchestrate", "inner").code == 2


def test_batches_are_those_of_salt(project):
    """A job in batches is for all targets, whatever ``subset`` says, and has no exit codes of functions."""
    text = "{id}:\n  salt.function:\n    - name: cmd.run\n    - tgt: '*'\n    - arg: ['exit 3']\n    - {more}\n"
    plain = text.format(id="plain", more="subset: 1")
    batch = text.format(id="batch", more="batch: 1") + "    - subset: 1\n"
    project.write("salt/orch.sls", plain + batch)
    found = steps(project.run("orchestrate", "orch", "--out", "json"))
    assert found["plain"]["result"] is False and len(found["plain"]["changes"]["ret"]) == 1
    assert found["batch"]["result"] is True and len(found["batch"]["changes"]["ret"]) == 2
