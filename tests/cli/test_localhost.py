"""The whole way with nothing in place of anything: this machine as the target."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = str(Path(__file__).parent.parent.parent)


@pytest.fixture
def pushsalt(tmp_path):
    env = {name: value for name, value in os.environ.items() if not name.startswith(("PUSHSALT", "XDG"))}
    env |= {"PYTHONPATH": ROOT, "HOME": str(tmp_path / "home"), "PUSHSALT_CACHE": str(tmp_path / "cache")}
    (tmp_path / "home").mkdir(mode=0o700)

    def run(*words):
        command = [sys.executable, "-m", "pushsalt", *words]
        return subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True, timeout=60)

    return run


def test_ping(pushsalt):
    done = pushsalt("run", "--out", "json", "localhost", "test.ping")
    assert (done.returncode, json.loads(done.stdout), done.stderr) == (0, {"localhost": True}, "")
    assert pushsalt("run", "localhost", "test.ping").stdout == "localhost: True\n"


def test_a_function_that_is_not_there(pushsalt):
    done = pushsalt("run", "--out", "json", "localhost", "test.pong")
    assert done.returncode == 2
    assert json.loads(done.stdout)["localhost"]["error"]["kind"] == "unknown_function"


def test_a_pattern_that_matches_nothing(pushsalt):
    done = pushsalt("apply", "localhorst", "x")
    assert (done.returncode, done.stdout) == (1, "")
    assert "localhost" in done.stderr


def test_an_inventory_that_is_refused_does_not_mean_this_machine(pushsalt, tmp_path):
    (tmp_path / "pushsalt.yaml").write_text("renderer: jinja|yaml\n")
    (tmp_path / "inventory.yaml").write_text("hosts: {web1: {}}\n")
    (tmp_path / "inventory.yaml").chmod(0o666)
    for words in (("target", "*"), ("run", "*", "test.ping"), ("inventory", "list")):
        done = pushsalt(*words)
        assert (done.returncode, done.stdout) == (1, ""), words
        assert "others can write to" in done.stderr and "inventory.yaml is not used" in done.stderr
        assert f"-i {tmp_path}/inventory.yaml" in done.stderr


@pytest.mark.parametrize(
    "text, words",
    [("fileserver_backend: [rots]", "no plug-in 'rots'"), ("file_ignore_regex: ['(']", "'(' is no regular expression")],
)
def test_a_file_server_that_cannot_be_is_the_command_s_own_trouble(pushsalt, tmp_path, text, words):
    (tmp_path / "pushsalt.yaml").write_text(text)
    done = pushsalt("apply", "localhost", "x")
    assert (done.returncode, done.stdout) == (1, "")
    assert words in done.stderr and "hint: " in done.stderr
