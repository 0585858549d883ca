"""Remembered identities of logins: a change of any file that a login depends on is seen."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pushsalt.model import Target
from pushsalt.transport import ConnectOptions, identity, lease
from pushsalt.transport.identity import Identities

TARGET = Target("web1", host="192.0.2.1", priv=())
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIO0m2Yxk4pQmC1uHhHqf8mDkZ9xQvT2nJcJm3kq3jq1N"


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    (tmp_path / ".ssh").mkdir(mode=0o700)
    (tmp_path / ".ssh" / "id_ed25519").write_text("a key\n")
    (tmp_path / ".ssh" / "known_hosts").write_text(f"192.0.2.1 {KEY}\n")
    return tmp_path


def _of(identities: Identities, target: Target = TARGET) -> tuple[str, bool]:
    """The identity for a command of its own, which reads files anew."""
    options = ConnectOptions(inventory={}, shared={})
    asked = {"target": lease.of_target(target), "options": lease.of_options(options), "jumps": {}}
    return identities.of(target, options, lease.digest(asked))


def _fresh(target: Target = TARGET) -> tuple[str, bool]:
    return identity.identity(target, ConnectOptions(inventory={}, shared={}))


def test_an_unchanged_login_is_not_computed_again(home, monkeypatch):
    identities = Identities()
    first = _of(identities)
    monkeypatch.setattr(identity, "_identity", lambda *_: pytest.fail("computed again"))
    assert _of(identities) == first


def _write(name: str, text: str):
    def change(home: Path) -> None:
        path = home / ".ssh" / name
        path.write_text(text)
        path.chmod(0o600)

    return change


CHANGES = {
    "a new ssh_config": _write("config", "Host 192.0.2.1\n  User other\n"),
    "another host key": lambda home: (home / ".ssh" / "known_hosts").unlink(),
    "a new file of host keys": _write("known_hosts2", f"@revoked 192.0.2.1 {KEY}\n"),
    "another key": _write("id_ed25519", "another key\n"),
    "a new key": _write("id_rsa", "a key\n"),
    "a certificate": _write("id_ed25519-cert.pub", "a certificate\n"),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_change_is_seen(home, change):
    identities = Identities()
    before = _of(identities)
    change(home)
    after = _of(identities)
    assert after != before
    assert after == _fresh()


def test_a_changed_ssh_config_is_seen(home):
    _write("config", "Host 192.0.2.1\n  User one\n")(home)
    identities = Identities()
    before = _of(identities)
    _write("config", "Host 192.0.2.1\n  User two\n")(home)
    assert _of(identities) == _fresh() != before


def test_an_ssh_config_that_others_can_write_to_is_left_out(home):
    _write("config", "Host 192.0.2.1\n  User one\n")(home)
    identities = Identities()
    before = _of(identities)
    (home / ".ssh" / "config").chmod(0o666)
    assert _of(identities) == _fresh() != before


INCLUDED = {"Include more/*": "a", "Include more/a": "a", "Include */b": "b"}


@pytest.mark.parametrize("line, name", INCLUDED.items())
def test_changes_of_included_files_are_seen(home, line, name):
    """A new file, a changed one, and one that is gone."""
    _write("config", f"{line}\n")(home)
    (home / ".ssh" / "more").mkdir()
    identities = Identities()
    found = [_of(identities)]
    for text in ("Host 192.0.2.1\n  User one\n", "Host 192.0.2.1\n  User two\n"):
        _write(f"more/{name}", text)(home)
        found.append(_of(identities))
        assert found[-1] == _fresh()
    (home / ".ssh" / "more" / name).unlink()
    assert _of(identities) == found[0]
    assert len(set(found)) == 3


def test_files_that_an_included_file_includes(home):
    _write("config", "Include one\n")(home)
    _write("one", "Include two\n")(home)
    _write("two", "Host 192.0.2.1\n  User one\n")(home)
    identities = Identities()
    before = _of(identities)
    _write("two", "Host 192.0.2.1\n  User two\n")(home)
    assert _of(identities) == _fresh() != before


def test_an_environment_variable_is_looked_up_each_time(home, monkeypatch):
    _write("config", "IdentityFile ${WHERE}/key\n")(home)
    identities = Identities()
    monkeypatch.setenv("WHERE", "/one")
    before = _of(identities)
    assert before[1]
    monkeypatch.setenv("WHERE", "/two")
    assert _of(identities) == _fresh() != before


def test_host_keys_that_change_while_a_command_runs(home):
    """A command reads known_hosts once; what it has read is not remembered for the changed file."""
    identities, options = Identities(), ConnectOptions(inventory={}, shared={})
    asked = {"target": lease.of_target(TARGET), "options": lease.of_options(options), "jumps": {}}
    first = identities.of(TARGET, options, lease.digest(asked))
    (home / ".ssh" / "known_hosts").write_text("")
    assert identities.of(TARGET, options, lease.digest(asked)) == first  # the same command
    assert _of(identities) == _fresh() != first


def test_targets_differ(home):
    identities = Identities()
    other = Target("web1", host="192.0.2.1", priv=(), port=2222)
    assert _of(identities) != _of(identities, other)


def test_an_agent_is_part_of_the_identity(home, monkeypatch):
    identities = Identities()
    before = _of(identities)
    monkeypatch.setenv("SSH_AUTH_SOCK", os.fspath(home / "agent"))
    assert _fresh() != before
