"""The type http_api, with a local server."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest


class Endpoint(ThreadingHTTPServer):
    """Objects by path; records requests and their headers."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.objects: dict[str, Any] = {"/api/about": {"version": "2.1", "tags": ["a"]}, "/api/health": {}}
        self.requests: list[tuple[str, str, str | None]] = []
        self.elsewhere = ""
        self.stubborn = False
        self.url = f"http://127.0.0.1:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    server: Endpoint

    def do_GET(self) -> None:  # http.server defines the name
        path, server = self.path, self.server
        server.requests.append((self.command, path, self.headers.get("Authorization")))
        size = int(self.headers.get("Content-Length") or 0)
        data = json.loads(self.rfile.read(size)) if size else None
        if path == "/api/elsewhere":
            return self._answer(302, None, {"Location": server.elsewhere})
        if path == "/api/moved":
            return self._answer(302, None, {"Location": "/api/about"})
        if path == "/api/text":
            return self._answer(200, b"just text")
        if self.command == "POST":
            return self._answer(201, {"got": data})
        if self.command in ("PUT", "DELETE") and server.stubborn:
            return self._answer(200, {})
        if self.command == "PUT":
            server.objects[path] = data
        elif path not in server.objects:
            return self._answer(404, {"error": "none"})
        elif self.command == "DELETE":
            del server.objects[path]
            return self._answer(204, None)
        return self._answer(200, server.objects[path])

    do_PUT = do_POST = do_DELETE = do_PATCH = do_GET

    def _answer(self, status: int, data: Any, headers: dict[str, str] | None = None) -> None:
        body = data if isinstance(data, bytes) else b"" if data is None else json.dumps(data).encode()
        self.send_response(status)
        for name, value in {**(headers or {}), "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: Any) -> None:
        pass


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with Endpoint() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def declared(endpoint: Endpoint) -> dict[str, Any]:
    whole = {"url": endpoint.url + "/api/", "token": "s3cret", "grains": "/about", "ping": "health"}
    return {"timeout": 5, "resource_ids": {"crm": whole, "wiki": endpoint.url + "/none"}}


def test_endpoints_are_discovered_with_their_grains(bed, endpoint, declared) -> None:
    found, failed = bed.discover(http_api=declared)
    assert failed == {}
    assert found["http_api"] == {
        "crm": {"grains": {"url": endpoint.url + "/api", "version": "2.1", "tags": ["a"]}},
        "wiki": {"grains": {"url": endpoint.url + "/none"}},
    }
    assert endpoint.requests == [("GET", "/api/about", "Bearer s3cret")]


def test_endpoints_that_are_down_or_invalid_are_reported(bed, endpoint, declared) -> None:
    declared["resource_ids"].update(
        down={"url": "http://127.0.0.1:1", "grains": "/"},
        user="http://me:hidden@127.0.0.1/",
        file="file:///etc/passwd",
        number=5,
        typo={"url": endpoint.url, "tokn": "hidden"},
        lines={"url": endpoint.url, "token": "hidden\nX: y"},
    )
    endpoint.objects["/api/about"] = ["no object"]
    found, failed = bed.discover(http_api=declared)
    assert sorted(found["http_api"]) == sorted(declared["resource_ids"])
    assert [id for id, resource in found["http_api"].items() if "grains" in resource] == ["wiki"]
    assert "hidden" not in str(failed) and "s3cret" not in str(failed)
    assert "crm" in failed["http_api"] and "gives no JSON object" in failed["http_api"]
    for id, expected in {
        "down": "GET http://127.0.0.1:1/: ",
        "user": "without user and password",
        "file": "no URL of http",
        "number": "an endpoint is a URL",
        "typo": "there is no option tokn",
        "lines": "'Authorization' has a character",
    }.items():
        peer = bed.start({"type": "http_api", "id": id, "declared": declared})
        if id == "down":
            assert peer.call("test.ping") is False
        message = bed.error(peer, "http_api.get", "/")
        assert expected in message and "hidden" not in message


def test_requests_to_an_endpoint(bed, endpoint, declared) -> None:
    peer = bed.start({"type": "http_api", "id": "crm", "declared": declared})
    assert peer.call("test.ping") is True
    assert peer.call("http_api.get", "/about") == {"version": "2.1", "tags": ["a"]}
    assert peer.call("http_api.get", "text") == "just text"
    assert peer.call("http_api.get", "/moved")["version"] == "2.1"
    assert peer.call("http_api.post", "/made", {"a": ["ü"]}) == {"got": {"a": ["ü"]}}
    assert peer.call("http_api.put", "/x y/ü", {"a": 1}) == {"a": 1}
    assert "/api/x%20y/%C3%BC" in endpoint.objects
    assert "404 Not Found" in bed.error(peer, "http_api.get", "/nothing")
    assert peer.call("http_api.find", "/nothing") is None
    assert "not supported" in bed.error(peer, "cmd.run", "id")
    assert bed.start({"type": "http_api", "id": "wiki", "declared": declared}).call("test.ping") is False
    undeclared = bed.start({"type": "http_api", "id": "gone", "declared": declared})
    assert "no endpoint" in bed.error(undeclared, "http_api.get")
    assert {token for _, path, token in endpoint.requests if path.startswith("/api")} == {"Bearer s3cret"}


def test_a_token_is_not_sent_to_another_server(bed, endpoint, declared) -> None:
    with Endpoint() as other:
        endpoint.elsewhere = other.url + "/api/about"
        peer = bed.start({"type": "http_api", "id": "crm", "declared": declared}, log_level="debug")
        assert "302" in bed.error(peer, "http_api.get", "/elsewhere")
        assert other.requests == []
    assert "s3cret" not in str(peer.others)


def test_states_of_an_endpoint(bed, endpoint, declared) -> None:
    peer = bed.start({"type": "http_api", "id": "crm", "declared": declared})
    chunk = {"state": "http_api", "fun": "present", "name": "/customers/7", "data": {"name": "Ann", "plan": "gold"}}
    changes = {"name": {"old": None, "new": "Ann"}, "plan": {"old": None, "new": "gold"}}
    [dry] = bed.states(peer, chunk, test=True)
    assert (dry["result"], dry["changes"]) == (None, changes) and "/api/customers/7" not in endpoint.objects
    [first] = bed.states(peer, chunk)
    assert (first["result"], first["changes"]) == (True, changes)
    endpoint.objects["/api/customers/7"].update(plan="tin", since=1999)
    [drift] = bed.states(peer, chunk)
    assert (drift["result"], drift["changes"]) == (True, {"plan": {"old": "tin", "new": "gold"}})
    assert endpoint.objects["/api/customers/7"] == {"name": "Ann", "plan": "gold", "since": 1999}
    [unchanged] = bed.states(peer, chunk)
    assert (unchanged["result"], unchanged["changes"]) == (True, {})
    [whole] = bed.states(peer, {**chunk, "replace": True, "show_changes": False})
    assert (whole["result"], whole["changes"]) == (True, {"since": {"old": "*" * 10, "new": "*" * 10}})
    endpoint.stubborn = True
    absent = {"state": "http_api", "fun": "absent", "name": "/customers/7"}
    assert "still there" in bed.states(peer, absent)[0]["comment"]
    assert "still otherwise: plan" in bed.states(peer, {**chunk, "data": {"plan": "x"}})[0]["comment"]
    endpoint.stubborn = False
    assert [bed.states(peer, absent, test=test)[0]["result"] for test in (True, False, True)] == [None, True, True]
    assert "/api/customers/7" not in endpoint.objects
    bad = bed.start({"type": "http_api", "id": "typo", "declared": {"resource_ids": {"typo": 5}}})
    assert bed.states(bad, chunk)[0]["result"] is False
