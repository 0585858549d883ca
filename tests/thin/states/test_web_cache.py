"""Web sources that the target caches: requested with an ETag, or not at all if their digest is known."""

from __future__ import annotations

import hashlib
import http.server
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from thin.loader import Loaders


class Handler(http.server.BaseHTTPRequestHandler):
    body = b"first"
    etag = True
    codes: list[int] = []  # noqa: RUF012

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        etag = f'"{hashlib.md5(self.body).hexdigest()}"'
        same = self.etag and self.headers.get("If-None-Match") == etag
        self.codes.append(304 if same else 200)
        self.send_response(self.codes[-1])
        if self.etag:
            self.send_header("ETag", etag)
        if not same:
            self.send_header("Content-Length", str(len(self.body)))
        self.end_headers()
        if not same and self.command == "GET":
            self.wfile.write(self.body)

    def log_message(self, *args: Any) -> None:
        pass


@pytest.fixture
def server() -> Iterator[str]:
    Handler.body, Handler.etag, Handler.codes = b"first", True, []
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as web_server:
        thread = threading.Thread(target=web_server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{web_server.server_address[1]}/a/file"
        web_server.shutdown()
        thread.join()


@pytest.fixture
def make(make_loaders: Callable[..., Loaders], tmp_path: Path) -> Callable[[], Loaders]:
    """A function that creates loaders, as in each run, with the same cachedir."""
    return lambda: make_loaders(opts={"test": False, "cachedir": str(tmp_path / "cache")})


def test_a_source_with_an_etag_is_requested_conditionally(make: Callable[[], Loaders], server: str) -> None:
    def cached() -> str:
        return Path(make().modules["cp.cache_file"](server, use_etag=True)).read_text()

    assert [cached(), cached()] == ["first", "first"] and Handler.codes == [200, 304]
    Handler.body = b"second"
    assert [cached(), cached()] == ["second", "second"] and Handler.codes[2:] == [200, 304]
    Handler.etag = False
    assert cached() == "second"
    Handler.etag = True
    assert cached() == "second" and Handler.codes[4:] == [200, 200]  # no ETag of an older copy is sent

    Path(make().modules["cp.is_cached"](server)).unlink()
    assert cached() == "second" and Handler.codes[6:] == [200]


def test_a_known_digest_needs_no_download(make: Callable[[], Loaders], server: str, tmp_path: Path) -> None:
    digest = hashlib.sha256(Handler.body).hexdigest()
    for text in (digest, f"sha256={digest}"):
        assert make().modules["cp.cache_file"](server, source_hash=text)
    assert len(Handler.codes) == 1
    name = str(tmp_path / "managed")
    for _ in range(2):
        assert make().states["file.managed"](name, source=server, source_hash=digest)["result"] is True
        Path(name).write_text("drift")
    assert len(Handler.codes) == 1


@pytest.mark.parametrize("function", ["managed", "cached"])
def test_states_use_the_etag(make: Callable[[], Loaders], server: str, tmp_path: Path, function: str) -> None:
    def run(**options: Any) -> tuple[bool, bool]:
        name = {"name": server} if function == "cached" else {"name": str(tmp_path / "managed"), "source": server}
        ret = make().states[f"file.{function}"](**name, **options)
        return ret["result"], bool(ret["changes"])

    assert run() == (False, False) and not Handler.codes
    assert run(use_etag=True) == (True, True)
    assert run(use_etag=True) == (True, False)
    Handler.body = b"second"
    assert run(use_etag=True) == (True, True)
    assert Handler.codes == [200, 304, 200]
