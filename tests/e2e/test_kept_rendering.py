"""Render processes of a kept session are forked from a waiting process, and behave like those of a single command."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

from tests.beds.keeping import keeping
from tests.beds.processes import children, cmdline, wait_until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.sshd,
    pytest.mark.skipif(not Path("/proc/self").exists(), reason="finds processes in /proc"),
]

#: Returns properties of the render process, and changes its state.
PILLAR = """#!py
import os
import sys

def run():
    values = {
        "here": os.getcwd(),
        "mask": os.umask(0o77),
        "env": dict(os.environ),
        "path": list(sys.path),
        "left": getattr(sys, "left", None),
        "parents": [os.getppid(), int(open("/proc/%d/stat" % os.getppid()).read().rpartition(")")[2].split()[1])],
        "session": os.getsid(0),
    }
    sys.left = os.environ["LEFT"] = "something"
    return {"process": values}
"""


@pytest.fixture
def session(make_project):
    project = make_project({"pillar/top.sls": "base:\n  '*': [process]\n", "pillar/process.sls": PILLAR})
    settings = json.loads((project.folder / "pushsalt.yaml").read_text())
    project.write("pushsalt.yaml", json.dumps({**settings, "session": "5m"}))
    with keeping(project) as session:
        assert project.run("run", "t1", "test.ping").code == 0
        yield session


def render_process(session, *options, **kwargs):
    arguments = ("--out", "json", *options, "run", "t1", "pillar.get", "process", "unmask=True")
    done = session.project.run(*arguments, **kwargs)
    assert done.code == 0, (done.out, done.err)
    return done.data["t1"]


def waiting_process(session):
    """The process id of the waiting process, from which render processes are forked; None without one."""
    pids = [pid for pid in children(session.pid) if b"children.kept" in cmdline(pid)]
    return pids[0] if pids else None


def test_a_render_process_is_forked_from_the_waiting_process(session):
    wait_until(lambda: waiting_process(session))
    properties = render_process(session)
    assert properties["parents"][1] == waiting_process(session)
    assert render_process(session, "--session", "0")["parents"][1] != waiting_process(session)


def test_folder_umask_and_environment_are_those_of_the_command(session):
    wait_until(lambda: waiting_process(session))
    session.project.variables["SOME_TOKEN"] = "secret"
    session.project.variables["TZ"] = "Asia/Tokyo"
    folder = session.project.folder / "salt"
    mask = os.umask(0o027)
    try:
        with_session = render_process(session, "-c", "../pushsalt.yaml", "-i", "../inventory.yaml", cwd=folder)
        without_session = render_process(
            session, "--session", "0", "-c", "../pushsalt.yaml", "-i", "../inventory.yaml", cwd=folder
        )
    finally:
        os.umask(mask)
    assert {name: with_session[name] for name in ("here", "mask", "env", "path", "left")} == {
        name: without_session[name] for name in ("here", "mask", "env", "path", "left")
    }
    assert with_session["here"] == str(folder) and with_session["mask"] == 0o027
    assert with_session["env"]["TZ"] == "Asia/Tokyo"
    assert "SOME_TOKEN" not in with_session["env"]


def test_a_command_does_not_see_the_state_of_an_earlier_one(session):
    wait_until(lambda: waiting_process(session))
    for _ in range(2):
        properties = render_process(session)
        assert properties["left"] is None and "LEFT" not in properties["env"]
    wait_until(lambda: not children(waiting_process(session)))


def test_commands_start_their_own_process_when_the_waiting_one_was_killed(session):
    wait_until(lambda: waiting_process(session))
    before = waiting_process(session)
    os.kill(before, signal.SIGKILL)
    wait_until(lambda: not waiting_process(session))
    assert render_process(session)["parents"][1] != before
    assert session.project.json("run", "t1", "test.ping").data == {"t1": True}


def test_the_waiting_process_ends_with_the_broker(session):
    wait_until(lambda: waiting_process(session))
    pid = waiting_process(session)
    os.kill(session.pid, signal.SIGKILL)
    wait_until(lambda: not Path(f"/proc/{pid}").exists())


def test_a_killed_command_leaves_no_process(session):
    wait_until(lambda: waiting_process(session))
    started = session.project.folder / "begun"
    session.project.write(
        "pillar/process.sls", f"#!py\nimport time\ndef run():\n    open({str(started)!r}, 'w')\n    time.sleep(600)\n"
    )
    client = session.project.start("run", "t1", "pillar.items")
    wait_until(started.exists)
    assert children(waiting_process(session))
    client.kill()
    client.communicate()
    wait_until(lambda: not children(waiting_process(session)))


def test_a_changed_configuration_is_used(session):
    settings = json.loads((session.project.folder / "pushsalt.yaml").read_text())
    session.project.write("pillar/process.sls", "process: one\n")
    session.project.files({"other/top.sls": "base:\n  '*': [process]\n", "other/process.sls": "process: other\n"})
    assert render_process(session) == "one"
    session.project.write("pushsalt.yaml", json.dumps({**settings, "pillar_roots": {"base": ["other"]}}))
    assert render_process(session) == "other"


def test_changed_templates_and_their_imports_are_used(session):
    session.project.write("pillar/process.sls", "process: 1\n")
    session.project.write("salt/a.sls", "{% from 'map.jinja' import name %}\n{{ name }}:\n  test.nop: []\n")
    for name in ("one", "two"):
        session.project.write("salt/map.jinja", f"{{% set name = '{name}' %}}\n")
        done = session.project.json("apply", "t1", "a")
        assert [ret["__id__"] for ret in done.data["t1"].values()] == [name], done.err


def test_a_changed_renderer_is_used(session):
    session.project.write("pillar/process.sls", "#!own\n")
    for text in ("one", "two"):
        renderer = f"def render(*args, **kwargs):\n    return {{'process': {text!r}}}\n"
        session.project.write("salt/_renderers/own.py", renderer)
        assert render_process(session) == text
