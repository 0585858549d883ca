"""Programs that a template or an external pillar has started end with the command, also if it is interrupted."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from pushsalt.cli.job import EXIT_OF_SIGNAL
from tests.beds.project import Project

pytestmark = pytest.mark.slow

ROOT = str(Path(__file__).parents[2])
PY = """#!py
import subprocess
def run():
    subprocess.run(["sh", "-c", "echo $$ > {0}/new; mv {0}/new {0}/pid; sleep 60; true"])
    return {{}}
"""
PROGRAM = "sh -c 'echo $$ > {0}/new; mv {0}/new {0}/pid; sleep 60; echo {{}}'"


def until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)


def alive(pid: int) -> bool:
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


def children_of(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@pytest.fixture
def project(tmp_path: Path) -> Project:
    program = PROGRAM.format(tmp_path)
    project = Project(tmp_path, {"here": {"transport": "local"}, "other": {"transport": "local"}})
    project.write("salt/py.sls", PY.format(tmp_path))
    project.write("slow.yaml", f"ext_pillar: [{{cmd_yaml: {program!r}}}]\n")
    return project


STOPPED = {
    "a template": ["apply", "here", "py"],
    "an external pillar": ["-c", "slow.yaml", "-i", "inventory.yaml", "run", "here", "pillar.items"],
}


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="it looks for processes in /proc")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL], ids=lambda one: one.name)
@pytest.mark.parametrize("whose", list(STOPPED))
def test_they_end_with_it(project, tmp_path, whose, number):
    environ = {**os.environ, "PYTHONPATH": ROOT, "PUSHSALT_CACHE": str(tmp_path / "cache"), "HOME": str(tmp_path)}
    command = [sys.executable, "-m", "pushsalt", *STOPPED[whose]]
    with subprocess.Popen(
        command, cwd=project.folder, env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        until((tmp_path / "pid").exists)
        shell = int((tmp_path / "pid").read_text())
        until(lambda: bool(children_of(shell)))
        [sleep] = children_of(shell)
        process.send_signal(number)
        process.wait(30)
    until(lambda: not alive(shell) and not alive(sleep))
    assert process.returncode in (128 + number, -number)


ALONE = "#!/bin/sh\necho $$ > {0}/new; mv {0}/new {0}/pid; exec sleep 60\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL], ids=lambda one: one.name)
@pytest.mark.parametrize("whose", ["an inventory", "a password"])
def test_one_that_may_ask_at_the_terminal_ends_with_it(tmp_path, whose, number):
    project = Project(
        tmp_path, {"t": {"host": "127.0.0.1", "port": 9, "passwd_command": f"{tmp_path}/project/program"}}
    )
    program = project.write("program", ALONE.format(tmp_path))
    program.chmod(0o755)
    named = ["-i", str(program)] if whose == "an inventory" else ["-i", "inventory.yaml"]
    environ = {**os.environ, "PYTHONPATH": ROOT, "PUSHSALT_CACHE": str(tmp_path / "cache"), "HOME": str(tmp_path)}
    command = [sys.executable, "-m", "pushsalt", *named, "run", "t", "test.ping"]
    with subprocess.Popen(
        command, cwd=project.folder, env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:
        until((tmp_path / "pid").exists)
        pid = int((tmp_path / "pid").read_text())
        process.send_signal(number)
        said = process.communicate(timeout=30)[1]
    until(lambda: not alive(pid))
    assert process.returncode in (EXIT_OF_SIGNAL.get(number), -number)
    assert "Traceback" not in said and "never retrieved" not in said
    if whose == "an inventory" and number != signal.SIGKILL:
        assert f"error: stopped by {number.name} while a program of the inventory ran" in said


def test_they_end_with_the_time_of_the_command(project, tmp_path):
    done = project.json("apply", "here", "py", "--timeout", "8")
    assert done.data["here"]["error"]["kind"] == "timeout"
    shell = int((tmp_path / "pid").read_text())
    until(lambda: not alive(shell))
