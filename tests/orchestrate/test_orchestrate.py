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
