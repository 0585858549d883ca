"""A starter that waits for the commands of a kept session, so that each has one without starting a Python.

The broker starts it (``Waiting``), as a new Python process with the modules for rendering and nothing else. Its socket
is inherited by the processes of commands. A command sends one end of a socket pair, its working folder and its
stderr there (``request_fork``). The process forks; the fork serves that command alone, as ``children.starter`` does,
after it has read from the socket pair what it has to take over: environment, import path, umask and limits. So no
data of one command is in the memory of the process that the next one is forked from.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

from pushsalt.children import starter

_BOOT: Final = (
    "import sys; sys.path[:] = sys.argv[3:];"
    " from pushsalt.children.kept import main; main(int(sys.argv[1]), int(sys.argv[2]))"
)
_HEAD: Final = 4
#: Bytes of what a command tells its starter.
_LIMIT: Final = 4 * 1024 * 1024

#: in the process of a command: the socket of the waiting starter
_starter_socket: socket.socket | None = None


class Waiting:
    """The process on the side of the broker; it ends with the broker, or when ``life`` is closed."""

    def __init__(self, path: Sequence[str], env: Mapping[str, str]) -> None:
        """Start it with this import path and environment. Raises OSError."""
        self.socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        read, self.life = os.pipe()
        with theirs:
            words = [sys.executable, "-I", "-S", "-X", "utf8", "-c", _BOOT, str(theirs.fileno()), str(read), *path]
            try:
                self.process = subprocess.Popen(
                    words,
                    pass_fds=(theirs.fileno(), read),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    env=env,
                    start_new_session=True,
                )
            finally:
                os.close(read)
        self.socket.setblocking(False)

    def use(self) -> None:
        """In the process of a command, which ``request_fork`` is called in."""
        global _starter_socket
        os.close(self.life)
        _starter_socket = self.socket


def request_fork(theirs: socket.socket, ours: socket.socket, path: Sequence[str], env: Mapping[str, str]) -> bool:
    """Have a fork of the waiting starter serve a socket pair; False where there is none."""
    if _starter_socket is None:
        return False
    try:
        cwd = os.open(".", os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        return False
    try:
        request = json.dumps({"env": dict(env), "path": list(path), "umask": _umask(), "files": _files()}).encode()
        if len(request) > _LIMIT:
            return False
        socket.send_fds(_starter_socket, [b"s"], [theirs.fileno(), cwd, 2])
        ours.sendall(len(request).to_bytes(_HEAD, "big") + request)
    except OSError:  # it has ended, or does not answer
        return False
    finally:
        os.close(cwd)
    return True


def _umask() -> int:
    mask = os.umask(0o77)
    os.umask(mask)
    return mask


def _files() -> int:
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


def main(descriptor: int, life: int) -> None:
    """The process: forks for each command until the broker ends."""
    starter.end_with_parent()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    listener = socket.socket(fileno=descriptor)
    starter.begin()
    starter.warm()
    while True:
        ready, _, _ = select.select([listener.fileno(), life], [], [])
        if life in ready:
            os._exit(0)
        _, descriptors, _, _ = socket.recv_fds(listener, 1, 3)
        if len(descriptors) == 3 and os.fork() == 0:
            try:
                os.close(life)
                listener.close()
                _serve(*descriptors)
            finally:
                os._exit(1)
        for each in descriptors:
            os.close(each)


def _serve(descriptor: int, cwd: int, stderr: int) -> None:
    """The starter of one command."""
    starter.end_with_parent()
    os.setsid()
    os.dup2(stderr, 2)
    os.close(stderr)
    control = socket.socket(fileno=descriptor)
    request = json.loads(_exactly(control, int.from_bytes(_exactly(control, _HEAD), "big")))
    _become(request, cwd)
    starter.serve(control)


def _exactly(control: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < min(size, _LIMIT):
        piece = control.recv(size - len(data))
        if not piece:
            os._exit(0)
        data += piece
    return bytes(data)


def _become(request: Mapping[str, Any], cwd: int) -> None:
    os.fchdir(cwd)
    os.close(cwd)
    os.umask(request["umask"])
    with contextlib.suppress(OSError, ValueError):
        most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(
            resource.RLIMIT_NOFILE, (min(request["files"], most) if most > 0 else request["files"], most)
        )
    os.environ.clear()
    os.environ.update(request["env"])
    time.tzset()
    sys.path[:] = request["path"]
