"""http.query with a local server."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest

from thin import loader, runtime

XML = "<r><a>1</a><b><c>2</c><c>3</c><c><x>4</x></c><d>4</d></b><n:g xmlns:n='urn:n'/></r>"
PAGES = {
    "/json": ("application/json", '{"a": [1]}'),
    "/xml": ("text/xml; charset=utf-8", XML),
    "/yaml": ("application/yaml", "a: 0644\n"),
    "/text": ("text/plain", "sömething"),
}


class Handler(BaseHTTPRequestHandler):
    requests: ClassVar[list[dict[str, Any]]] = []
    busy: ClassVar[int] = 0

    def answer(self) -> None:
        size = int(self.headers.get("Content-Length") or 0)
        self.requests.append(
            {
                "method": self.command,
                "path": self.path,
                "headers": {name.lower(): value for name, value in self.headers.items()},
                "body": self.rfile.read(size).decode(),
            }
        )
        kind, text = PAGES.get(self.path.partition("?")[0], ("text/plain", "no such page"))
        code = 200 if self.path.partition("?")[0] in PAGES else 404
        if Handler.busy:
            Handler.busy, code = Handler.busy - 1, 503
        data = text.encode()
        self.send_response(code)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_POST = do_PUT = answer

    def log_message(self, *args: Any) -> None:
        pass


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    web_server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=web_server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{web_server.server_port}"
    web_server.shutdown()
    thread.join()
    web_server.server_close()


@pytest.fixture
def query(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    Handler.requests.clear()
    modules = loader.Loaders({"id": "it"}, runtime).modules
    return lambda url, fun="query", **kwargs: modules[f"http.{fun}"](url, **kwargs)


@pytest.mark.parametrize(
    "path, kwargs, expected",
    [
        ("/text", {}, {"body": "sömething"}),
        ("/text", {"text": True, "status": True}, {"body": "sömething", "text": "sömething", "status": 200}),
        ("/text", {"decode": True}, {"body": "sömething", "text": "sömething"}),
        ("/text", {"decode_body": False}, {"body": "sömething".encode()}),
        ("/json", {"decode": True}, {"body": '{"a": [1]}', "dict": {"a": [1]}}),
        ("/json", {"decode": True, "decode_type": "plain"}, {"body": '{"a": [1]}', "text": '{"a": [1]}'}),
        ("/none", {}, {"error": "HTTP 404: Not Found", "status": 404, "body": "no such page"}),
        ("/none", {"raise_error": False, "status": True}, {"status": 404, "body": "no such page"}),
        ("/json", {"test": True}, {}),
    ],
)
def test_a_query_returns_the_requested_parts(
    server: str, query: Callable[..., Any], path: str, kwargs: dict[str, Any], expected: Any
) -> None:
    assert query(server + path, **kwargs) == expected


def test_xml_is_decoded_as_by_salt(server: str, query: Callable[..., Any]) -> None:
    expected = [{"a": "1"}, {"c": ["2", {"c": "3"}, {"x": "4"}], "d": "4"}, {"g": None}]
    assert query(f"{server}/xml", decode=True)["dict"] == expected


def test_an_unknown_decoder_is_reported(server: str, query: Callable[..., Any]) -> None:
    assert "Invalid decode_type" in query(f"{server}/json", decode=True, decode_type="toml")["error"]


def test_arguments_become_parts_of_the_request(server: str, query: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "body").write_text("from a file")
    query(f"{server}/text?a=1", method="post", params={"b": "2 3"}, data_file=str(tmp_path / "body"))
    query(f"{server}/text", method="PUT", data={"x": "y z"}, username="ann", password="pw")
    query(f"{server}/text", header_dict={"X-One": "1"}, header_list=["X-Two: 2:3"], agent="me")
    post, put, get = Handler.requests
    assert (post["method"], post["path"], post["body"]) == ("POST", "/text?a=1&b=2+3", "from a file")
    assert (put["method"], put["body"]) == ("PUT", "x=y+z")
    assert put["headers"]["authorization"] == "Basic " + base64.b64encode(b"ann:pw").decode()
    assert [get["headers"][name] for name in ("x-one", "x-two", "user-agent")] == ["1", "2:3", "me"]


def test_a_query_writes_files(server: str, query: Callable[..., Any], tmp_path: Path) -> None:
    query(f"{server}/json", text_out=str(tmp_path / "t"), headers_out=str(tmp_path / "h"))
    assert json.loads((tmp_path / "t").read_text()) == {"a": [1]}
    assert "Content-Type: application/json\n" in (tmp_path / "h").read_text()


@pytest.mark.parametrize("url", ["http://127.0.0.1:1/", "file:///etc/passwd", "ftp://127.0.0.1/", "http://[", "none"])
def test_a_failed_request_is_an_error(query: Callable[..., Any], url: str) -> None:
    answer = query(url, status=True)
    assert answer["status"] == 0 and answer["error"] and "body" not in answer


def test_a_query_is_repeated_until_it_succeeds(server: str, query: Callable[..., Any]) -> None:
    Handler.busy = 2
    assert query(f"{server}/text", "wait_for_successful_query", wait_for=60, request_interval=0)["body"] == "sömething"
    assert len(Handler.requests) == 3
    assert "error" in query(f"{server}/none", "wait_for_successful_query", wait_for=0, request_interval=0)
