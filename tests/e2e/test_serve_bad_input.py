"""``pushsalt serve``: invalid requests, slow clients, wrong passwords."""

from __future__ import annotations

import socket
import time

import pytest

from pushsalt.journal.store import Journal
from tests.beds.serving import Served


@pytest.mark.parametrize(
    "body, kind, status, message",
    [
        (b"{", "application/json", 400, "Invalid JSON"),
        (b"[" * 5000, "application/json", 400, "Invalid JSON"),
        (b"[NaN]", "application/json", 400, "Invalid JSON"),
        (b"\xff\xfe", "application/json", 400, "UTF-8"),
        (b'"text"', "application/json", 400, "Lowstates must be a list"),
        (b"[1]", "application/json", 400, "Lowstates must be a list"),
        (b"[" + b",".join([b"{}"] * 101) + b"]", "application/json", 400, "at most 100"),
        (b"a: [", "application/x-yaml", 400, "Invalid YAML"),
        (b"!!python/object/apply:os.system [id]", "application/x-yaml", 400, "Invalid YAML"),
        (b"a=1&" * 2000, "application/x-www-form-urlencoded", 400, "at most 1000"),
        (b"<a/>", "application/xml", 406, "not supported"),
        (b"", "application/json", 400, "Lowstates must be a list"),
    ],
)
def test_invalid_bodies_are_refused(served, body, kind, status, message):
    answer = served.request("POST", "/", body, "anna", {"Content-Type": kind})
    assert answer.status == status and message in answer.data["return"]


def test_invalid_expressions_are_refused(served):
    answer = served.low("anna", client="local", tgt="( web1", tgt_type="compound", fun="test.ping")
    assert answer.status == 400 and answer.data["return"]
    answer = served.low("anna", client="local", tgt="x", tgt_type="nodegroup", fun="test.ping")
    assert answer.status in (200, 400)


def test_a_body_that_is_too_large_is_refused(served):
    answer = served.request("POST", "/", b"x" * ((1 << 20) + 1), "anna")
    assert answer.status == 413
    with socket.create_connection(("127.0.0.1", served.port), timeout=30) as connection:  # of unknown length
        head = f"POST /hook/x HTTP/1.1\r\nHost: x\r\nX-Auth-Token: {served.token('anna')}\r\nTransfer-Encoding: chunked"
        connection.sendall(head.encode() + b"\r\n\r\n")
        try:
            for _ in range(40):
                connection.sendall(b"10000\r\n" + b"x" * 65536 + b"\r\n")
            connection.sendall(b"0\r\n\r\n")
        except OSError:
            pass
        assert connection.recv(20).startswith(b"HTTP/1.1 413")


def test_a_head_that_is_too_large_is_refused(served):
    with socket.create_connection(("127.0.0.1", served.port), timeout=30) as connection:
        try:
            connection.sendall(b"GET / HTTP/1.1\r\nX: " + b"x" * 200_000)
        except OSError:
            pass
        assert connection.recv(20).startswith(b"HTTP/1.1 400")


@pytest.mark.slow
def test_slow_clients_are_disconnected(served):
    """A head and a body arrive too slowly; other clients are served meanwhile."""
    start = time.monotonic()
    with (
        socket.create_connection(("127.0.0.1", served.port), timeout=60) as silent,
        socket.create_connection(("127.0.0.1", served.port), timeout=60) as head,
        socket.create_connection(("127.0.0.1", served.port), timeout=60) as body,
    ):
        head.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n")
        token = served.token("anna").encode()
        body.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nX-Auth-Token: " + token + b"\r\nContent-Length: 100\r\n\r\n[")
        assert served.get("/stats", "anna").status == 200
        assert head.recv(100) == b""  # closed
        assert silent.recv(100) == b""
        assert body.recv(20).startswith(b"HTTP/1.1 408")
    assert time.monotonic() - start < 50


@pytest.mark.slow
def test_a_client_that_does_not_read_is_disconnected(served):
    """Its stream of events is closed, and the server continues."""
    with socket.create_connection(("127.0.0.1", served.port), timeout=60) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        text = f"GET /events HTTP/1.1\r\nHost: x\r\nX-Auth-Token: {served.token('anna')}\r\nLast-Event-ID: 0\r\n\r\n"
        connection.sendall(text.encode())
        journal = Journal(served.project.cache)
        for _ in range(40):
            journal.put("app/large", {"text": "x" * 500_000})
        end = time.monotonic() + 60
        while served.get("/stats", "anna").data["pushsalt serve"]["event_streams"] and time.monotonic() < end:
            time.sleep(0.5)
        assert served.get("/stats", "anna").data["pushsalt serve"]["event_streams"] == 0


def test_the_number_of_wrong_passwords_is_limited(tmp_path):
    with Served(tmp_path) as served:
        statuses = [served.login("ben", f"wrong{number}").status for number in range(7)]
        assert statuses == [401] * 5 + [429] * 2
        assert served.login("ben").status == 429
        assert int(served.login("ben").headers["retry-after"]) > 0
        assert served.login("anna").status == 200
        assert served.login("nobody").status == 401


def test_accounts_can_be_limited_to_addresses(tmp_path):
    acl = {"users": {"anna": ["10.0.0.1"], "*": ["127.0.0.1"]}}
    with Served(tmp_path, rest_cherrypy={"api_acl": acl}) as served:
        assert served.login("anna").status == 401
        assert served.login("ben").status == 200
    with Served(tmp_path / "b", rest_cherrypy={"authorized_ips": ["10.0.0.1"]}) as served:
        assert served.get("/").status == 403
