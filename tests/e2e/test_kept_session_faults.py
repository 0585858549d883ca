"""Kept sessions on servers with low limits, servers that stop answering, and servers that were replaced."""

import json
import os
import shutil
import signal
import socket
import subprocess

import pytest

from tests.beds import sshd
from tests.beds.keeping import keeping
from tests.beds.processes import children, wait_until
from tests.beds.project import ROOT, Project

pytestmark = pytest.mark.slow

SESSION = ("--session", "5m")


@pytest.fixture
def servers(tmp_path):
    if reason := sshd.missing():
        pytest.skip(reason)
    with sshd.SshdBed(tmp_path / "bed") as bed:
        yield bed


@pytest.fixture
def start(servers, tmp_path):
    """Starts a server with these lines of sshd_config, and returns the brokers of a project with it."""
    entered = []

    def begin(*config):
        servers.add("t1", config)
        servers.wait()
        project = Project(tmp_path, servers.inventory()["hosts"])
        project.write("salt/a.sls", "a:\n  test.nop: []\n")
        shutil.copy(servers.known_hosts, project.home / ".ssh" / "known_hosts")
        context = keeping(project)
        entered.append(context)
        return context.__enter__()

    yield begin
    for context in entered:
        context.__exit__(None, None, None)


def port(kept):
    done = kept.project.run(*SESSION, "run", "--out", "json", "t1", "cmd.run", "echo $SSH_CLIENT")
    assert done.code == 0, done.err
    return done.data["t1"].split()[1]


def idle(kept, seconds):
    wait_until(lambda: any(row["idle"] > seconds for broker in kept.brokers for row in broker["targets"]))


def test_a_server_that_allows_one_session_per_connection(start):
    kept = start("MaxSessions 1")
    first = port(kept)
    assert kept.project.run("apply", "t1", "a").code == 0
    assert kept.project.run("apply", "t1", "a").code == 0
    assert port(kept) == port(kept) == first


def test_a_server_that_asks_whether_the_client_is_alive(start):
    kept = start("ClientAliveInterval 1", "ClientAliveCountMax 2")
    first = port(kept)
    idle(kept, 3.5)
    assert port(kept) == first


def test_a_connection_that_does_not_answer_is_replaced(start, servers):
    """As after a change of the network: no packet reports the end of the connection."""
    kept = start()
    first = port(kept)
    logins = children(servers.targets["t1"].process.pid)
    idle(kept, 2.5)
    for login in logins:
        os.kill(login, signal.SIGSTOP)
    try:
        assert port(kept) != first
    finally:
        for login in logins:
            os.kill(login, signal.SIGKILL)


@pytest.fixture
def clock(tmp_path):
    """The variables of processes whose clock can be set; ``clock.write_text`` sets the seconds by which it differs."""
    folder = tmp_path / "clock"
    folder.mkdir()
    offset = folder / "offset"
    offset.write_text("0")
    (folder / "sitecustomize.py").write_text(
        f"import time\nreal = time.time\ntime.time = lambda: real() + float(open({str(offset)!r}).read())\n"
    )
    return offset


@pytest.mark.parametrize("answers", [True, False])
def test_a_jump_of_the_clock(start, servers, clock, answers):
    """As after the sleep of a laptop: the connection is tested, and used if it still answers."""
    kept = start()
    kept.project.variables["PYTHONPATH"] = f"{clock.parent}:{ROOT}"
    kept.project.variables["PYTHONWARNINGS"] = "default"
    first = port(kept)
    logins = children(servers.targets["t1"].process.pid)
    clock.write_text("7200")
    if not answers:
        for login in logins:
            os.kill(login, signal.SIGSTOP)
    try:
        assert (port(kept) == first) is answers
    finally:
        for login in logins if not answers else ():
            os.kill(login, signal.SIGKILL)


def test_a_server_with_another_host_key_is_refused_at_the_next_connect(start, servers):
    kept = start()
    port(kept)
    server = servers.targets["t1"]
    for process in (*children(server.process.pid), server.process.pid):
        os.kill(process, signal.SIGKILL)
    server.process.wait()
    servers.host_key = servers.root / "another"
    sshd.keygen(servers.host_key)
    server.process = servers._serve("t1", server.port, server.home, ())
    servers.wait()

    done = kept.project.json("run", "t1", "test.ping")
    assert done.code == 3
    assert done.error("t1")["kind"] == "host_key_changed"


def test_many_clients_at_once(start):
    kept = start()
    port(kept)
    processes = [kept.project.start("run", "--out", "json", "t1", "test.echo", str(number)) for number in range(20)]
    for number, process in enumerate(processes):
        done = kept.project.finish(process, 120)
        assert (done.code, done.data) == (0, {"t1": number}), done.err
    wait_until(lambda: len(kept.idle()) <= 2)


def test_a_folder_that_others_can_use_is_not_used(start):
    kept = start()
    kept.folder.mkdir(mode=0o700)
    kept.folder.chmod(0o777)
    done = kept.project.run(*SESSION, "run", "t1", "test.ping")
    assert done.code == 0
    assert "the session is not kept" in done.err and str(kept.folder) in done.err
    assert list(kept.folder.iterdir()) == []


def test_a_folder_of_another_user_is_not_used(start):
    if os.geteuid():
        pytest.skip("only root can give a folder away")
    kept = start()
    kept.folder.mkdir(mode=0o700)
    os.chown(kept.folder, 65534, 65534)
    done = kept.project.run(*SESSION, "run", "t1", "test.ping")
    assert done.code == 0
    assert "belongs to another user" in done.err


def test_a_broker_whose_backlog_is_full_is_left_out(start):
    kept = start()
    port(kept)
    pid = kept.pid
    waiting = []
    os.kill(pid, signal.SIGSTOP)
    try:
        (path,) = kept.folder.glob("*.run")
        while len(waiting) < 1000:
            sock = socket.socket(socket.AF_UNIX)
            waiting.append(sock)
            sock.setblocking(False)
            try:
                sock.connect(str(path))
            except BlockingIOError:
                break
        assert kept.project.json("run", "t1", "test.ping").data == {"t1": True}
    finally:
        os.kill(pid, signal.SIGCONT)
        for sock in waiting:
            sock.close()
    assert kept.project.json("run", "t1", "test.ping").data == {"t1": True}


def test_words_that_are_no_request_are_not_answered(start):
    kept = start()
    port(kept)
    (path,) = kept.folder.glob("*.run")
    for data in (b"GET / HTTP/1.0\r\n\r\n", b"PSS1\xff\xff\xff\xff", b"PSS1\0\0\0\4abcd", b"PSS1\0\0\0\0"):
        with socket.socket(socket.AF_UNIX) as sock:
            sock.settimeout(20)
            sock.connect(str(path))
            assert sock.recv(1) == b"!"
            sock.sendall(data)
            assert sock.recv(10) == b""
    assert kept.project.json("run", "t1", "test.ping").data == {"t1": True}


def test_jump_hosts_of_the_inventory(start, servers, tmp_path):
    kept = start()
    servers.add("t2", jump=["t1"])
    servers.wait()
    kept.project.write("inventory.yaml", json.dumps({"hosts": servers.inventory()["hosts"]}))
    shutil.copy(servers.known_hosts, kept.project.home / ".ssh" / "known_hosts")
    asked = (*SESSION, "run", "--out", "json", "t2", "cmd.run", "echo $SSH_CLIENT")
    first, second = (kept.project.run(*asked) for _ in range(2))
    assert first.code == 0, first.out
    assert first.data == second.data
    assert kept.idle() == ["t2"]


def test_help_and_wrong_words_are_the_same(start):
    kept = start()
    port(kept)
    for words in (("run", "--help"), ("run", "t1"), ("apply",)):
        alone, by_broker = kept.project.run("--session", "0", *words), kept.project.run(*words)
        assert (alone.code, alone.out, alone.err) == (by_broker.code, by_broker.out, by_broker.err)


def test_a_closed_stdout_is_said(start):
    kept = start()
    port(kept)
    with open("/dev/full", "wb") as full:
        process = subprocess.run(
            kept.project.argv("run", "t1", "test.ping"),
            cwd=kept.project.folder,
            env=kept.project.environment,
            stdout=full,
            stderr=subprocess.PIPE,
            timeout=60,
            check=False,
        )
    assert process.returncode == 1
    assert b"could not be written" in process.stderr
