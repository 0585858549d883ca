"""Servers for the tests of returners, started on loopback and Unix sockets by the tests themselves.

They are Debian's, installed or unpacked into ``build/servers`` (``scripts/return_servers.sh``), and aiosmtpd. Tests
whose server is missing are skipped. Services of the system are not used: each server has a folder of the test.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from tests.beds.secretservers import running
from tests.beds.sshd import free_port

ROOT = Path(__file__).resolve().parents[2] / "build" / "servers"
PASSWORD = "password-of-returns"

MYSQL_TABLES = """
CREATE DATABASE salt DEFAULT CHARACTER SET utf8;
CREATE TABLE salt.jids (jid varchar(255) NOT NULL, `load` mediumtext NOT NULL, UNIQUE KEY jid (jid));
CREATE TABLE salt.salt_returns (fun varchar(50) NOT NULL, jid varchar(255) NOT NULL, `return` mediumtext NOT NULL, \
id varchar(255) NOT NULL, success varchar(10) NOT NULL, full_ret mediumtext NOT NULL, \
alter_time TIMESTAMP DEFAULT CURRENT_TIMESTAMP, KEY id (id), KEY jid (jid), KEY fun (fun));
CREATE TABLE salt.salt_events (id BIGINT NOT NULL AUTO_INCREMENT, tag varchar(255) NOT NULL, data mediumtext NOT NULL, \
alter_time TIMESTAMP DEFAULT CURRENT_TIMESTAMP, master_id varchar(255) NOT NULL, PRIMARY KEY (id), KEY tag (tag));
"""
POSTGRES_TABLES = """
CREATE TABLE jids (jid varchar(20) PRIMARY KEY, load text NOT NULL);
CREATE TABLE salt_returns (fun varchar(50) NOT NULL, jid varchar(255) NOT NULL, return text NOT NULL, full_ret text,
  id varchar(255) NOT NULL, success varchar(10) NOT NULL, alter_time TIMESTAMP WITH TIME ZONE DEFAULT now());
CREATE SEQUENCE seq_salt_events_id;
CREATE TABLE salt_events (id BIGINT NOT NULL UNIQUE DEFAULT nextval('seq_salt_events_id'), tag varchar(255) NOT NULL,
  data text NOT NULL, alter_time TIMESTAMP WITH TIME ZONE DEFAULT NOW(), master_id varchar(255) NOT NULL);
"""


def program(*patterns: str) -> Path:
    """The path of a server's program, in ``build/servers`` or of the system; skips the test if there is none."""
    for top in (ROOT, Path("/")):
        for pattern in patterns:
            found = sorted(top.glob(pattern))
            if found:
                return found[-1]
    pytest.skip(f"there is no {patterns[0]} here or in build/servers: sh scripts/return_servers.sh")


def environment() -> dict[str, str]:
    """The environment with the libraries of unpacked servers."""
    folders = [str(path) for pattern in ("usr/lib/*-linux-gnu", "lib/*-linux-gnu") for path in ROOT.glob(pattern)]
    return {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8", "LD_LIBRARY_PATH": ":".join(folders)}


def _answers(where: tuple[str, int] | str) -> bool:
    family = socket.AF_UNIX if isinstance(where, str) else socket.AF_INET
    with contextlib.suppress(OSError), socket.socket(family) as made:
        made.connect(where)
        return True
    return False


def _as_nobody(folder: Path) -> list[str]:
    """The words that run a program which refuses to run as root; gives ``folder`` to that user."""
    if os.getuid():
        return []
    for path in (folder, *folder.parents):
        if path == Path("/tmp") or path.stat().st_uid != 0 or path == Path("/"):
            break
        path.chmod(path.stat().st_mode | 0o011)
    shutil.chown(folder, "nobody", "nogroup")
    return ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups", "--"]


def _done(argv: list[str], **options: Any) -> None:
    done = subprocess.run(argv, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)
    assert done.returncode == 0, done.stdout.decode("utf-8", "replace")[-3000:]


@contextlib.contextmanager
def postgres_server(folder: Path) -> Iterator[int]:
    """A PostgreSQL server with Salt's tables in the database ``salt``, of the user ``salt``; its port."""
    psycopg = pytest.importorskip("psycopg")
    server = program("usr/lib/postgresql/*/bin/postgres")
    before, data, port = _as_nobody(folder), folder / "data", free_port()
    (folder / "password").write_text(PASSWORD)
    if before:
        shutil.chown(folder / "password", "nobody", "nogroup")
    initdb = [str(server.with_name("initdb")), "-D", str(data), "-U", "salt", "--auth=scram-sha-256"]
    _done([*before, *initdb, f"--pwfile={folder / 'password'}", "--no-sync", "-E", "UTF8"], cwd=folder)
    argv = [str(server), "-D", str(data), "-p", str(port), "-h", "127.0.0.1", "-k", str(folder)]
    quick = ["-c", "fsync=off", "-c", "shared_buffers=8MB", "-c", "max_connections=20", "-c", "autovacuum=off"]

    def ready() -> bool:
        with contextlib.suppress(psycopg.Error):
            psycopg.connect(host="127.0.0.1", port=port, user="salt", password=PASSWORD, dbname="postgres").close()
            return True
        return False

    with running([*before, *argv, *quick], ready, env=environment(), cwd=folder):
        to = {"host": "127.0.0.1", "port": port, "user": "salt", "password": PASSWORD}
        with psycopg.connect(**to, dbname="postgres", autocommit=True) as made:
            made.execute("CREATE DATABASE salt")
        made.close()
        with psycopg.connect(**to, dbname="salt") as made:
            made.execute(POSTGRES_TABLES)
        made.close()
        yield port


@contextlib.contextmanager
def mysql_server(folder: Path) -> Iterator[int]:
    """A MariaDB server with Salt's tables in the database ``salt``, of the user ``salt``; its port."""
    pytest.importorskip("pymysql")
    server = program("usr/sbin/mariadbd")
    usr = server.parent.parent
    before, data, port = _as_nobody(folder), folder / "data", free_port()
    data.mkdir()
    if before:
        shutil.chown(data, "nobody", "nogroup")
    share = usr / "share" / "mysql"
    argv = [*before, str(server), "--no-defaults", f"--datadir={data}", f"--lc-messages-dir={share}"]
    argv += [f"--character-sets-dir={share}/charsets", f"--plugin-dir={usr}/lib/mysql/plugin"]
    argv += ["--innodb-log-file-size=4M", "--innodb-buffer-pool-size=8M", "--innodb-flush-log-at-trx-commit=0"]
    tables = [
        (share / f"mysql_{name}.sql").read_text()
        for name in ("system_tables", "performance_tables", "system_tables_data")
    ]
    text = "CREATE DATABASE mysql;\nUSE mysql;\n" + "\n".join(tables)
    _done([*argv, "--bootstrap"], input=text.encode(), cwd=folder)
    user = f"CREATE USER salt@'%' IDENTIFIED BY '{PASSWORD}';\nGRANT ALL ON salt.* TO salt@'%';\n"
    (folder / "init.sql").write_text(MYSQL_TABLES.replace("\\\n", "") + user)
    (folder / "init.sql").chmod(0o644)
    argv += [f"--port={port}", "--bind-address=127.0.0.1", f"--socket={folder}/mysql", f"--pid-file={folder}/pid"]
    argv += [f"--init-file={folder}/init.sql", "--skip-name-resolve"]
    with running(argv, partial(_answers, ("127.0.0.1", port)), env=environment(), cwd=folder):
        yield port


@contextlib.contextmanager
def redis_server(folder: Path) -> Iterator[int]:
    """A Redis server; its port."""
    port = free_port()
    (folder / "redis.conf").write_text(f"requirepass {PASSWORD}\n")
    argv = [str(program("usr/bin/redis-server", "usr/local/bin/redis-server")), str(folder / "redis.conf")]
    argv += ["--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(folder)]
    with running(argv, partial(_answers, ("127.0.0.1", port)), env=environment()):
        yield port


@dataclass
class SystemLog:
    """rsyslog, which writes all messages as JSON to a file: ``tag``, ``severity``, ``facility``, ``text``."""

    socket: str
    port: int
    path: Path

    def rows(self) -> list[str]:
        return self.path.read_text().splitlines() if self.path.exists() else []


@contextlib.contextmanager
def syslog_server(folder: Path) -> Iterator[SystemLog]:
    """Start rsyslog on a Unix socket, and on one port of UDP and TCP."""
    server = program("usr/sbin/rsyslogd")
    modules = next(path for path in sorted(server.parents[1].glob("lib/*-linux-gnu/rsyslog")))
    made = SystemLog(str(folder / "log"), free_port(), folder / "messages")
    (folder / "rsyslog.conf").write_text(
        f'global(workDirectory="{folder}" maxMessageSize="128k")\n'
        f'module(load="imuxsock" SysSock.Use="off")\n'
        f'input(type="imuxsock" Socket="{made.socket}" RateLimit.Interval="0")\n'
        f'module(load="imudp")\ninput(type="imudp" address="127.0.0.1" port="{made.port}")\n'
        f'module(load="imtcp")\ninput(type="imtcp" address="127.0.0.1" port="{made.port}")\n'
        'template(name="row" type="string" '
        'string="%syslogfacility-text%.%syslogseverity-text% %programname%:%msg%\\n")\n'
        f'action(type="omfile" file="{made.path}" template="row" asyncWriting="off" flushOnTXEnd="on")\n'
    )
    argv = [str(server), "-n", "-f", str(folder / "rsyslog.conf"), "-i", str(folder / "pid"), "-M", str(modules)]

    def ready() -> bool:
        return Path(made.socket).exists() and _answers(("127.0.0.1", made.port))

    with running(argv, ready, env=environment()):
        yield made


@dataclass
class Mail:
    """aiosmtpd on loopback. ``mails`` has the received messages; with ``login`` a login is required; ``refuse`` is the
    answer.
    """

    port: int = 0
    cafile: str = ""
    mails: list[bytes] = field(default_factory=list)
    logins: list[tuple[bytes, bytes]] = field(default_factory=list)
    refuse: str = ""


@contextlib.contextmanager
def mail_server(tls: Any = None) -> Iterator[Mail]:
    """``tls``: a context for STARTTLS; a login is required with it."""
    controller = pytest.importorskip("aiosmtpd.controller")
    from aiosmtpd.smtp import AuthResult

    made = Mail(free_port())

    class Handler:
        async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:
            if made.refuse:
                return made.refuse
            made.mails.append(envelope.original_content or envelope.content)
            return "250 OK"

    def login(server: Any, session: Any, envelope: Any, mechanism: str, data: Any) -> Any:
        made.logins.append((data.login, data.password))
        return AuthResult(success=data.password == PASSWORD.encode(), handled=False)

    options = {"tls_context": tls, "require_starttls": True, "auth_required": True} if tls is not None else {}
    server = controller.Controller(Handler(), hostname="127.0.0.1", port=made.port, authenticator=login, **options)
    server.start()
    try:
        yield made
    finally:
        server.stop()


@dataclass
class Hook:
    """A web server that keeps the bodies of POST requests. ``answers``: statuses of the next answers, then 200."""

    url: str = ""
    posts: list[tuple[str, dict[str, str], bytes]] = field(default_factory=list)
    answers: list[int] = field(default_factory=list)
    location: str = ""
    before: Callable[[], None] = lambda: None


@contextlib.contextmanager
def hook_server(port: int = 0, tls: Any = None) -> Iterator[Hook]:
    made = Hook()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            made.posts.append((self.path, dict(self.headers), body))
            made.before()
            self.send_response(made.answers.pop(0) if made.answers else 200)
            if made.location:
                self.send_header("Location", made.location)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"ok")

        def log_message(self, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    thread = Thread(target=server.serve_forever, daemon=True, kwargs={"poll_interval": 0.02})
    thread.start()
    made.url = f"{'https' if tls is not None else 'http'}://127.0.0.1:{server.server_port}"
    try:
        yield made
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)
