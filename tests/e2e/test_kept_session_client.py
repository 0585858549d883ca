"""The client of a kept session: signals, terminals, and sockets on which another program listens."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import select
import signal
import socket
import struct
import subprocess
import sys
import termios
import threading
import time
from pathlib import Path

import pytest

from tests.beds.keeping import keeping
from tests.beds.processes import children, cmdline, leads_session, running, wait_until
from tests.beds.project import Project

pytestmark = [pytest.mark.slow, pytest.mark.sshd]

SESSION = ("--session", "5m")


@pytest.fixture
def session(make_project):
    with keeping(make_project()) as session:
        yield session


def client_port(session):
    """The client's port of the connection to t1, which identifies it."""
    done = session.project.run(*SESSION, "run", "--out", "json", "t1", "cmd.run", "echo $SSH_CLIENT")
    assert done.code == 0, done.err
    return done.data["t1"].split()[1]


def state(pid):
    """The letter of a process's state: T for a stopped one; empty for one that has ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="reads the state of processes in /proc")
def test_ctrl_z_stops_the_command_and_fg_continues_it(session):
    client_port(session)
    started, go = session.project.folder / "begun", session.project.folder / "go"
    line = f"touch {started}; while test ! -e {go}; do sleep 0.05; done; echo end"
    process = subprocess.Popen(
        session.project.argv("run", "--out", "json", "t1", "cmd.run", line),
        env=session.project.environment,
        cwd=session.project.folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=os.setpgrp,  # as a shell starts a job
    )
    wait_until(started.exists)
    (command,) = commands(session)
    process.send_signal(signal.SIGTSTP)
    wait_until(lambda: state(process.pid) == "T" and state(command) == "T")
    go.touch()
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(0.5)
    process.send_signal(signal.SIGCONT)
    wait_until(lambda: state(command) != "T")
    done = Project.finish(process)
    assert (done.code, done.data) == (0, {"t1": "end"}), done.err
    assert session.project.json("run", "t1", "test.ping").data == {"t1": True}


def commands(session):
    """The process ids of the broker's commands: its children that are session leaders."""
    return [pid for pid in children(session.pid) if leads_session(pid) and b"children.kept" not in cmdline(pid)]


def run_on_terminal(project, arguments, on_output, size=(40, 100)):
    """Run a command on a terminal to its end. Returns the exit code and the output.

    ``on_output`` is called with the output so far, again and again.
    """
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("4H", *size, 0, 0))
    process = subprocess.Popen(
        project.argv(*arguments),
        env={**project.environment, "TERM": "xterm-256color"},
        cwd=project.folder,
        stdin=slave,
        stdout=slave,
        stderr=slave,
        start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
    )
    os.close(slave)
    output, deadline = b"", time.monotonic() + 60
    with contextlib.suppress(OSError):  # the last process has closed the terminal
        while time.monotonic() < deadline:
            if select.select([master], [], [], 0.2)[0]:
                output += os.read(master, 65536)
            on_output(output)
    os.close(master)
    return process.wait(30), output.decode()


def test_the_live_view_is_that_without_a_session(session):
    client_port(session)
    go = session.project.folder / "go"
    session.project.write(
        "salt/slow.sls", f"slow:\n  cmd.run:\n    - name: while test ! -e {go}; do sleep 0.05; done\n"
    )

    def on_output(output):
        if b"cmd.run while" in output:
            go.touch()

    views = []
    for options in (("--session", "0"), ()):
        go.unlink(missing_ok=True)
        code, output = run_on_terminal(session.project, (*options, "apply", "t1", "slow"), on_output)
        assert code == 0, output
        assert go.exists(), output  # the view has shown the state while it ran
        views.append(sorted({text for text in ("\x1b[?25l", "\x1b[?25h", "t1", "Succeeded") if text in output}))
    assert views[0] == views[1]
    assert "\x1b[?25h" in views[0]  # the cursor is shown again


def test_ctrl_c_on_the_terminal_interrupts_the_command(session):
    """The terminal signals its foreground group, in which the command itself is not."""
    client_port(session)
    started = session.project.folder / "begun"
    signals = []

    def on_output(output):
        if started.exists() and not signals:
            signals.append(os.kill(client_pid(session), signal.SIGINT))

    code, output = run_on_terminal(session.project, ("run", "t1", "cmd.run", f"touch {started}; sleep 600"), on_output)
    assert code == 130, output


def client_pid(session):
    """The process id of the client that runs ``cmd.run touch``."""
    (client,) = [pid for pid in running("cmd.run touch") if cmdline(pid).startswith(sys.executable.encode())]
    return client


# --- other programs on the socket


@contextlib.contextmanager
def listening(path, answer):
    """A server on this path in place of the broker; yields the connections that it has accepted.

    ``answer``: the bytes that it sends to each client before it closes the connection; None: it does neither.
    """
    Path(path).unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen(50)
    accepted = []

    def serve():
        while True:
            try:
                sock, _ = listener.accept()
            except OSError:
                return
            accepted.append(sock)
            with contextlib.suppress(OSError):
                if answer is not None:
                    sock.sendall(answer)
                    sock.close()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield accepted
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(5)
        for sock in accepted:
            sock.close()


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n", None])
@pytest.mark.parametrize("kind", ["run", "keep"])
def test_programs_that_are_not_brokers_are_ignored(session, kind, answer):
    client_port(session)
    (path,) = session.folder.glob(f"*.{kind}")
    with listening(path, answer) as accepted:
        done = session.project.json("run", "t*", "test.ping")
        assert (done.code, done.data) == (0, {"t1": True, "t2": True, "t3": True}), (done.out, done.err)
        assert accepted


def test_a_stopped_broker_is_not_used_and_runs_no_command_later(session):
    client_port(session)
    count = session.project.folder / "count"
    broker = session.pid
    os.kill(broker, signal.SIGSTOP)
    try:
        done = session.project.json("run", "t1", "cmd.run", f"echo once >> {count}")
        assert (done.code, done.data) == (0, {"t1": ""}), (done.out, done.err)
    finally:
        os.kill(broker, signal.SIGCONT)
    assert session.project.json("run", "t1", "test.ping").data == {"t1": True}
    wait_until(lambda: not commands(session))
    assert count.read_text() == "once\n"


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can be another user")
@pytest.mark.parametrize("kind", ["run", "keep"])
def test_a_process_of_another_user_is_not_used(session, kind):
    """The process would receive the client's environment otherwise."""
    client_port(session)
    (path,) = session.folder.glob(f"*.{kind}")
    path.unlink()
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    os.seteuid(65534)  # the kernel reports the user of the process that listens
    try:
        listener.listen(5)
    finally:
        os.seteuid(0)
    with listener:
        done = session.project.json("run", "t1", "test.ping")
        assert (done.code, done.data) == (0, {"t1": True}), (done.out, done.err)
        listener.settimeout(5)
        sock, _ = listener.accept()
        with sock:
            sock.settimeout(5)
            assert sock.recv(100) == b""


def test_a_file_in_place_of_the_socket_is_ignored(session):
    client_port(session)
    (path,) = session.folder.glob("*.run")
    path.unlink()
    path.write_text("no socket")
    assert session.project.json("run", "t1", "test.ping").data == {"t1": True}


# --- restarted targets


def test_a_restarted_target_gets_a_new_connection(session, bed):
    """All of its processes are gone, the runtime too, and its server is a new one."""
    home = bed.targets["t1"].home
    first, server = client_port(session), bed.targets["t1"]
    runtimes = running(f"HOME={home} ", "environ")
    assert runtimes
    for pid in (*runtimes, *children(server.process.pid), server.process.pid):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    server.process.wait()
    server.process = bed._serve("t1", server.port, server.home, server.config)
    bed.wait()
    done = session.project.run("run", "--out", "json", "t1", "cmd.run", "echo $SSH_CLIENT")
    assert done.code == 0 and done.err == "", (done.out, done.err)
    assert done.data["t1"].split()[1] != first
    assert client_port(session) == done.data["t1"].split()[1]
    assert not set(runtimes) & set(running(f"HOME={home} ", "environ"))
