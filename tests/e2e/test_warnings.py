"""A warning of a target is printed once, whether the command succeeds or fails."""

import fcntl
import json
from pathlib import Path

import pytest

from tests.beds.project import Project

WARNING = "thin_dir is not used"
#: arguments of the command -> exit code
COMMANDS = {
    "run here test.ping": 0,
    "run here test.exception message": 2,
    "run here test.pong": 2,
    "apply here well": 0,
    "apply here broken": 2,
    "apply here nowhere": 2,
    "apply here dies": 3,
    "grains here": 0,
}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    folder = tmp_path_factory.mktemp("warnings")
    shared = folder / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    project = Project(folder, {"here": {"transport": "local", "thin_dir": str(shared)}})
    project.files(
        {
            "salt/well.sls": "well:\n  test.nop\n",
            "salt/broken.sls": "a: {{ nothing }}\n",
            "salt/dies.sls": json.dumps({"dies": {"cmd.run": [{"name": "kill -9 $PPID; sleep 60"}]}}),
        }
    )
    return project


@pytest.mark.parametrize("command", COMMANDS)
def test_a_warning_is_printed_once(project: Project, command: str) -> None:
    done = project.json(*command.split())
    assert (done.code, done.err.count(WARNING)) == (COMMANDS[command], 1), done.err
    assert WARNING not in done.out


def test_a_warning_of_a_locked_target_is_printed_once(project: Project) -> None:
    """The session does not start: another run holds the lock."""
    project.json("apply", "here", "well")
    (path,) = Path(project.home, ".cache/pushsalt").glob("lock-*")  # this machine has one for each id
    with path.open("r+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = project.json("apply", "here", "well")
    assert (done.code, done.error("here")["kind"], done.err.count(WARNING)) == (3, "locked", 1)
