"""Fixtures for sessions: a runtime with a faulty module, and local targets with separate homes."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from pushsalt.bundle import pack
from pushsalt.bundle.runtime import Runtime
from pushsalt.model import Target
from pushsalt.session.session import Session
from pushsalt.transport import Connection, ConnectOptions, connect

TROUBLE = '''
import os
import signal
import subprocess
import sys
import time


def noise(size):
    sys.stdout.write("x" * size)
    print("to stdout")
    os.write(1, b"to fd 1")
    os.system("echo from a child")
    sys.stderr.write("e" * size)
    return "quiet"


def leave():
    sys.exit(3)


def vanish(status=0):
    os._exit(status)


def crash():
    sys.stderr.write("last words")
    sys.stderr.flush()
    os.kill(os.getpid(), signal.SIGSEGV)


def close_all():
    for fd in range(256):
        try:
            os.close(fd)
        except OSError:
            pass
    return "closed"


def fork_and_answer(fds):
    """The child speaks on descriptors that it has inherited."""
    pid = os.fork()
    if pid == 0:
        for fd in range(fds):
            try:
                os.write(fd, b"child")
            except OSError:
                pass
        os._exit(0)
    os.waitpid(pid, 0)
    return "parent"


def leave_behind(seconds):
    """The id of a child in our group that has not executed a program yet, and has all our descriptors."""
    pid = os.fork()
    if pid == 0:
        time.sleep(seconds)
        os._exit(0)
    return pid


def sleep(seconds, pids):
    """Sleep, with a child in our group and a daemon of its own; their ids go to a file."""
    child = subprocess.Popen(["sleep", str(seconds)])
    daemon = subprocess.Popen(["sleep", str(seconds)], start_new_session=True)
    with open(pids + ".new", "w") as handle:
        handle.write("%d %d %d" % (os.getpid(), child.pid, daemon.pid))
    os.rename(pids + ".new", pids)
    time.sleep(seconds)
    return "slept"


def big(size):
    return b"b" * size


def size(data):
    return len(data)


def fds():
    found = []
    for fd in range(256):
        try:
            os.fstat(fd)
            found.append((fd, os.readlink("/proc/self/fd/%d" % fd)))
        except OSError:
            pass
    return found


def child_fds():
    return subprocess.check_output(["ls", "/proc/self/fd"], close_fds=False).decode().split()


def where():
    return {"argv": sys.argv, "path": sys.path, "flags": [sys.flags.isolated, sys.flags.no_site], "file": __file__,
            "environ": dict(os.environ), "modules": sorted(name for name in sys.modules if name.startswith("thin"))}
'''


@pytest.fixture(scope="session")
def thin_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("runtime") / "thin"
    shutil.copytree(pack.THIN, root, ignore=shutil.ignore_patterns("__pycache__"))
    (root / "modules" / "trouble.py").write_text(TROUBLE + "\n\n__usual__ = True\n")
    return root


@pytest.fixture
def runtime(thin_root: Path, tmp_path: Path) -> Runtime:
    return Runtime.load(tmp_path / "cache", thin_root)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "home"
    path.mkdir(mode=0o700)
    monkeypatch.setenv("HOME", str(path))
    return path


@pytest.fixture
def kept(home: Path) -> Callable[[], dict[str, Path]]:
    """The files in the private directory, by kind: tar, img, lock."""

    def find() -> dict[str, Path]:
        folder = home / ".cache" / "pushsalt"
        return {path.suffix.strip(".") or path.name: path for path in folder.iterdir()} if folder.is_dir() else {}

    return find


class Opener:
    """Opens sessions and closes them all at the end."""

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime
        self.stack = contextlib.AsyncExitStack()

    async def connection(self, target: Target, options: ConnectOptions | None = None) -> Connection:
        connection = await connect(target, options or ConnectOptions())
        self.stack.push_async_callback(connection.close)
        return connection

    async def __call__(
        self, target: Target | None = None, options: ConnectOptions | None = None, **kwargs: Any
    ) -> Session:
        target = target or Target("here", transport="local")
        session = await Session.open(target, await self.connection(target, options), self.runtime, **kwargs)
        self.stack.push_async_callback(session.close)
        return session


@pytest.fixture
async def open_session(runtime: Runtime, home: Path) -> AsyncIterator[Opener]:
    opener = Opener(runtime)
    async with opener.stack:
        yield opener


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return True
