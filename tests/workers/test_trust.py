"""Logging in to NATS: outside of this machine only with TLS and keys."""

from __future__ import annotations

import ssl

import pytest

from pushsalt.errors import UsageError
from pushsalt.workers import setup
from pushsalt.workers.trust import connect_options


@pytest.fixture
def folder(tmp_path):
    setup.init("berlin", tmp_path / "worker-berlin", None, None)
    return tmp_path / "worker-berlin"


@pytest.mark.parametrize("url", ["nats://127.0.0.1:4333", "localhost:4333", "nats://[::1]:4333", "tls://127.0.0.1"])
def test_this_machine_needs_no_keys(url):
    options = connect_options(url, None)
    assert ("user_jwt_cb" not in options and "tls" in options) or url.startswith("tls") is False
    assert len(options["servers"]) == 1


def test_another_machine_needs_tls(folder):
    with pytest.raises(UsageError, match="without TLS") as caught:
        connect_options("nats://nats.example.com:4222", folder)
    assert "tls://nats.example.com" in caught.value.hint


def test_one_server_of_several_on_another_machine_needs_it_too(folder):
    with pytest.raises(UsageError, match="without TLS"):
        connect_options("nats://127.0.0.1, nats://192.0.2.1", folder)


def test_another_machine_needs_credentials():
    with pytest.raises(UsageError, match="no credentials"):
        connect_options("tls://nats.example.com", None)


@pytest.mark.parametrize("url", ["nats://user:secret@127.0.0.1", "tls://token@nats.example.com"])
def test_a_password_in_the_url_is_refused_and_not_shown(url, folder):
    with pytest.raises(UsageError, match="has a login") as caught:
        connect_options(url, folder)
    assert "secret" not in str(caught.value) and "token" not in str(caught.value)


@pytest.mark.parametrize("url", ["", "http://127.0.0.1", "nats://", "nats://127.0.0.1:99999", "nats://127.0.0.1/x"])
def test_what_is_no_url_is_refused(url):
    with pytest.raises(UsageError):
        connect_options(url, None)


def test_tls_checks_certificate_and_name(folder):
    options = connect_options("tls://nats.example.com", folder)
    assert options["servers"] == ["tls://nats.example.com:4222"]
    assert options["tls"].verify_mode == ssl.CERT_REQUIRED and options["tls"].check_hostname
    assert options["inbox_prefix"] == "_INBOX_pushsalt_berlin"
    assert options["user_jwt_cb"]().startswith(b"ey")


def test_credentials_that_others_can_read_are_refused(folder):
    (folder / "site.creds").chmod(0o640)
    with pytest.raises(UsageError, match=r"site.creds is not used"):
        connect_options("nats://127.0.0.1", folder)
