"""Behaviour of a whole process: signals, a closed or full stdout, a terminal, imports."""

import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

DRIVER = str(Path(__file__).parent / "fake_client.py")
ROOT = str(Path(__file__).parent.parent.parent)
SLOW = {"fast": [0, "value", "done", 0], "slow": [60, "value", "never", 0], "later": [60, "value", "never", 0]}


def environment(**kwargs):
    return {**os.environ, "PYTHONPATH": ROOT, "PYTHONDONTWRITEBYTECODE": "1", **kwargs}


def start(*arguments, fleet=SLOW, **kwargs):
    env = environment(FAKE_FLEET=json.dumps(fleet), FAKE_WARNING="begun", **kwargs)
    process = subprocess.Popen(
        [sys.executable, DRIVER, *arguments], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert "begun" in process.stderr.readline()
    return process


@pytest.mark.parametrize("name, code", [("SIGINT", 130), ("SIGTERM", 143), ("SIGHUP", 143)])
def test_one_signal_stops_and_shows_the_returns(name, code):
    process = start("run", "--out", "json", "*", "test.ping")
    time.sleep(0.2)
    process.send_signal(getattr(signal, name))
    out, err = process.communicate(timeout=30)
    assert process.returncode == code
    data = json.loads(out)
    assert list(data) == ["fast", "slow", "later"]
    assert data["fast"] == "done"
    assert data["slow"]["error"]["kind"] == "interrupted"
    assert all(data["slow"]["error"].values())
    assert "Traceback" not in err


def test_a_second_signal_ends_at_once():
    process = start("run", "--out", "json", "*", "test.ping", FAKE_STUBBORN="1")
    process.send_signal(signal.SIGINT)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(0.5)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=5)
    assert (process.returncode, out) == (130, "")
    assert "Traceback" not in err


def test_a_target_that_does_not_stop_is_given_up():
    process = start("run", "--out", "ndjson", "*", "test.ping", FAKE_STUBBORN="1")
    process.send_signal(signal.SIGTERM)
    out, _ = process.communicate(timeout=30)
    assert process.returncode == 143
    assert [next(iter(json.loads(line))) for line in out.splitlines()] == ["fast", "slow", "later"]


def test_ndjson_is_written_as_each_target_finishes():
    process = start("run", "--out", "ndjson", "*", "test.ping")
    assert json.loads(process.stdout.readline()) == {"fast": "done"}
    process.kill()
    process.communicate()


@pytest.mark.parametrize("words", [["--version"], ["--help"], ["run", "*", "test.ping"], ["target", "*"]])
def test_stdout_that_cannot_be_written_is_never_0(words):
    for redirect in (">/dev/full", ">&-"):
        command = f'exec "{sys.executable}" "{DRIVER}" "$@" {redirect}'
        done = subprocess.run(["sh", "-c", command, "sh", *words], env=environment(), capture_output=True, text=True)
        assert done.returncode == 1, redirect
        assert done.stderr.startswith("error: the output could not be written"), redirect
        assert "Traceback" not in done.stderr and "Exception" not in done.stderr


def test_a_reader_that_left():
    read, write = os.pipe()
    os.close(read)
    env = environment(FAKE_FLEET=json.dumps({"t": [0, "value", "x" * 100_000, 0]}))
    command = [sys.executable, DRIVER, "run", "--out", "ndjson", "*", "test.ping"]
    done = subprocess.run(command, env=env, stdout=write, stderr=subprocess.PIPE, text=True)
    os.close(write)
    assert (done.returncode, done.stderr) == (1, "")


def test_closed_stderr_and_stdin_do_no_harm():
    command = f'exec "{sys.executable}" "{DRIVER}" run --out json "*" test.ping <&- 2>&-'
    done = subprocess.run(["sh", "-c", command], env=environment(FAKE_WARNING="x"), stdout=subprocess.PIPE, text=True)
    assert done.returncode == 0
    assert json.loads(done.stdout) == {"web1": True, "web2": True}


def on_terminal(*arguments, fleet, **kwargs):
    """Everything that a command writes to a terminal which is its stdout and stderr."""
    pid, terminal = pty.fork()
    if pid == 0:
        env = environment(FAKE_FLEET=json.dumps(fleet), TERM="xterm-256color", **kwargs)
        os.execve(sys.executable, [sys.executable, DRIVER, *arguments], env)
    received = b""
    while select.select([terminal], [], [], 30)[0]:
        try:
            data = os.read(terminal, 65536)
        except OSError:
            break
        if not data:
            break
        received += data
    _, status = os.waitpid(pid, 0)
    os.close(terminal)
    return received.decode("utf-8"), os.waitstatus_to_exitcode(status)


def test_live_view_on_a_terminal(state):
    states = state("file_|-a_|-/etc/a_|-managed", 0, True, {"diff": "--- \n+++ \n-x\n+y\n"})
    states |= state("service_|-b_|-b\x1b]0;evil\x07_|-running", 1, False, {}, "no [bold]unit[/bold] \x1b[2J")
    text, code = on_terminal("apply", "*", "web", fleet={"web1": [1.6, "states", states, 2]}, LANG="C.UTF-8")
    assert code == 2
    assert "0/1 target done" in text and "service.running b" in text  # the view
    assert "\x1b[32m+y\x1b[0m" in text  # the result, in colour
    assert "[bold]unit[/bold] \\x1b[2J" in text
    assert "\x1b]0;" not in text and "\x1b[2J" not in text
    assert text.rstrip().endswith("1.6 s")  # the view is removed, the summary is last


def test_no_color_and_dumb_terminals():
    fleet = {"web1": [0.6, "error", {"error": {"kind": "timeout", "message": "late", "hint": "wait"}}, 3]}
    text, _ = on_terminal("run", "*", "test.ping", fleet=fleet, NO_COLOR="1")
    assert "\x1b[3" not in text
    text, code = on_terminal("run", "*", "test.ping", fleet={"web1": [0.6, "value", 1, 0]}, NO_COLOR="1")
    assert code == 0 and "web1: 1" in text


#: Modules that commands without connections do not import.
CONNECTING = {"asyncio", "asyncssh", "cryptography", "rich", "pydantic", "git", "jinja2"}


@pytest.mark.parametrize(
    "words, unwanted",
    [
        (["--version"], {"typer", "asyncio", "rich", "yaml", "pydantic", "pushsalt.api", "logging", "json"}),
        (["--help"], {"asyncssh", "rich", "yaml", "jinja2", "pydantic", "git"}),
        (["run", "--help"], {"asyncssh", "rich", "yaml", "jinja2", "pydantic", "git"}),
        (["target", "localhost"], CONNECTING | {"pushsalt.render"}),
        (["inventory", "list", "-i", "hosts.yaml"], CONNECTING | {"pushsalt.render"}),
        (["target", "-i", "hosts.yaml", "-N", "web"], CONNECTING | {"pushsalt.render"}),
        (["inventory", "show", "localhost"], CONNECTING | {"pushsalt.render"}),
        (["resource", "list"], CONNECTING | {"pushsalt.render"}),
        (["formula", "list"], CONNECTING),
        (["cache", "list"], CONNECTING),
        (["jobs", "list"], CONNECTING | {"typer", "yaml", "logging", "pushsalt.config", "pushsalt.api"}),
    ],
)
def test_the_start_imports_only_needed_modules(words, unwanted, tmp_path):
    code = (
        "import atexit, sys, pushsalt.cli.__main__ as cli\n"
        "atexit.register(lambda: print('MODULES', *sorted(sys.modules), file=sys.stderr))\n"
        f"cli.main({words!r})\n"
    )
    env = environment(HOME=str(tmp_path))
    (tmp_path / "hosts.yaml").write_text("hosts: {web1: {}}\ngroups: {web: {hosts: [web1]}}\n")
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    modules = set(done.stderr.rpartition("MODULES ")[2].split())
    assert not modules & unwanted
