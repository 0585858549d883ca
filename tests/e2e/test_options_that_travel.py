"""Options that a target receives: every byte that is sent to it is recorded and searched for planted values."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pushsalt.api import Client, Selection, Settings
from pushsalt.transport.local import LocalStream
from tests.beds.gitserver import Repo

CANARY = "canary-Zu8aequa"
#: A Salt master configuration with a secret in every option that may have one.
MASTER: dict[str, Any] = {
    "vault.auth.token": f"{CANARY}-1",
    "vault": {"auth": {"method": "token", "token": f"{CANARY}-2"}, "url": "https://vault.example"},
    "s3.key": f"{CANARY}-3",
    "s3.keyid": f"{CANARY}-4",
    "mysql.pass": f"{CANARY}-5",
    "mysql": {"user": "salt", "pass": f"{CANARY}-6", "db": "salt"},
    "my_option": {"nobody": {"knows": f"{CANARY}-7"}},
    "redis.password": f"{CANARY}-8",
    "external_auth": {"file": {"^filename": f"/{CANARY}-9"}},
    "etcd.host": f"{CANARY}-10",
    "schedule": {"job": {"function": "x.y", "kwargs": {"word": f"{CANARY}-11"}}},
    "beacons": {"telegram": [{"word": f"{CANARY}-12"}]},
    "master_tops": {"ext_nodes": f"true {CANARY}-13"},
    "roster_defaults": {"passwd": f"{CANARY}-14"},
    "ssh_passwd": f"{CANARY}-15",
    "nacl.config": {"sk": f"{CANARY}-16"},
    "gitfs_passphrase": f"{CANARY}-17",
    "boto.profile": {"word": f"{CANARY}-18"},
    "grafana": {"grafana_token": f"{CANARY}-19"},
    "http_auth_header": f"Bearer {CANARY}-20",
}
#: All options that a template can print.
ALL = "{{ opts | string }} {{ salt['config.items']() | string }} {{ salt['config.get']('vault', merge='recurse') }}"


@pytest.fixture
def sent_bytes(monkeypatch: pytest.MonkeyPatch) -> bytearray:
    """All bytes that are sent to targets."""
    sent = bytearray()
    write = LocalStream.write

    def record(self: LocalStream, data: bytes) -> None:
        sent.extend(data)
        write(self, data)

    monkeypatch.setattr(LocalStream, "write", record)
    return sent


@pytest.fixture
def make_client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Client]:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()

    def make_client(hosts: Any = None, **config: Any) -> Client:
        (tmp_path / "salt").mkdir(exist_ok=True)
        roots = {"file_roots": {"base": [str(tmp_path / "salt")]}, "pillar_roots": {"base": []}}
        path = tmp_path / "master"
        path.write_text(json.dumps({"cache_dir": str(tmp_path / "cache"), **roots, **MASTER, **config}))
        inventory = tmp_path / "inventory.yaml"
        inventory.write_text(json.dumps({"hosts": hosts or {"it": {"transport": "local"}}}))
        return Client(Settings(config=path, inventories=[inventory]))

    return make_client


def test_secrets_of_a_configuration_are_not_sent(
    make_client: Callable[..., Client], sent_bytes: bytearray, tmp_path: Path
) -> None:
    client = make_client(pkg_lock_timeout=777)
    (tmp_path / "salt" / "a.sls").write_text(
        f"{tmp_path}/shown:\n  file.managed:\n    - source: salt://shown.jinja\n    - template: jinja\n"
        "asked:\n  test.configurable_test_state:\n    - comment: __slot__:salt:config.items()\n"
    )
    (tmp_path / "salt" / "shown.jinja").write_text(f"{ALL} {{{{ salt['test.get_opts']() | string }}}}\n")
    done = client.apply(Selection("it"), ["a"])["it"]
    assert done.exit_code == 0, done.ret
    assert b"pkg_lock_timeout" in sent_bytes and b"config.items" in sent_bytes
    assert "777" in (tmp_path / "shown").read_text()
    assert CANARY.encode() not in sent_bytes
    assert CANARY not in (tmp_path / "shown").read_text() + json.dumps(done.ret)
    for fun, args in (("config.items", []), ("test.get_opts", []), ("config.option", ["*"]), ("config.get", ["vault"])):
        assert CANARY not in json.dumps(client.run(Selection("it"), fun, args)["it"].ret)
    assert CANARY.encode() not in sent_bytes


def test_templates_of_a_git_remote_get_no_secrets(
    make_client: Callable[..., Client], sent_bytes: bytearray, tmp_path: Path
) -> None:
    text = f"shown:\n  test.configurable_test_state:\n    - comment: >-\n        {ALL.replace('string', 'json')}\n"
    remote = Repo(tmp_path / "r.git", {"a.sls": text})
    client = make_client(fileserver_backend=["git"], gitfs_remotes=[remote.url])
    done = client.run(Selection("it"), "state.sls", ["a"])["it"]
    assert done.exit_code == 0, done.ret
    assert "hash_type" in json.dumps(done.ret) and CANARY not in json.dumps(done.ret)
    assert CANARY.encode() not in sent_bytes


def test_pillar_opts_have_no_secrets(make_client: Callable[..., Client], sent_bytes: bytearray) -> None:
    plain = {"my_option": {"a": 1, "token": f"{CANARY}-21"}, "etcd.host": "x", "s3.keyid": "x", "boto.profile": {}}
    client = make_client(pillar_opts=True, **plain)
    ret = client.run(Selection("it"), "pillar.items", [], {"unmask": True})["it"].ret
    assert ret["master"]["my_option"] == {"a": 1} and "vault" not in ret["master"]
    assert client.run(Selection("it"), "config.get", ["my_option:a"])["it"].ret == 1  # on the target, which asks
    assert CANARY not in json.dumps(ret)
    assert b"my_option" in sent_bytes and CANARY.encode() not in sent_bytes


def test_options_of_a_target_are_sent_to_it_only(make_client: Callable[..., Client], sent_bytes: bytearray) -> None:
    own = {"transport": "local", "minion_opts": {"mysql.pass": f"{CANARY}-own"}}
    client = make_client({"it": own, "other": {"transport": "local"}})
    assert client.run(Selection("other"), "config.option", ["mysql.pass"])["other"].ret == ""
    assert CANARY.encode() not in sent_bytes
    client.run(Selection("it"), "test.ping")
    assert f"{CANARY}-own".encode() in sent_bytes


def test_secret_options_are_hidden_in_shown_text(make_client: Callable[..., Client]) -> None:
    hide = make_client(gitfs_remotes=[f"https://me:{CANARY}-url@example.org/x.git"]).redactor()
    for number in (1, 2, 3, 5, 6, 8, 14, 15, 17, 19):
        assert CANARY not in hide.text(f"token is {CANARY}-{number}, said somebody"), number
    assert CANARY not in hide.text(f"fatal: https://me:{CANARY}-x@example.org, {CANARY}-url")
    assert hide.text("*passw* and *token* are globs") == "*passw* and *token* are globs"
