"""Downloads by curl and wget from a real server, for targets whose Python has no http."""

from __future__ import annotations

import base64
import builtins
import http.server
import os
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.thin import filebed
from thin import link
from thin.exceptions import CommandExecutionError
from thin.utils.files import web, webtool

BODY = bytes(range(256)) * 3000


class Handler(http.server.BaseHTTPRequestHandler):
    def do_HEAD(self) -> None:
        self.answer(False)

    def do_GET(self) -> None:
        self.answer(True)

    def answer(self, body: bool) -> None:
        if self.path == "/moved":
            self.send_response(302)
            self.send_header("Location", "/file")
            self.end_headers()
        elif self.path == "/private" and self.headers.get("Authorization") != self.login:
            self.send_response(401)
            self.send_header("WWW-Authenticate", 'Basic realm="x"')
            self.end_headers()
        elif self.path in ("/file", "/private", "/cut", "/a%22b[1]"):
            self.send_response(200)
            self.send_header("Content-Length", str(len(BODY)))
            self.end_headers()
            if body:
                self.wfile.write(BODY[:1000] if self.path == "/cut" else BODY)
        else:
            self.send_error(404, "Not Found")

    login = "Basic " + base64.b64encode(b"me:s@cret").decode()

    def log_message(self, *args: Any) -> None:
        pass


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as web_server:
        thread = threading.Thread(target=web_server.serve_forever)
        thread.start()
        yield f"127.0.0.1:{web_server.server_address[1]}"
        web_server.shutdown()
        thread.join()


@pytest.fixture(params=["curl", "wget"])
def tool(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The only program for downloads, with a Python that cannot import urllib.request."""
    program = shutil.which(request.param)
    if not program:
        pytest.skip(f"no {request.param}")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / request.param).symlink_to(program)
    without_http(monkeypatch)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    return str(request.param)


def without_http(monkeypatch: pytest.MonkeyPatch) -> None:
    original = builtins.__import__

    def limited(name: str, *rest: Any) -> Any:
        if name == "urllib.request":
            raise ModuleNotFoundError(name)
        return original(name, *rest)

    monkeypatch.setattr(builtins, "__import__", limited)


@pytest.mark.parametrize("path", ["file", "moved", "a%22b[1]"])
def test_a_url_is_fetched(tool: str, server: str, path: str, tmp_path: Path) -> None:
    target = tmp_path / "there/got"
    assert web.fetch(f"http://{server}/{path}", target=str(target)) == str(target)
    assert target.read_bytes() == BODY
    assert web.exists(f"http://{server}/{path}")


def test_a_password_is_in_no_argument(tool: str, server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[list[str]] = []
    original = webtool.Answer.__init__

    def recording(self: Any, argv: list[str], config: str) -> None:
        calls.append(argv)
        original(self, argv, config)

    monkeypatch.setattr(webtool.Answer, "__init__", recording)
    web.fetch(f"http://me:s%40cret@{server}/private", target=str(tmp_path / "got"))
    assert (tmp_path / "got").read_bytes() == BODY
    assert calls
    assert not any("cret" in argument for argv in calls for argument in argv)


@pytest.mark.parametrize("path", ["nothing", "cut", "private"])
def test_failures_leave_the_old_file(tool: str, server: str, path: str, tmp_path: Path) -> None:
    target = tmp_path / "got"
    target.write_text("old")
    with pytest.raises(CommandExecutionError, match=f"Error: .* reading http://{server}/{path}"):
        web.fetch(f"http://{server}/{path}", target=str(target))
    assert target.read_text() == "old"
    assert sorted(os.listdir(tmp_path)) == ["bin", "got"]


def test_a_missing_source_leaves_no_file(
    tool: str, server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not web.exists(f"http://{server}/nothing")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with pytest.raises(CommandExecutionError, match="404"):
        web.fetch(f"http://{server}/nothing")
    assert os.listdir(tmp_path) == ["bin"]


def test_a_line_break_in_a_url_is_refused(tool: str, server: str, tmp_path: Path) -> None:
    with pytest.raises(CommandExecutionError, match="white space"):
        web.fetch(f'http://{server}/file"\noutput = "{tmp_path}/x', target=str(tmp_path / "got"))


def test_the_error_without_programs_names_packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without_http(monkeypatch)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CommandExecutionError, match="install one of the packages python3, curl and wget"):
        web.fetch("http://127.0.0.1:9/x")


def test_a_dry_run_without_programs_predicts_a_download(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bed = filebed.Bed(tmp_path / "bed")
    before = link.connect(bed.link)
    without_http(monkeypatch)
    monkeypatch.setenv("PATH", str(tmp_path))
    try:
        for name, changes in ("new", {"newfile": f"{tmp_path}/new"}), ("old", {"diff": "not known yet"}):
            if name == "old":
                (tmp_path / "old").write_text("x")
            arguments = {"source": "http://127.0.0.1:9/x", "skip_verify": True}
            bed.opts["test"] = True
            ret = bed.loaders.states["file.managed"](f"{tmp_path}/{name}", **arguments)
            assert (ret["result"], ret["changes"]) == (None, changes), ret
            assert "neither curl nor wget" in ret["comment"]
        bed.opts["test"] = False
        ret = bed.loaders.states["file.managed"](f"{tmp_path}/new", **arguments)
        assert ret["result"] is False and "install one of the packages" in ret["comment"]
    finally:
        link.connect(before)
