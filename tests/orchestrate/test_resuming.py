"""Orchestrations in the record of jobs, ``--resume``, and stopping in two steps."""

from __future__ import annotations

import json
import os
import signal
import time

import pytest

from tests.beds.project import Project

pytestmark = pytest.mark.slow

#: Appends a line to a file for each run.
NOTE = """
{id}:
  salt.function:
    - name: cmd.run
    - tgt: {tgt}
    - arg: ['echo {id} >> {folder}/ran; {more}']
    - kwarg: {{python_shell: True}}
"""


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path, {"web1": {"transport": "local"}, "web2": {"transport": "local"}})


def step(tmp_path, id, more="true", requisite="", tgt="web1"):
    text = NOTE.format(id=id, tgt=tgt, folder=tmp_path, more=more)
    return text + (f"    - {requisite}\n" if requisite else "")


def ran(tmp_path):
    path = tmp_path / "ran"
    return path.read_text().split() if path.exists() else []


def returns_of(done):
    [returns] = done.data["data"].values()
    return {ret["__id__"]: ret for ret in returns.values()}


def failing(project, tmp_path, *more):
    """Three steps in order: one, two (which fails until a file exists), three."""
    texts = [
        step(tmp_path, "one"),
        step(tmp_path, "two", f"test -e {tmp_path}/mended", "require: [salt: one]"),
        step(tmp_path, "three", "true", "require: [salt: two]"),
    ]
    project.write("salt/orch.sls", "".join([*texts, *more]))


def orchestration(project):
    """The output of ``jobs show`` for the only recorded orchestration."""
    rows = json.loads(project.run("jobs", "list", "--fun", "runner.*", "--out", "json").out)
    assert len(rows) == 1
    return project.run("jobs", "show", rows[0]["jid"], "--out", "json").data


def test_an_orchestration_is_kept_with_the_jobs_of_its_steps(project, tmp_path):
    project.write("salt/orch.sls", step(tmp_path, "one") + step(tmp_path, "two", tgt="'*'"))
    done = project.run("orchestrate", "orch", "--out", "json")
    assert done.code == 0, done.err
    kept = orchestration(project)
    assert (kept["fun"], kept["arg"], kept["state"], kept["exit_code"]) == (
        "runner.state.orchestrate",
        ["orch"],
        "done",
        0,
    )
    assert [(each["name"], each["fun"], each["tgt"]) for each in kept["Steps"]] == [
        ("one", "cmd.run", "web1"),
        ("two", "cmd.run", "*"),
    ]
    for each in kept["Steps"]:
        assert returns_of(done)[each["name"]]["__jid__"] == each["jid"]
        assert project.run("jobs", "show", each["jid"], "--out", "json").data["fun"] == "cmd.run"
    [master] = kept["Minions"]
    assert kept["Result"][master]["return"] == done.data["data"][master]
    shown = project.run("jobs", "show", kept["jid"]).out
    assert all(f"step {each['name']}: job {each['jid']}, cmd.run on {each['tgt']}" in shown for each in kept["Steps"])


def test_resume_goes_on_at_the_step_that_failed(project, tmp_path):
    failing(project, tmp_path)
    first = project.run("orchestrate", "orch", "--pillar", "{word: x}", "--out", "json")
    assert first.code == 2 and ran(tmp_path) == ["one", "two"]
    kept = orchestration(project)
    (tmp_path / "mended").touch()
    done = project.run("orchestrate", "--resume", kept["jid"], "--out", "json")
    assert done.code == 0, done.err
    assert ran(tmp_path) == ["one", "two", "two", "three"]
    found = returns_of(done)
    assert [found[id]["result"] for id in ("one", "two", "three")] == [True, True, True]
    assert found["one"]["__jid__"] == returns_of(first)["one"]["__jid__"]
    assert sorted(ret["__run_num__"] for ret in found.values()) == [0, 1, 2]
    after = orchestration(project)
    assert (after["jid"], after["state"], after["exit_code"], after["failed"]) == (kept["jid"], "done", 0, 0)
    assert len(after["Steps"]) == 4


def test_jobs_resume_is_the_same(project, tmp_path):
    failing(project, tmp_path)
    project.run("orchestrate", "orch", "--out", "json")
    (tmp_path / "mended").touch()
    assert project.run("jobs", "resume", orchestration(project)["jid"], "--out", "json").code == 0
    assert ran(tmp_path) == ["one", "two", "two", "three"]


@pytest.mark.parametrize("mended", [True, False])
def test_a_step_that_reacts_to_the_failure_is_looked_at_again(project, tmp_path, mended):
    failing(project, tmp_path, step(tmp_path, "undo", "true", "onfail: [salt: two]"))
    assert project.run("orchestrate", "orch", "--out", "json").code == 2
    assert ran(tmp_path) == ["one", "two", "undo"]
    if mended:
        (tmp_path / "mended").touch()
    done = project.run("orchestrate", "--resume", orchestration(project)["jid"], "--out", "json")
    assert ran(tmp_path)[3:] == (["two", "three"] if mended else ["two", "undo"])
    assert returns_of(done)["undo"]["result"] is True
    assert done.code == (0 if mended else 2)


def test_resume_after_a_kill(project, tmp_path):
    """The return of each step is recorded at once: the killed process has not recorded an end."""
    wait = f"test -e {tmp_path}/mended || {{ touch {tmp_path}/at; exec sleep 60; }}"
    project.write(
        "salt/orch.sls",
        step(tmp_path, "one") + step(tmp_path, "two", wait) + step(tmp_path, "three"),
    )
    process = project.start("orchestrate", "orch")
    waited(tmp_path / "at")
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    kept = orchestration(project)
    assert kept["state"] == "lost" and [each["name"] for each in kept["Steps"]] == ["one", "two"]
    (tmp_path / "mended").touch()
    done = project.run("orchestrate", "--resume", kept["jid"], "--out", "json")
    assert done.code == 0, done.err
    assert ran(tmp_path) == ["one", "two", "two", "three"]
    assert len(returns_of(done)) == 3 and orchestration(project)["state"] == "done"


@pytest.mark.parametrize(
    "words, text",
    [
        (["--resume", "20260101000000000000"], "no kept job"),
        ([], "no SLS is named"),
    ],
)
def test_what_cannot_be_gone_on_with_is_said(project, words, text):
    done = project.run("orchestrate", *words)
    assert done.code == 1 and text in done.err


def test_only_an_orchestration_is_gone_on_with(project, tmp_path):
    assert project.run("run", "web1", "test.ping").code == 0
    done = project.run("orchestrate", "--resume", "last")
    assert done.code == 1 and "is no orchestration" in done.err and "jobs resume" in done.err
    failing(project, tmp_path)
    project.run("orchestrate", "orch")
    jid = orchestration(project)["jid"]
    done = project.run("orchestrate", "other", "--resume", jid)
    assert done.code == 1 and "is one of orch, not of other" in done.err
    done = project.run("apply", "--rerun-failed", jid)
    assert done.code == 1 and f"orchestrate --resume {jid}" in done.err


def test_the_first_signal_lets_the_state_under_way_end(project, tmp_path):
    """The state that runs on the target ends; its later states and the later steps do not begin."""
    hold = f"touch {tmp_path}/at; while test ! -e {tmp_path}/go; do sleep 0.05; done; echo held >> {tmp_path}/ran"
    states = {
        "first": {"cmd.run": [{"name": hold}]},
        "second": {"cmd.run": [{"name": f"echo second >> {tmp_path}/ran"}]},
    }
    project.files(
        {
            "salt/held.sls": json.dumps(states),
            "salt/orch.sls": step(tmp_path, "one")
            + "two:\n  salt.state:\n    - tgt: web1\n    - sls: held\n"
            + step(tmp_path, "three"),
        }
    )
    process = project.start("orchestrate", "orch", "--out", "json")
    waited(tmp_path / "at")
    process.send_signal(signal.SIGINT)
    said(project, process)
    (tmp_path / "go").touch()
    done = project.finish(process)
    assert done.code == 130, done.err
    assert ran(tmp_path) == ["one", "held"]
    found = returns_of(done)
    assert found["one"]["result"] is True
    assert [found[id]["result"] for id in ("two", "three")] == [False, False]
    assert "the run was stopped" in found["three"]["comment"]
    kept = orchestration(project)
    assert (kept["state"], kept["exit_code"]) == ("interrupted", 130)
    done = project.run("orchestrate", "--resume", kept["jid"], "--out", "json")
    assert done.code == 0, done.out
    assert ran(tmp_path) == ["one", "held", "held", "second", "three"]


def test_a_function_that_has_no_end_is_stopped_by_the_first_signal(project, tmp_path):
    project.write(
        "salt/orch.sls",
        step(tmp_path, "one", f"touch {tmp_path}/at; exec sleep 60") + step(tmp_path, "two"),
    )
    process = project.start("orchestrate", "orch", "--out", "json")
    waited(tmp_path / "at")
    process.send_signal(signal.SIGTERM)
    done = project.finish(process)
    assert done.code == 143 and ran(tmp_path) == ["one"]
    found = returns_of(done)
    assert found["one"]["result"] is False and found["two"]["result"] is False


def test_the_second_signal_stops_a_runner_that_goes_on(project, tmp_path):
    project.write(
        "salt/_runners/slow.py",
        f"import pathlib, time\ndef go():\n    pathlib.Path('{tmp_path}/at').touch()\n    time.sleep(60)\n",
    )
    project.write("salt/orch.sls", "slow.go:\n  salt.runner: []\n" + step(tmp_path, "after"))
    process = project.start("orchestrate", "orch", "--out", "json")
    waited(tmp_path / "at")
    process.send_signal(signal.SIGINT)
    said(project, process)
    process.send_signal(signal.SIGINT)
    done = project.finish(process, timeout=30)
    assert done.code == 130 and ran(tmp_path) == []
    assert orchestration(project)["state"] == "interrupted"


def waited(path):
    for _ in range(600):
        if path.exists():
            return
        time.sleep(0.05)
    raise AssertionError(f"{path} never came")


def said(project, process):
    """Wait until the command has received the signal: the handler prints a message within 0.1 s."""
    time.sleep(0.5)
    assert process.poll() is None
