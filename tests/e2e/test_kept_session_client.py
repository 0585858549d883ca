"""The client of a kept session: signals, terminals, and sockets on which something else listens."""

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
from tests.beds.processes import children, running, wait_until
from tests.beds.project import Project

pytestmark = [pytest.mark.slow, pytest.mark.sshd]

SESSION = ("--session", "5m")


@pytest.fixture
def kept(project):
    with keeping(project()) as found:
        yield found


def begin(kept):
    done = kept.project.run(*SESSION, "run", "--out", "json", "t1", "cmd.run", "echo $SSH_CLIENT")
    assert done.code == 0, done.err
    return done.data["t1"].split()[1]


def state(pid):
    """The letter of a process's state: T for a stopped one; empty for one that has ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return ""


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="reads the state of processes in /proc")
def test_ctrl_z_stops_the_command_and_fg_continues_it(kept):
    begin(kept)
    begun, go = kept.project.folder / "begun", kept.project.folder / "go"
    line = f"touch {begun}; while test ! -e {go}; do sleep 0.05; done; echo end"
    process = subprocess.Popen(
        kept.project.argv("run", "--out", "json", "t1", "cmd.run", line),
        env=kept.project.environment,
        cwd=kept.project.folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=os.setpgrp,  # as a shell starts a job
    )
    wait_until(begun.exists)
    (command,) = commands(kept)
    process.send_signal(signal.SIGTSTP)
    wait_until(lambda: state(process.pid) == "T" and state(command) == "T")
    go.touch()
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(0.5)
    process.send_signal(signal.SIGCONT)
    wait_until(lambda: state(command) != "T")
    done = Project.finish(process)
    assert (done.code, done.data) == (0, {"t1": "end"}), done.err
    assert kept.project.json("run", "t1", "test.ping").data == {"t1": True}


def commands(kept):
    """The processes in which the broker runs commands: its children that lead a session of their own."""
    return [pid for pid in children(kept.pid) if os.getsid(pid) == pid and b"children.kept" not in cmdline(pid)]


def cmdline(pid):
    return Path(f"/proc/{pid}/cmdline").read_bytes()


def on_screen(project, words, until, size=(40, 100)):
    """Run a command whose streams are a terminal, until the text appears and then to its end; all that was shown."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("4H", *size, 0, 0))
    process = subprocess.Popen(
        project.argv(*words),
        env={**project.environment, "TERM": "xterm-256color"},
        cwd=project.folder,
        stdin=slave,
        stdout=slave,
        stderr=slave,
        start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
    )
    os.close(slave)
    shown, end = b"", time.monotonic() + 60
    with contextlib.suppress(OSError):  # the terminal's last user has gone
        while time.monotonic() < end:
            if select.select([master], [], [], 0.2)[0]:
                shown += os.read(master, 65536)
            until(shown)
    os.close(master)
    return process.wait(30), shown.decode()


def test_the_live_view_is_the_same(kept):
    begin(kept)
    go = kept.project.folder / "go"
    kept.project.write("salt/slow.sls", f"slow:\n  cmd.run:\n    - name: while test ! -e {go}; do sleep 0.05; done\n")

    def until(shown):
        if b"cmd.run while" in shown:
            go.touch()

    seen = []
    for words in (("--session", "0"), ()):
        go.unlink(missing_ok=True)
        code, shown = on_screen(kept.project, (*words, "apply", "t1", "slow"), until)
        assert code == 0, shown
        assert go.exists(), shown  # the view has shown the state while it ran
        seen.append(sorted({each for each in ("\x1b[?25l", "\x1b[?25h", "t1", "Succeeded") if each in shown}))
    assert seen[0] == seen[1]
    assert "\x1b[?25h" in seen[0]  # the cursor is shown again


def test_ctrl_c_on_the_terminal(kept):
    """The terminal signals its foreground group, in which the command itself is not."""
    begin(kept)
    begun = kept.project.folder / "begun"
    typed = []

    def until(shown):
        if begun.exists() and not typed:
            typed.append(os.kill(session_leader(kept), signal.SIGINT))

    code, shown = on_screen(kept.project, ("run", "t1", "cmd.run", f"touch {begun}; sleep 600"), until)
    assert code == 130, shown


def session_leader(kept):
    (client,) = [pid for pid in running("cmd.run touch") if cmdline(pid).startswith(sys.executable.encode())]
    return client


# --- what else may listen


@contextlib.contextmanager
def listening(path, answer):
    """Something that listens there in place of what did; ``answer``: what it sends to each, None for silence."""
    Path(path).unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen(50)
    held = []

    def serve():
        while True:
            try:
                sock, _ = listener.accept()
            except OSError:
                return
            held.append(sock)
            with contextlib.suppress(OSError):
                if answer is not None:
                    sock.sendall(answer)
                    sock.close()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield held
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(5)
        for sock in held:
            sock.close()


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n", None])
@pytest.mark.parametrize("kind", ["run", "keep"])
def test_programs_that_are_not_brokers_are_ignored(kept, kind, answer):
    begin(kept)
    (path,) = kept.folder.glob(f"*.{kind}")
    with listening(path, answer) as held:
        done = kept.project.json("run", "t*", "test.ping")
        assert (done.code, done.data) == (0, {"t1": True, "t2": True, "t3": True}), (done.out, done.err)
        assert held


def test_a_stopped_broker_is_left_out_and_runs_nothing_later(kept):
    begin(kept)
    count = kept.project.folder / "count"
    broker = kept.pid
    os.kill(broker, signal.SIGSTOP)
    try:
        done = kept.project.json("run", "t1", "cmd.run", f"echo once >> {count}")
        assert (done.code, done.data) == (0, {"t1": ""}), (done.out, done.err)
    finally:
        os.kill(broker, signal.SIGCONT)
    assert kept.project.json("run", "t1", "test.ping").data == {"t1": True}
    wait_until(lambda: not commands(kept))
    assert count.read_text() == "once\n"


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can be another user")
@pytest.mark.parametrize("kind", ["run", "keep"])
def test_another_users_process_is_not_asked(kept, kind):
    """It says that it has begun, and would have got the environment."""
    begin(kept)
    (path,) = kept.folder.glob(f"*.{kind}")
    path.unlink()
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    os.seteuid(65534)  # that of the process that listens is what the kernel reports
    try:
        listener.listen(5)
    finally:
        os.seteuid(0)
    with listener:
        done = kept.project.json("run", "t1", "test.ping")
        assert (done.code, done.data) == (0, {"t1": True}), (done.out, done.err)
        listener.settimeout(5)
        sock, _ = listener.accept()
        with sock:
            sock.settimeout(5)
            assert sock.recv(100) == b""


def test_a_file_in_place_of_the_socket(kept):
    begin(kept)
    (path,) = kept.folder.glob("*.run")
    path.unlink()
    path.write_text("no socket")
    assert kept.project.json("run", "t1", "test.ping").data == {"t1": True}


# --- time and machines


def test_a_target_that_was_restarted_is_a_new_session(kept, bed):
    """All of its processes are gone, the runtime too, and its server is a new one."""
    home = bed.targets["t1"].home
    first, server = begin(kept), bed.targets["t1"]
    runtimes = running(f"HOME={home} ", "environ")
    assert runtimes
    for pid in (*runtimes, *children(server.process.pid), server.process.pid):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    server.process.wait()
    server.process = bed._serve("t1", server.port, server.home, server.config)
    bed.wait()
    done = kept.project.run("run", "--out", "json", "t1", "cmd.run", "echo $SSH_CLIENT")
    assert done.code == 0 and done.err == "", (done.out, done.err)
    assert done.data["t1"].split()[1] != first
    assert begin(kept) == done.data["t1"].split()[1]
    assert not set(runtimes) & set(running(f"HOME={home} ", "environ"))
