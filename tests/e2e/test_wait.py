"""``pushsalt wait`` over real sshds."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

from tests.beds.gitserver import wait_for
from tests.beds.project import Project
from tests.beds.sshd import free_port

pytestmark = [pytest.mark.slow, pytest.mark.sshd]


def test_wait_ends_when_targets_answer(make_project):
    done = make_project().json("wait", "t*", "--for", "ssh", "--timeout", "30")
    assert done.code == 0
    assert {id: result["for"] for id, result in done.data.items()} == {"t1": "ssh", "t2": "ssh", "t3": "ssh"}


def has_connection(port: int) -> bool:
    """Whether there is an established connection to this TCP port of this machine."""
    rows = [row.split() for row in Path("/proc/net/tcp").read_text("ascii").splitlines()[1:]]
    return any(row[1].endswith(f":{port:04X}") and row[3] == "01" for row in rows)


@pytest.mark.parametrize("condition", ["ssh", "reboot"])
def test_wait_ends_when_a_target_comes_up(make_project, bed, condition):
    """The target is not reachable when the wait begins."""
    server = bed.targets["t1"].process
    os.kill(server.pid, signal.SIGSTOP)
    try:
        process = make_project(t1={**bed.targets["t1"].host(), "timeout": 1}).start(
            "wait", "t1", "--for", condition, "--timeout", "60", "--out", "json"
        )
        wait_for(lambda: has_connection(bed.targets["t1"].port), 30)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(3)
    finally:
        os.kill(server.pid, signal.SIGCONT)
    done = Project.finish(process)
    assert done.code == 0 and done.data["t1"]["for"] == condition and done.data["t1"]["seconds"] > 2


def test_wait_fails_if_a_target_does_not_come_up(make_project, bed):
    host = {**bed.targets["t1"].host(), "port": free_port()}
    done = make_project(t1=host).json("wait", "t1", "--timeout", "5")
    error = done.error("t1")
    assert done.code == 3 and error["kind"] == "connection_refused"
    assert "not reachable after 5 s" in error["message"]


def test_wait_fails_if_a_target_is_not_restarted(make_project):
    done = make_project().json("wait", "t1", "--for", "reboot", "--timeout", "8")
    error = done.error("t1")
    assert done.code == 3 and error["kind"] == "timeout" and "was not restarted within 8 s" in error["message"]


def test_invalid_conditions_and_offline_targets_are_errors(make_project):
    done = make_project().run("wait", "t1", "--for", "rain")
    assert done.code == 1 and "--for takes ssh or reboot, not 'rain'" in done.err
    offline = make_project(t9={"transport": "offline"}).json("wait", "t9", "--timeout", "1")
    assert offline.error("t9")["kind"] == "offline"
