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
    """A function that starts a server with these lines of sshd_config, and returns the session of a project with it."""
    entered = []

    def start_server(*config):
        servers.add("t1", config)
        servers.wait()
        project = Project(tmp_path, servers.inventory()["hosts"])
        project.write("salt/a.sls", "a:\n  test.nop: []\n")
        shutil.copy(servers.known_hosts, project.home / ".ssh" / "known_hosts")
        context = keeping(project)
        entered.append(context)
        return context.__enter__()

    yield start_server
    for context in entered:
        context.__exit__(None, None, None)


def port(session):
    """The client's port of the connection, which identifies it."""
    done = session.project.run(*SESSION, "run", "--out", "json", "t1", "cmd.run", "echo $SSH_CLIENT")
    assert done.code == 0, done.err
    return done.data["t1"].split()[1]


def wait_until_idle(session, seconds):
    wait_until(lambda: any(row["idle"] > seconds for broker in session.brokers for row in broker["targets"]))


def test_a_server_that_allows_one_session_per_connection_is_supported(start):
    session = start("MaxSessions 1")
    first = port(session)
    assert session.project.run("apply", "t1", "a").code == 0
    assert session.project.run("apply", "t1", "a").code == 0
    assert port(session) == port(session) == first


def test_keepalive_requests_of_a_server_are_answered(start):
    session = start("ClientAliveInterval 1", "ClientAliveCountMax 2")
    first = port(session)
    wait_until_idle(session, 3.5)
    assert port(session) == first


def test_a_connection_that_does_not_answer_is_replaced(start, servers):
    """As after a change of the network: no packet reports the end of the connection."""
    session = start()
    first = port(session)
    logins = children(servers.targets["t1"].process.pid)
    wait_until_idle(session, 2.5)
    for login in logins:
        os.kill(login, signal.SIGSTOP)
    try:
        assert port(session) != first
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
def test_a_connection_is_tested_after_a_jump_of_the_clock(start, servers, clock, answers):
    """As after the sleep of a laptop: the connection is tested, and used if it still answers."""
    session = start()
    session.project.variables["PYTHONPATH"] = f"{clock.parent}:{ROOT}"
    session.project.variables["PYTHONWARNINGS"] = "default"
    first = port(session)
    logins = children(servers.targets["t1"].process.pid)
    clock.write_text("7200")
    if not answers:
        for login in logins:
            os.kill(login, signal.SIGSTOP)
    try:
        assert (port(session) == first) is answers
    finally:
        for login in logins if not answers else ():
            os.kill(login, signal.SIGKILL)


def test_a_server_with_another_host_key_is_refused_at_the_next_connect(start, servers):
    session = start()
    port(session)
    server = servers.targets["t1"]
    for process in (*children(server.process.pid), server.process.pid):
        os.kill(process, signal.SIGKILL)
    server.process.wait()
    servers.host_key = servers.root / "another"
    sshd.keygen(servers.host_key)
    server.process = servers._serve("t1", server.port, server.home, ())
    servers.wait()

    done = session.project.json("run", "t1", "test.ping")
    assert done.code == 3
    assert done.error("t1")["kind"] == "host_key_changed"


def test_many_clients_are_served_at_once(start):
    session = start()
    port(session)
    processes = [session.project.start("run", "--out", "json", "t1", "test.echo", str(number)) for number in range(20)]
    for number, process in enumerate(processes):
        done = session.project.finish(process, 120)
        assert (done.code, done.data) == (0, {"t1": number}), done.err
    wait_until(lambda: len(session.idle()) <= 2)


def test_a_folder_that_others_can_use_is_not_used(start):
    session = start()
    session.folder.mkdir(mode=0o700)
    session.folder.chmod(0o777)
    done = session.project.run(*SESSION, "run", "t1", "test.ping")
    assert done.code == 0
    assert "the session is not kept" in done.err and str(session.folder) in done.err
    assert list(session.folder.iterdir()) == []


def test_a_folder_of_another_user_is_not_used(start):
    if os.geteuid():
        pytest.skip("only root can give a folder away")
    session = start()
    session.folder.mkdir(mode=0o700)
    os.chown(session.folder, 65534, 65534)
    done = session.project.run(*SESSION, "run", "t1", "test.ping")
    assert done.code == 0
    assert "belongs to another user" in done.err


def test_a_broker_with_a_full_backlog_is_not_used(start):
    session = start()
    port(session)
    pid = session.pid
    sockets = []
    os.kill(pid, signal.SIGSTOP)
    try:
        (path,) = session.folder.glob("*.run")
        while len(sockets) < 1000:
            sock = socket.socket(socket.AF_UNIX)
            sockets.append(sock)
            sock.setblocking(False)
            try:
                sock.connect(str(path))
            except BlockingIOError:
                break
        assert session.project.json("run", "t1", "test.ping").data == {"t1": True}
    finally:
        os.kill(pid, signal.SIGCONT)
        for sock in sockets:
            sock.close()
    assert session.project.json("run", "t1", "test.ping").data == {"t1": True}


def test_invalid_requests_are_not_answered(start):
    session = start()
    port(session)
    (path,) = session.folder.glob("*.run")
    for data in (b"GET / HTTP/1.0\r\n\r\n", b"PSS1\xff\xff\xff\xff", b"PSS1\0\0\0\4abcd", b"PSS1\0\0\0\0"):
        with socket.socket(socket.AF_UNIX) as sock:
            sock.settimeout(20)
            sock.connect(str(path))
            assert sock.recv(1) == b"!"
            sock.sendall(data)
            assert sock.recv(10) == b""
    assert session.project.json("run", "t1", "test.ping").data == {"t1": True}


def test_jump_hosts_of_the_inventory_are_used(start, servers, tmp_path):
    session = start()
    servers.add("t2", jump=["t1"])
    servers.wait()
    session.project.write("inventory.yaml", json.dumps({"hosts": servers.inventory()["hosts"]}))
    shutil.copy(servers.known_hosts, session.project.home / ".ssh" / "known_hosts")
    arguments = (*SESSION, "run", "--out", "json", "t2", "cmd.run", "echo $SSH_CLIENT")
    first, second = (session.project.run(*arguments) for _ in range(2))
    assert first.code == 0, first.out
    assert first.data == second.data
    assert session.idle() == ["t2"]


def test_help_and_usage_errors_are_those_without_a_session(start):
    session = start()
    port(session)
    for arguments in (("run", "--help"), ("run", "t1"), ("apply",)):
        without_session, with_session = (
            session.project.run("--session", "0", *arguments),
            session.project.run(*arguments),
        )
        assert (without_session.code, without_session.out, without_session.err) == (
            with_session.code,
            with_session.out,
            with_session.err,
        )


def test_a_stdout_that_cannot_be_written_is_reported(start):
    session = start()
    port(session)
    with open("/dev/full", "wb") as full:
        process = subprocess.run(
            session.project.argv("run", "t1", "test.ping"),
            cwd=session.project.folder,
            env=session.project.environment,
            stdout=full,
            stderr=subprocess.PIPE,
            timeout=60,
            check=False,
        )
    assert process.returncode == 1
    assert b"could not be written" in process.stderr
