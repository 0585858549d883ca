"""Each server is started once for all tests of a session; tests use ids and JIDs of their own."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from pushsalt import plugins
from pushsalt.returners import Outside
from pushsalt.returners.settings import options_of
from tests.beds import returnservers


@pytest.fixture(scope="session")
def short_folder():
    """A folder whose path fits into the address of a Unix socket, and that other users can reach."""
    with tempfile.TemporaryDirectory(prefix="ret-", dir="/tmp") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def _server(name, start):
    @pytest.fixture(scope="session", name=name)
    def started(short_folder):
        folder = short_folder / name
        folder.mkdir(mode=0o755)
        with start(folder) as server:
            yield server

    return started


postgres_port = _server("postgres_port", returnservers.postgres_server)
mysql_port = _server("mysql_port", returnservers.mysql_server)
redis_port = _server("redis_port", returnservers.redis_server)
system_log = _server("system_log", returnservers.syslog_server)


@pytest.fixture
def hook():
    with returnservers.hook_server() as made:
        yield made


@pytest.fixture
def mails():
    with returnservers.mail_server() as made:
        yield made


@pytest.fixture
def load():
    """(shipped returner, its ``Outside``), with these options in the configuration."""

    def load(name, profile="", limit=5.0, **options):
        module = plugins.load("returners", name)
        found, warnings = options_of(name, {f"returner.{name}": options}, module.OPTIONS, profile)
        assert not warnings
        return module, Outside(found, limit, master_id="here_master", key="key-of-it")

    return load


@pytest.fixture
def ret(request):
    """A return of a function; the JID is the test's own."""
    jid = f"{abs(hash(request.node.nodeid)) % 10**20:020}"
    return {
        "id": "web1",
        "jid": jid,
        "fun": "test.arg",
        "fun_args": ["a'b", {"__kwarg__": True, "x": 1}],
        "return": {"text": 'it\'s "here"\n\\ ; DROP TABLE jids; -- \x00 é \ud800 %s {id}', "n": [1, None]},
        "retcode": 0,
        "success": True,
        "phases": {"connect": 0.1},
    }
