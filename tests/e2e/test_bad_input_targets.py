"""Targets that fail: each has its own error kind, in one run with valid targets."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.beds import sshd
from tests.beds.project import Done, Project, values
from tests.beds.sshd import SshdBed, free_port, keygen

pytestmark = [
    pytest.mark.slow,
    pytest.mark.sshd,
    pytest.mark.skipif(bool(sshd.missing()), reason=sshd.missing() or "-"),
]

#: Kills the process that serves this connection on the target, as a crash or a reboot would.
CUT_THE_WIRE = """
p=$PPID
while [ "$p" -gt 1 ]; do
  name=$(ps -o comm= -p "$p")
  case "$name" in sshd*) kill -9 "$p"; exec sleep 60;; esac
  p=$(ps -o ppid= -p "$p" | tr -d " ")
done
exit 7
"""
HELLO = "hello:\n  test.succeed_with_changes\n"
STATES = {
    "hello": HELLO,
    "cut": HELLO + f"cut:\n  cmd.run:\n    - name: {json.dumps(CUT_THE_WIRE)}\n",
    "dies": HELLO + "dies:\n  cmd.run:\n    - name: kill -9 $PPID; sleep 60\n",
    "sleeps": HELLO + "sleeps:\n  cmd.run:\n    - name: sleep 321\n",
}
#: id -> (kind, pattern of the message, pattern of the hint)
FAILURES = {
    "refused": ("connection_refused", "refused", "sshd"),
    "unresolved": ("dns_failure", r"nowhere\.invalid", "host"),
    "unreachable": ("unreachable", "255.255.255.255", "route"),
    "silent": ("connect_timeout", "key exchange", "SSH"),
    "web": ("ssh_protocol", "no SSH server", "port"),
    "wrong-key": ("auth_failed", "stranger", "priv"),
    "missing-key": ("key_unusable", "no-such-key", "."),
    "open-key": ("key_unusable", "open-key", "chmod 600"),
    "unknown-host": ("host_key_unknown", "SHA256:", "--accept-new-host-keys"),
    "changed-host": ("host_key_changed", "SHA256:", "ssh-keygen -R"),
    "revoked-host": ("host_key_revoked", "revoked", "new"),
    "no-python": ("no_python", "/no/such/python", "inventory"),
    "old-python": ("python_too_old", "3.5", "newer"),
    "nologin": ("no_shell", "not available", "shell"),
    "behind": ("jump_failed", "refused", "sshd"),
    "noisy": ("protocol_error", "", "."),
    "quits": ("bootstrap_failed", "status 3", "."),
    "cut": ("connection_lost", "", "look"),
    "dies": ("worker_died", "signal 9|SIGKILL", "look"),
    "garbled": ("bootstrap_failed", "", "."),
}
VALID = ("well-1", "well-2")


@pytest.fixture(scope="module")
def bed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SshdBed]:
    with sshd.sshd_bed(tmp_path_factory.mktemp("bed"), 0) as bed:
        yield bed


@pytest.fixture(scope="module")
def peers() -> Iterator[dict[str, int]]:
    """Servers that are not sshd: name -> port."""
    servers: list[socket.socket] = []

    def listen(answer: Callable[[socket.socket], None]) -> int:
        server = socket.create_server(("127.0.0.1", 0))
        servers.append(server)

        def serve() -> None:
            accepted = []
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    break
                accepted.append(connection)
                answer(connection)
            for connection in accepted:
                connection.close()

        threading.Thread(target=serve, daemon=True).start()
        return int(server.getsockname()[1])

    def web(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n<html>\x1b[31m\x07no</html>")
        connection.shutdown(socket.SHUT_WR)

    yield {"silent": listen(lambda connection: None), "web": listen(web)}
    for server in servers:
        server.shutdown(socket.SHUT_RDWR)
        server.close()


def script(path: Path, text: str) -> str:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


def add(bed: SshdBed, id: str, command: str = "", **settings: Any) -> dict[str, Any]:
    """Add a separate server, whose logins run ``command`` in place of the requested one."""
    bed.add(id, [f"ForceCommand {command}"] if command else [], **settings)
    return bed.targets[id].host()


@pytest.fixture(scope="module")
def project(bed: SshdBed, peers: dict[str, int], tmp_path_factory: pytest.TempPathFactory) -> Project:
    folder = tmp_path_factory.mktemp("targets")
    project = Project(folder, reconnect=0)  # an interrupted run has ended
    keygen(folder / "stranger")
    keygen(folder / "other")
    open_key = folder / "open-key"
    shutil.copy(bed.key, open_key)
    open_key.chmod(0o644)
    old = script(
        folder / "python-old",
        'case "$1" in -I) echo "pushsalt $(printf %.8s "$5") too_old - 3.5.3"; exit 81;; *) echo Python 3.5.3;; esac',
    )
    hosts = {
        "well-1": add(bed, "well-1"),
        "refused": {**add(bed, "refused-by"), "port": free_port()},
        "unresolved": {"host": "nowhere.invalid"},
        "unreachable": {"host": "255.255.255.255", "timeout": 5},
        "silent": {"host": "127.0.0.1", "port": peers["silent"], "timeout": 1},
        "web": {"host": "127.0.0.1", "port": peers["web"], "timeout": 5},
        "wrong-key": add(bed, "wrong-key", priv=str(folder / "stranger")),
        "missing-key": add(bed, "missing-key", priv=str(folder / "no-such-key")),
        "open-key": add(bed, "open-key", priv=str(open_key)),
        "unknown-host": add(bed, "unknown-host"),
        "changed-host": add(bed, "changed-host"),
        "revoked-host": add(bed, "revoked-host"),
        "no-python": add(bed, "no-python", python="/no/such/python"),
        "old-python": add(bed, "old-python", python=old),
        "nologin": add(bed, "nologin", "echo This account is currently not available. >&2; exit 1"),
        "behind": {"host": "127.0.0.1", "jump": "refused"},
        "noisy": add(bed, "noisy", "exec tr '\\0' x < /dev/zero"),
        "quits": add(bed, "quits", "exit 3"),
        "garbled": add(bed, "garbled", "head -c 5000 /dev/urandom; printf '\\033]0;title\\007' >&2; exit 1"),
        "cut": add(bed, "cut"),
        "dies": add(bed, "dies"),
        "well-2": add(bed, "well-2"),
        "sleeps": add(bed, "sleeps"),
    }
    bed.wait()
    _write_known_hosts(bed, project.home / ".ssh" / "known_hosts", hosts, folder / "other.pub")
    project.write("inventory.yaml", json.dumps({"defaults": {"agent": False}, "hosts": hosts}))
    project.files({f"salt/{name}.sls": text for name, text in STATES.items()})
    top = {"base": {id: [id if id in STATES else "hello"] for id in hosts}}
    project.write("salt/top.sls", json.dumps(top))
    return project


def _write_known_hosts(bed: SshdBed, path: Path, hosts: dict[str, Any], other_key: Path) -> None:
    """Write known_hosts with the keys of the bed; ``changed-host`` has another key, ``unknown-host`` none."""
    right_key, wrong_key = (" ".join(file.read_text().split()[:2]) for file in (Path(f"{bed.host_key}.pub"), other_key))
    lines = []
    for id, host in hosts.items():
        if "port" in host and id != "unknown-host":
            lines.append(f"[127.0.0.1]:{host['port']} {wrong_key if id == 'changed-host' else right_key}\n")
    lines.append(f"@revoked [127.0.0.1]:{hosts['revoked-host']['port']} {right_key}\n")
    path.write_text("".join(lines))


@pytest.fixture(scope="module")
def done(project: Project) -> Done:
    return project.json("apply", "-C", "* and not sleeps", timeout=90)


@pytest.mark.parametrize("id", FAILURES)
def test_each_failure_has_its_error_kind(done: Done, id: str) -> None:
    error = done.error(id)
    kind, message, hint = FAILURES[id]
    assert error["kind"] == kind, error
    assert error["message"].startswith(f"{id}: ") and re.search(message, error["message"]), error
    assert re.search(hint, error["hint"]), error
    for text in (error["kind"], error["message"], error["hint"]):
        assert text.isprintable() and len(text) < 1500, text


def test_states_of_valid_targets_are_run(done: Done) -> None:
    assert done.code == 3
    assert set(done.data) == {*FAILURES, *VALID}
    for id in VALID:
        (state,) = values(done.data[id])
        assert state["result"] is True and state["changes"]


def test_hosts_with_other_keys_receive_no_data(done: Done, bed: SshdBed) -> None:
    for id in ("unknown-host", "changed-host", "revoked-host"):
        assert done.error(id)["kind"].startswith("host_key")
        assert not (bed.targets[id].home / ".cache").exists()


def test_a_run_is_ended_by_its_timeout(project: Project) -> None:
    done = project.json("apply", "-L", "sleeps,well-1", "--timeout", "6")
    error = done.error("sleeps")
    assert done.code == 3 and error["kind"] == "timeout"
    assert "1 of 2 states had run" in error["message"]
    assert list(error["returned"]) == ["test_|-hello_|-hello_|-succeed_with_changes"]
    assert values(done.data["well-1"])[0]["result"] is True
    assert not _alive("sleep 321")


@pytest.mark.parametrize("id", ["cut", "dies"])
def test_states_that_ran_before_a_lost_connection_are_returned(done: Done, id: str) -> None:
    error = done.error(id)
    [(tag, ret)] = error["returned"].items()
    assert tag == "test_|-hello_|-hello_|-succeed_with_changes" and ret["result"] is True and ret["changes"]
    assert ret["__run_num__"] == 0 and "1 of 2 states had run" in error["message"]


def test_states_that_ran_before_the_timeout_are_shown(project: Project) -> None:
    done = project.run("apply", "sleeps", "--timeout", "6")
    assert done.code == 3 and "until then: 1 changed" in done.out and "test.succeed_with_changes  hello" in done.out


def test_a_function_is_ended_by_its_timeout(project: Project) -> None:
    done = project.json("run", "sleeps", "cmd.run", "sleep 322", "--timeout", "6")
    error = done.error("sleeps")
    assert (done.code, error["kind"]) == (3, "timeout")
    assert not _alive("sleep 322")


def test_the_error_of_an_interrupted_function_names_it(project: Project) -> None:
    process = project.start("run", "--out", "json", "well-1", "cmd.run", "sleep 323")
    _wait_for(lambda: _alive("sleep 323"))
    process.send_signal(signal.SIGINT)
    done = project.finish(process, 30)
    error = done.error("well-1")
    assert (done.code, error["kind"]) == (130, "interrupted")
    assert "before anything" not in error["message"] and "cmd.run" in error["message"]
    assert "check the target" in error["hint"]
    assert not _alive("sleep 323")


def test_an_interrupted_apply_reports_the_states_that_ran(project: Project) -> None:
    with _sleeping(project) as process:
        _stop_at_once(process, signal.SIGTERM)
        done = project.finish(process, 30)
    error = done.error("sleeps")
    assert done.code == 143 and "1 of 2 states" in error["message"] and len(error["returned"]) == 1
    assert not _alive("sleep 321")


def test_a_killed_controller_leaves_no_process_and_no_lock(project: Project) -> None:
    with _sleeping(project) as process:
        process.kill()
        process.communicate()
    _wait_for(lambda: not _alive("sleep 321"))
    done = project.json("apply", "sleeps", "hello")
    assert done.code == 0, done.data


def test_two_runs_never_overlap(project: Project) -> None:
    with _sleeping(project) as first:
        second = project.json("apply", "-L", "sleeps,well-1", "hello")
        error = second.error("sleeps")
        assert (second.code, error["kind"]) == (3, "locked")
        assert f"pid {first.pid}" in error["message"] and "--wait-lock" in error["hint"]
        assert values(second.data["well-1"])[0]["result"] is True
        _stop_at_once(first, signal.SIGINT)
        project.finish(first, 30)


@contextlib.contextmanager
def _sleeping(project: Project) -> Iterator[subprocess.Popen[bytes]]:
    """An apply that is in its second state; its process is killed if the test fails."""
    _wait_for(lambda: not _alive("sleep 321"))
    process = project.start("apply", "--out", "json", "sleeps")
    try:
        _wait_for(lambda: _alive("sleep 321"), 60)
        yield process
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()


def _stop_at_once(process: subprocess.Popen[bytes], signal_number: signal.Signals) -> None:
    """After the first signal the current state ends; after the second it is interrupted."""
    process.send_signal(signal_number)
    time.sleep(1)
    process.send_signal(signal_number)


def _alive(command: str) -> bool:
    pids = subprocess.run(["pgrep", "-f", "-x", command], stdout=subprocess.PIPE, check=False).stdout.split()
    return bool(pids)


def _wait_for(condition: Callable[[], bool], seconds: float = 20) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "the condition is not met"
        time.sleep(0.05)
