"""A project that ``pushsalt serve`` serves on loopback, and a client of it."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.beds.project import Project

PASSWORD = "open-sesame-4711"
SECRET = "a-secret-of-webhooks"
#: a secret in the pillar of a target
HIDDEN = "s3cr3t-of-the-test"
#: the accounts of the file, with their permissions
ACCOUNTS: dict[str, list[Any]] = {
    "anna": [".*", "@runner", "@wheel"],
    "ben": ["test.*"],
    "carl": [{"web1": ["test.*", {"cmd.run": {"args": ["echo .*"]}}]}],
    "dora": ["@jobs", {"@runner": ["manage.*", "event.send"]}],
}


@dataclass
class Answer:
    """An answer of the server."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def data(self) -> Any:
        return json.loads(self.body)


class Served:
    """A project that is served; ``with`` starts and stops it."""

    def __init__(
        self, folder: Path, hosts: Mapping[str, Any] | None = None, accounts: Any = None, **config: Any
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        users = folder / "users"
        accounts = ACCOUNTS if accounts is None else accounts
        users.write_text("".join(f"{name}:{PASSWORD}\n" for name in accounts))
        users.chmod(0o600)
        settings = {
            "external_auth": {"file": {"^filename": str(users), **accounts}},
            "rest_cherrypy": {"webhook_secret": SECRET},
            **config,
        }
        machines = {name: {"transport": "local"} for name in ("web1", "web2")}
        self.project = Project(folder, machines if hosts is None else hosts, **settings)
        self.process: subprocess.Popen[bytes] | None = None
        self.url = ""
        self.port = 0
        self._tokens: dict[str, str] = {}

    def __enter__(self) -> Served:
        self.start()
        return self

    def __exit__(self, *exc: object) -> None:
        if self.process is not None and self.process.poll() is None:
            self.kill()

    def start(self, *arguments: str) -> None:
        """Start, and wait until it listens."""
        self.process = self.project.start("serve", "--listen", "127.0.0.1:0", *arguments)
        assert self.process.stdout is not None
        line = self.process.stdout.readline().decode()
        if not line.startswith("serving at "):
            done = Project.finish(self.process)
            raise AssertionError(line + done.out + done.err)
        self.url = line.split()[-1]
        self.port = int(self.url.rstrip("/").rpartition(":")[2])

    def stop(self, number: int = signal.SIGTERM, timeout: float = 60) -> tuple[int, str]:
        """Send a signal; the exit code, and what was written to stderr."""
        assert self.process is not None
        self.process.send_signal(number)
        done = Project.finish(self.process, timeout)
        return done.code, done.err

    def kill(self) -> None:
        """SIGKILL."""
        assert self.process is not None
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.communicate()

    def request(
        self, method: str, path: str, data: Any = None, user: str = "", headers: Mapping[str, str] | None = None
    ) -> Answer:
        """A request with the token of an account, if one is named."""
        sent = {"Accept": "application/json", **(headers or {})}
        if user:
            sent["X-Auth-Token"] = self.token(user)
        body = data if isinstance(data, bytes | None) else json.dumps(data).encode()
        if body is not None:
            sent.setdefault("Content-Type", "application/json")
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, path, body, sent)
            answer = connection.getresponse()
            return Answer(answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read())
        finally:
            connection.close()

    def get(self, path: str, user: str = "", **kwargs: Any) -> Answer:
        return self.request("GET", path, user=user, **kwargs)

    def post(self, path: str, data: Any, user: str = "", **kwargs: Any) -> Answer:
        return self.request("POST", path, data, user, **kwargs)

    def low(self, user: str, **entry: Any) -> Answer:
        """A lowstate of one entry."""
        return self.post("/", [entry], user)

    def token(self, user: str) -> str:
        """The token of an account, which is made once."""
        if user not in self._tokens:
            answer = self.login(user)
            assert answer.status == 200, answer.body
            self._tokens[user] = answer.data["return"][0]["token"]
        return self._tokens[user]

    def login(self, user: str, password: str = PASSWORD, **kwargs: Any) -> Answer:
        return self.post("/login", {"username": user, "password": password, "eauth": "file", **kwargs})

    @contextlib.contextmanager
    def stream(self, user: str, **headers: str) -> Iterator[Iterator[dict[str, Any]]]:
        """The events, as they come: ``id`` is the one of the stream."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request("GET", "/events", headers={"X-Auth-Token": self.token(user), **headers})
            answer = connection.getresponse()
            assert answer.status == 200, answer.read()
            assert answer.readline() == b"retry: 400\n"
            yield self._events(answer)
        finally:
            connection.close()

    @staticmethod
    def _events(answer: http.client.HTTPResponse) -> Iterator[dict[str, Any]]:
        number = 0
        while line := answer.readline():
            if line.startswith(b"id: "):
                number = int(line[4:])
            elif line.startswith(b"data: "):
                yield {"number": number, **json.loads(line[6:])}

    def wait_job(self, jid: str, user: str = "anna") -> Any:
        """The document of ``/jobs/JID`` once all targets have returned."""
        end = time.monotonic() + 60
        while time.monotonic() < end:
            found = self.get(f"/jobs/{jid}", user)
            assert found.status == 200, found.body
            if set(found.data["info"][0]["Result"]) == set(found.data["info"][0]["Minions"]):
                return found.data
            time.sleep(0.1)
        raise AssertionError(f"{jid} does not end")
