"""Stores of profiles, and a bed for each driver: where its values are, how they are set, and how it fails."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgpack
import pytest

from pushsalt.programs import run_program
from pushsalt.sdb import Outside
from pushsalt.sdb.store import Sdb
from tests.beds import secretservers
from tests.beds.sshd import free_port

OWN = """
import json
from pathlib import Path

__func_alias__ = {"set_": "set"}
__virtualname__ = "mine"


def __virtual__():
    return __virtualname__


def _values(profile):
    if profile.get("down"):
        raise ConnectionError("nobody answers")
    path = Path(profile["file"])
    return path, json.loads(path.read_text()) if path.exists() else {}


def get(key, profile=None):
    return _values(profile)[1].get(key)


def set_(key, value, service=None, profile=None):
    path, values = _values(profile)
    path.write_text(json.dumps({**values, key: value}))
    return True


def delete(key, service=None, profile=None):
    path, values = _values(profile)
    there = values.pop(key, None) is not None
    path.write_text(json.dumps(values))
    return there
"""


@dataclass
class Bed:
    """One driver. ``uri`` makes the URI of a key; ``put`` sets a value in the store, without the driver."""

    profile: dict[str, Any]
    down: dict[str, Any]
    put: Callable[[str, str], None]
    uri: Callable[[str], str] = lambda key: f"sdb://it/{key}"
    sets: bool = True
    folders: tuple[Path, ...] = ()
    opts: dict[str, Any] = field(default_factory=dict)
    hidden: list[Any] = field(default_factory=list)

    def store(self, profile: Mapping[str, Any] | None = None) -> Sdb:
        opts = {"it": dict(profile or self.profile), "file_roots": {}, **self.opts}
        return Sdb(opts, Outside(run_program, opts=opts), folders=self.folders, hide=self.hidden.append)


def _env(tmp_path, monkeypatch, request):
    return Bed({"driver": "env"}, {}, monkeypatch.setenv)


def _yaml(tmp_path, monkeypatch, request):
    path = tmp_path / "values.yaml"
    path.write_text("{}")
    return Bed(
        {"driver": "yaml", "files": [str(path)]},
        {"driver": "yaml", "files": [str(tmp_path / "nope.yaml")]},
        lambda key, value: path.write_text(f"app:\n  {key}: {value}\n") and None,
        uri=lambda key: f"sdb://it/app:{key}",
        sets=False,
    )


def _sqlite3(tmp_path, monkeypatch, request):
    path = tmp_path / "values.sqlite"

    def put(key, value):
        with sqlite3.connect(path) as made:  # in the form of Salt 3006's driver
            made.execute("CREATE TABLE IF NOT EXISTS sdb (key text, value blob)")
            made.execute("CREATE UNIQUE INDEX IF NOT EXISTS sdb_idx ON sdb (key)")
            made.execute("INSERT OR REPLACE INTO sdb VALUES (?, ?)", (key, msgpack.packb(value)))
        made.close()

    down = {"driver": "sqlite3", "database": str(tmp_path / "no" / "folder.sqlite")}
    return Bed({"driver": "sqlite3", "database": str(path)}, down, put)


def _keyring(tmp_path, monkeypatch, request):
    keyring = pytest.importorskip("keyring")
    plaintext = pytest.importorskip("keyrings.alt.file").PlaintextKeyring()
    plaintext.file_path = str(tmp_path / "ring.cfg")
    before = keyring.get_keyring()
    keyring.set_keyring(plaintext)
    request.addfinalizer(lambda: keyring.set_keyring(before))
    return Bed(
        {"driver": "keyring", "service": "pushsalt"},
        {"driver": "keyring"},
        lambda key, value: keyring.set_password("pushsalt", key, value),
    )


def _pass(tmp_path, monkeypatch, request):
    store = request.getfixturevalue("password_store")
    down = {**store.profile, "gnupghome": str(tmp_path / "nokeys")}
    (tmp_path / "nokeys").mkdir(mode=0o700)
    store.put("app/there", "x")
    return Bed(
        store.profile,
        down,
        lambda key, value: store.put(f"app/{key}", f"{value}\nlogin: me\n"),
        uri=lambda key: f"sdb://it/app/{key}",
    )


def _rest(tmp_path, monkeypatch, request):
    web = request.getfixturevalue("web")
    entry = {"url": web.url + "/values/{{ key }}", "key": "data:value"}
    return Bed(
        {"driver": "rest", "values": entry},
        {"driver": "rest", "values": {"url": f"http://127.0.0.1:{free_port()}/{{{{key}}}}"}},
        lambda key, value: web.json(f"/values/{key}", {"data": {"value": value}}),
        uri=lambda key: f"sdb://it/values?key={key}",
        sets=False,
    )


def _redis(tmp_path, monkeypatch, request):
    port = request.getfixturevalue("redis_port")
    from thin.utils.programs import resp

    def put(key, value):
        with resp.Client("127.0.0.1", port, 3, "redis-password") as server:
            server("SET", key, value)

    profile = {"driver": "redis", "host": "127.0.0.1", "port": port, "db": 3, "password": "redis-password"}
    return Bed(profile, {**profile, "port": free_port()}, put)


def _vault(version):
    def bed(tmp_path, monkeypatch, request):
        vault = request.getfixturevalue("vault")
        mount = "secret" if version == 2 else "old"
        down = f"http://127.0.0.1:{free_port()}"

        def put(key, value):
            body = {"value": value, "other": "x"}
            place = f"secret/data/app/{key}" if version == 2 else f"old/app/{key}"
            vault.ask("POST", place, {"data": body} if version == 2 else body)

        return Bed(
            {"driver": "vault", "url": vault.url},
            {"driver": "vault", "url": down},
            put,
            uri=lambda key: f"sdb://it/{mount}/app/{key}?value",
            opts={"vault": {"auth": {"method": "token", "token": vault.token}}},
        )

    return bed


def _own(tmp_path, monkeypatch, request):
    folder, path = tmp_path / "_sdb", tmp_path / "values.json"
    folder.mkdir()
    (folder / "of_mine.py").write_text(OWN)

    def put(key, value):
        path.write_text(json.dumps({**(json.loads(path.read_text()) if path.exists() else {}), key: value}))

    return Bed({"driver": "mine", "file": str(path)}, {"driver": "mine", "down": True}, put, folders=(folder,))


BEDS = {
    "env": _env,
    "yaml": _yaml,
    "sqlite3": _sqlite3,
    "keyring": _keyring,
    "pass": _pass,
    "rest": _rest,
    "redis": _redis,
    "vault1": _vault(1),
    "vault2": _vault(2),
    "own": _own,
}


@pytest.fixture(params=BEDS)
def bed(request, tmp_path, monkeypatch):
    return BEDS[request.param](tmp_path, monkeypatch, request)


@pytest.fixture(scope="session")
def redis_port(tmp_path_factory):
    with secretservers.redis_server(tmp_path_factory.mktemp("redis"), "redis-password") as port:
        yield port


@pytest.fixture(scope="session")
def vault(tmp_path_factory):
    with secretservers.vault_server(tmp_path_factory.mktemp("vault")) as made:
        yield made


@pytest.fixture(scope="session")
def password_store(tmp_path_factory):
    with secretservers.password_store(tmp_path_factory.mktemp("pass")) as made:
        yield made


@pytest.fixture
def web():
    with secretservers.web_server() as made:
        yield made
