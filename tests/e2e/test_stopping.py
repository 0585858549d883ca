"""Signals during an apply over real sshds: the first one lets the current state end, the second one kills it."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import pytest

from tests.beds.processes import running, wait_until
from tests.beds.project import Project, values

pytestmark = [pytest.mark.slow, pytest.mark.sshd]

STATES = """
one:
  cmd.run:
    - name: echo one >> {home}/count; while test ! -e {home}/go; do sleep 0.05; done
    - unless: test -e {home}/go
two:
  cmd.run:
    - name: echo two >> {home}/count
three:
  cmd.run:
    - name: echo three >> {home}/count
    - require: [{{cmd: two}}]
follows:
  cmd.run:
    - name: echo follows >> {home}/count
    - onchanges: [{{cmd: one}}]
"""
NOT_RUN = "State was not run because the run was stopped"


@pytest.fixture
def started(make_project, bed):
    """(function, project, home): the function starts an apply, and returns its process once the first state runs."""
    home = bed.targets["t1"].home
    for name in ("count", "go"):
        (home / name).unlink(missing_ok=True)
    project = make_project({"salt/site.sls": STATES.format(home=home)})

    def start(*arguments: str) -> subprocess.Popen[bytes]:
        process = project.start("apply", "--out", "json", *arguments, "site")
        wait_until((home / "count").exists)
        return process

    yield start, project, home
    (home / "go").touch()


@pytest.mark.parametrize("name, code", [("SIGINT", 130), ("SIGTERM", 143)])
def test_the_first_signal_lets_the_state_end(started, name, code):
    start, project, home = started
    process = start("t1")
    process.send_signal(getattr(signal, name))
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(0.5)
    (home / "go").touch()
    done = Project.finish(process)
    assert done.code == code
    rets = values(done.data["t1"])
    assert [(ret["__id__"], ret["result"]) for ret in rets] == [
        ("one", True),
        ("two", False),
        ("three", False),
        ("follows", False),
    ]
    assert all(ret["comment"] == NOT_RUN and ret["__state_ran__"] is False for ret in rets[1:])
    assert (home / "count").read_text() == "one\n"
    wait_until(lambda: not running(f"HOME={home} ", "environ"))

    again = project.json("apply", "t1", "site")  # the reaction to the change of the first state has not run yet
    assert again.code == 0 and "It was due" in str(again.data)


def test_no_further_target_starts(started):
    start, _, home = started
    process = start("--batch", "1", "*")
    process.send_signal(signal.SIGINT)
    (home / "go").touch()
    done = Project.finish(process)
    assert done.code == 130
    assert values(done.data["t1"])[0]["result"] is True
    assert [done.error(id)["kind"] for id in ("t2", "t3")] == ["interrupted"] * 2


def test_a_second_signal_kills_the_state(started):
    start, _, home = started
    process = start("t1")
    process.send_signal(signal.SIGINT)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(0.5)
    process.send_signal(signal.SIGINT)
    done = Project.finish(process)
    assert done.code == 130 and done.error("t1")["kind"] == "interrupted"
    wait_until(lambda: not running(f"HOME={home} ", "environ"))
    assert not list(Path(home, ".cache/pushsalt").glob("jobs"))
