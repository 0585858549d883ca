"""Logging in to NATS: outside of this machine only with TLS and keys."""

from __future__ import annotations

import asyncio
import ssl

import pytest

from pushsalt.errors import UsageError
from pushsalt.workers import connection, setup
from pushsalt.workers.trust import connect_options, domain_of


@pytest.fixture
def folder(tmp_path):
    setup.init("berlin", tmp_path / "worker-berlin", None, None)
    return tmp_path / "worker-berlin"


@pytest.mark.parametrize("url", ["nats://127.0.0.1:4333", "localhost:4333", "nats://[::1]:4333", "tls://127.0.0.1"])
def test_this_machine_needs_no_keys(url):
    options = connect_options(url, None)
    assert ("user_jwt_cb" not in options and "tls" in options) or url.startswith("tls") is False
    assert len(options["servers"]) == 1


@pytest.mark.parametrize(
    ("url", "domain"),
    [
        ("nats://127.0.0.1", ""),
        ("nats://127.0.0.1?domain=hub", "hub"),
        ("127.0.0.1:4333/?domain=hub,nats://[::1]?domain=hub", "hub"),
    ],
)
def test_a_url_may_name_a_domain_of_jetstream(url, domain):
    assert domain_of(url) == domain
    assert not any("domain" in each for each in connect_options(url, None)["servers"])


@pytest.mark.parametrize("url", ["nats://127.0.0.1?domain=a.b", "nats://127.0.0.1?x=hub", "nats://127.0.0.1?domain="])
def test_an_unknown_query_of_a_url_is_refused(url):
    with pytest.raises(UsageError, match="is no URL of a NATS server"):
        domain_of(url)


def test_all_servers_have_one_domain():
    with pytest.raises(UsageError, match="different domains"):
        domain_of("nats://127.0.0.1?domain=a,nats://127.0.0.1")


def test_another_machine_needs_tls(folder):
    with pytest.raises(UsageError, match="without TLS") as caught:
        connect_options("nats://nats.example.com:4222", folder)
    assert "tls://nats.example.com" in caught.value.hint


def test_tls_is_needed_if_one_of_several_servers_is_on_another_machine(folder):
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
def test_an_invalid_url_is_refused(url):
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


async def test_servers_that_a_server_announces_are_not_used():
    """``_process_info`` of nats-py adds them, also later, to those with which it connects again."""
    info = b'{"server_id":"x","version":"2.10.0","max_payload":1048576,"headers":true}'
    later = info[:-1] + b',"connect_urls":["192.0.2.1:4222"]}'

    async def serve(reader, writer):
        writer.write(b"INFO " + later + b"\r\n")
        while line := await reader.readline():
            if line.startswith(b"PING"):
                writer.write(b"PONG\r\nINFO " + later + b"\r\n")
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    found = await connection.connect(f"nats://127.0.0.1:{port}")
    await found.nc.flush()
    await found.nc.flush()
    others = [each.netloc for each in (*found.nc.discovered_servers, *found.nc.servers)]
    await found.close()
    server.close()
    assert others == [f"127.0.0.1:{port}"]


async def test_nothing_is_sent_to_a_server_that_says_it_has_no_tls(monkeypatch):
    """An attacker between client and server can remove `tls_required` from its first message."""
    monkeypatch.setattr(connection, "CONNECT", 60.0)  # it is not asked again, so this does not pass
    received: list[bytes] = []

    async def serve(reader, writer):
        writer.write(b'INFO {"server_id":"x","version":"2.10.0","max_payload":1048576,"headers":true}\r\n')
        received.append(await reader.read(1000))
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    with pytest.raises(connection.ServerError, match="the server has no TLS") as caught:
        await connection.connect(f"tls://127.0.0.1:{port}")
    assert "certificate" in caught.value.hint
    server.close()
    await server.wait_closed()
    assert set(received) == {b""}
