"""The mine is collected after the states; errors of it do not affect their return."""

from __future__ import annotations

import signal
import time

import pytest

from tests.beds.processes import wait_until
from tests.beds.project import Project, values

pytestmark = pytest.mark.slow


@pytest.fixture
def project(tmp_path):
    hosts = {"here": {"transport": "local", "thin_dir": str(tmp_path / "thin")}}
    touch = [{"mine_function": "file.touch"}, str(tmp_path / "begun")]
    functions = {"begun": touch, "slow": [{"mine_function": "test.sleep"}, 60]}
    project = Project(tmp_path, hosts, mine_functions=functions)
    project.write("salt/it.sls", f"{tmp_path}/written:\n  file.touch: []\n")
    return project


def test_a_signal_during_the_mine_keeps_the_returns(project, tmp_path):
    process = project.start("apply", "--out", "json", "here", "it")
    wait_until((tmp_path / "begun").exists, 30)
    time.sleep(0.5)  # earlier messages are on their way
    process.send_signal(signal.SIGINT)
    done = project.finish(process, 20)
    assert done.code == 130
    assert [ret["result"] for ret in values(done.data["here"])] == [True]


def test_a_timeout_during_the_mine_keeps_the_returns(project):
    done = project.json("apply", "--timeout", "8", "here", "it")
    assert (done.code, [ret["result"] for ret in values(done.data["here"])]) == (0, [True])
    assert "the mine function test.sleep failed: not stored" in done.err
    assert project.run("cache", "show", "mine", "--out", "json").data["here"]["value"] == {"begun": True}
