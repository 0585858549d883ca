"""Every program that a transport starts ends with its command, however that ends."""

from __future__ import annotations

import asyncio
import os
import stat
import sys
from pathlib import Path

import pytest

from pushsalt.errors import TargetError
from pushsalt.model import Target
from pushsalt.transport import ConnectOptions, connect, local, ssh
from tests.beds import sshd

STUBBORN = ["/bin/sh", "-c", "trap '' HUP TERM; echo $$; while :; do sleep 1; done"]


def is_child(pid: int) -> bool:
    """Whether it is still a child process: running, or a zombie."""
    try:
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


async def test_a_local_program_that_does_not_end_is_killed_and_waited_for():
    connection = await connect(Target("here", transport="local"), ConnectOptions())
    stream = await connection.open(STUBBORN)
    pid = int(await stream.read())
    assert is_child(pid)
    stream.close()
    await connection.close()
    assert not is_child(pid)


async def test_a_released_program_is_waited_for():
    connection = await connect(Target("here", transport="local"), ConnectOptions())
    stream = await connection.open(STUBBORN)
    pid = int(await stream.read())
    stream.abort()
    assert await stream.read() == b""
    await connection.close()
    assert not is_child(pid)


async def test_forgotten_programs_end_with_the_command():
    options = ConnectOptions()
    connection = await connect(Target("here", transport="local"), options)
    stream = await connection.open(STUBBORN)
    pid = int(await stream.read())
    closing = asyncio.create_task(connection.close())
    await asyncio.sleep(0)
    closing.cancel()
    await asyncio.gather(closing, return_exceptions=True)
    await local.close(options)
    assert not is_child(pid) and not options.shared["local"]


# --- ProxyCommand


def proxied(folder: Path, script: str) -> tuple[ConnectOptions, Path]:
    """Options whose ProxyCommand is this shell script, and the file to which it writes its process id."""
    pids, program, config = folder / "pids", folder / "proxy", folder / "config"
    program.write_text(f"#!/bin/sh\necho $$ >> {pids}\n{script}\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    config.write_text(f"Host *\n  HostKeyAlias 127.0.0.1\n  ProxyCommand {program} %h %p\n")
    return ConnectOptions(ssh_config=(config,), connect_timeout=1.5, known_hosts=()), pids


@pytest.mark.parametrize(
    "script",
    ["exit 1", "exec sleep 60", "trap '' HUP TERM; while :; do sleep 1; done", "echo no proxy today >&2"],
)
async def test_a_proxy_command_of_a_login_that_fails(tmp_path, script, caplog):
    caplog.set_level("INFO")
    options, pids = proxied(tmp_path, script)
    with pytest.raises(TargetError):
        await connect(Target("web1", host="127.0.0.1", agent=False), options)
    started = [int(pid) for pid in pids.read_text().split()]
    assert started and not any(map(is_child, started))
    assert not options.shared["ssh"].running
    assert ("no proxy today" in caplog.text) is ("no proxy today" in script)


async def test_a_proxy_command_of_a_login_that_is_stopped(tmp_path):
    options, pids = proxied(tmp_path, "exec sleep 60")
    login = asyncio.create_task(connect(Target("web1", host="127.0.0.1", agent=False), options))
    while not pids.exists() or not pids.read_text():
        await asyncio.sleep(0.01)
    login.cancel()
    with pytest.raises(asyncio.CancelledError):
        await login
    await ssh.close(options)
    assert not is_child(int(pids.read_text()))


@pytest.mark.sshd
@pytest.mark.skipif(bool(sshd.missing()), reason=sshd.missing() or "-")
@pytest.mark.parametrize("stubborn", [False, True])
async def test_a_proxy_command_of_a_connection(tmp_path, stubborn):
    with sshd.sshd_bed(tmp_path / "bed", 1) as bed:
        host = bed.targets["t1"].host()
        relay = tmp_path / "relay.py"
        relay.write_text(
            "import os, signal, socket, sys, threading, time\n"
            f"if {stubborn}: signal.signal(signal.SIGHUP, signal.SIG_IGN)\n"
            "os.write(2, b'hello from the proxy\\n')\n"
            f"s = socket.create_connection(('127.0.0.1', {host['port']}))\n"
            "def up():\n"
            " while d := os.read(0, 65536): s.sendall(d)\n"
            f" if not {stubborn}: os._exit(0)\n"
            "threading.Thread(target=up, daemon=True).start()\n"
            "while d := s.recv(65536): os.write(1, d)\n"
            "time.sleep(60)\n"
        )
        options, pids = proxied(tmp_path, f'exec "{sys.executable}" "{relay}"')
        options = ConnectOptions(ssh_config=options.ssh_config, known_hosts=(bed.known_hosts,))
        target = Target("web1", host="web1", port=host["port"], user=host["user"], priv=(host["priv"],), agent=False)
        connection = await connect(target, options)
        stream = await connection.open(["/bin/echo", "through"])
        assert await stream.read() == b"through\n"
        pid = int(pids.read_text())
        assert is_child(pid)
        await connection.close()
        assert not is_child(pid)
