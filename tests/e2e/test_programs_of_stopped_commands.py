"""Programs that a template or an external pillar has started end with the command, even if it is interrupted."""

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
from tests.beds.processes import is_alive
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


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, "the condition is not met"
        time.sleep(0.02)


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
@pytest.mark.parametrize(
    "signal_number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL], ids=lambda signal_number: signal_number.name
)
@pytest.mark.parametrize("origin", list(STOPPED))
def test_programs_end_with_an_interrupted_command(project, tmp_path, origin, signal_number):
    environ = {**os.environ, "PYTHONPATH": ROOT, "PUSHSALT_CACHE": str(tmp_path / "cache"), "HOME": str(tmp_path)}
    command = [sys.executable, "-m", "pushsalt", *STOPPED[origin]]
    with subprocess.Popen(
        command, cwd=project.folder, env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        wait_until((tmp_path / "pid").exists)
        shell = int((tmp_path / "pid").read_text())
        wait_until(lambda: bool(children_of(shell)))
        [sleep] = children_of(shell)
        process.send_signal(signal_number)
        process.wait(30)
    wait_until(lambda: not is_alive(shell) and not is_alive(sleep))
    assert process.returncode in (128 + signal_number, -signal_number)


ALONE = "#!/bin/sh\necho $$ > {0}/new; mv {0}/new {0}/pid; exec sleep 60\n"
WITH_CHILD = "#!/bin/sh\necho $$ > {0}/new; mv {0}/new {0}/pid; sleep 60\n:\n"


@pytest.mark.parametrize(
    "signal_number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL], ids=lambda signal_number: signal_number.name
)
@pytest.mark.parametrize("origin", ["an inventory", "a password"])
def test_an_inventory_or_password_program_ends_with_the_command(tmp_path, origin, signal_number):
    stderr = stopped(tmp_path, ALONE, origin, signal_number)
    if origin == "an inventory" and signal_number != signal.SIGKILL:
        assert f"error: stopped by {signal_number.name} while a program of the inventory ran" in stderr


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="it looks for processes in /proc")
@pytest.mark.parametrize("signal_number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
@pytest.mark.parametrize("origin", ["an inventory", "a password"])
def test_programs_that_these_started_end_too(tmp_path, origin, signal_number):
    """They run at the terminal, so they have no process group that the kernel could kill."""
    stopped(tmp_path, WITH_CHILD, origin, signal_number)


def stopped(tmp_path: Path, script: str, origin: str, number: signal.Signals) -> str:
    """Send a signal to a command whose inventory or password is the script, and return its stderr; nothing is left."""
    project = Project(
        tmp_path, {"t": {"host": "127.0.0.1", "port": 9, "passwd_command": f"{tmp_path}/project/program"}}
    )
    program = project.write("program", script.format(tmp_path))
    program.chmod(0o755)
    options = ["-i", str(program)] if origin == "an inventory" else ["-i", "inventory.yaml"]
    environ = {**os.environ, "PYTHONPATH": ROOT, "PUSHSALT_CACHE": str(tmp_path / "cache"), "HOME": str(tmp_path)}
    command = [sys.executable, "-m", "pushsalt", *options, "run", "t", "test.ping"]
    with subprocess.Popen(
        command, cwd=project.folder, env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:
        wait_until((tmp_path / "pid").exists)
        pids = [int((tmp_path / "pid").read_text())]
        if script == WITH_CHILD:
            wait_until(lambda: bool(children_of(pids[0])))
            pids += children_of(pids[0])
        if number == signal.SIGKILL:
            time.sleep(1)  # the program may run before the command has asked the kernel to kill it
        process.send_signal(number)
        stderr = process.communicate(timeout=30)[1]
    wait_until(lambda: not any(map(is_alive, pids)))
    assert process.returncode in (EXIT_OF_SIGNAL.get(number), -number)
    assert "Traceback" not in stderr and "never retrieved" not in stderr
    return stderr


def test_programs_end_at_the_timeout_of_the_command(project, tmp_path):
    done = project.json("apply", "here", "py", "--timeout", "8")
    assert done.data["here"]["error"]["kind"] == "timeout"
    shell = int((tmp_path / "pid").read_text())
    wait_until(lambda: not is_alive(shell))
