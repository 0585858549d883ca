from __future__ import annotations

import hashlib
import os

import pytest

from pushsalt.errors import ConfigError
from pushsalt.files.found import FileServerError
from pushsalt.fileserver import FileServer, clean_path
from pushsalt.salturl import parse_url, split_url


@pytest.fixture
def serve(tmp_path):
    """Makes a FileServer over folders of tmp_path: `serve({"base": ["a", "b"]}, {"a/x.sls": "text"}, option=…)`."""

    def make(roots, files=(), **opts):
        for path, text in dict(files).items():
            file = tmp_path / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        full = {saltenv: [str(tmp_path / folder) for folder in folders] for saltenv, folders in roots.items()}
        return FileServer({"file_roots": full, **opts})

    return make


def test_the_first_root_that_has_a_file_wins(serve):
    server = serve({"base": ["one", "two"]}, {"one/a": "1", "two/a": "2", "two/b": "3"})
    assert (server.read("a"), server.read("b"), server.read("c")) == (b"1", b"3", None)
    assert server.list_files() == ["a", "b"]


def test_saltenvs(serve):
    server = serve({"base": ["one"], "dev": ["two"]}, {"one/a": "1", "two/a": "2"})
    assert server.envs() == ["base", "dev"]
    assert server.read("a", "dev") == b"2"
    assert server.read("salt://a?saltenv=dev") == b"2"
    assert server.read("a", "nope") is None
    assert server.list_files("nope") == []


def test_dynamic_saltenvs(serve):
    server = serve({"base": ["one"], "__env__": ["envs/__env__/salt"]}, {"envs/dev/salt/a": "1", "salt/a": "2"})
    assert server.read("a", "dev") == b"1"
    assert server.list_files("dev") == ["a"]
    for saltenv in ("..", ".", "dev/../..", "x\0", ""):
        assert server.find("a", saltenv) is None
        assert server.list_files(saltenv) == []


@pytest.mark.parametrize(
    "path",
    [
        "../secret",
        "a/../../secret",
        "/etc/passwd",
        "salt://../secret",
        "salt:////etc/../../secret",
        "",
        ".",
        "a\0b",
        "sub",
    ],
)
def test_only_files_within_the_roots(serve, tmp_path, path):
    (tmp_path / "secret").write_text("secret")
    server = serve({"base": ["one"]}, {"one/sub/a": "1"})
    assert server.find(path) is None


@pytest.mark.parametrize(
    "url, want",
    [
        ("salt://a/b", ("a/b", "base")),
        ("salt:///a", ("a", "base")),
        ("salt://a?saltenv=dev", ("a", "dev")),
        ("salt://a?b", ("a?b", "base")),
        ("salt://|a", ("a", "base")),
        ("a/b?saltenv=x", ("a/b?saltenv=x", "base")),
    ],
)
def test_parse_url(url, want):
    assert parse_url(url) == want
    assert split_url(url, "base") == (want if url.startswith("salt://") else None)


@pytest.mark.parametrize(
    "path, want",
    [("a//b/./c", "a/b/c"), ("a/../b", "b"), ("..", None), ("a/../..", None), ("..a/b", "..a/b"), ("", None)],
)
def test_clean_path(path, want):
    assert clean_path(path) == want


def test_links_are_followed_unless_told_otherwise(serve, tmp_path):
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "x.sls").write_text("out")
    files = {"one/real/a": "in"}
    server = serve({"base": ["one"]}, files, fileserver_followsymlinks=True)
    (tmp_path / "one" / "out").symlink_to(tmp_path / "outside")
    (tmp_path / "one" / "link").symlink_to("real")
    (tmp_path / "one" / "file").symlink_to("real/a")
    assert server.read("out/x.sls") == b"out"
    assert server.read("link/a") == b"in"
    assert server.list_files() == ["file", "link/a", "out/x.sls", "real/a"]
    assert server.symlinks() == {"link": "real", "file": "real/a"}

    strict = serve({"base": ["one"]}, fileserver_followsymlinks=False)
    assert strict.find("out/x.sls") is None
    assert strict.read("link/a") == b"in"
    assert strict.list_files() == ["file", "real/a"]
    assert strict.list_dirs() == ["link", "out", "real"]

    none = serve({"base": ["one"]}, fileserver_ignoresymlinks=True)
    assert none.symlinks() == {}


def test_a_link_out_of_the_roots_is_not_followed_unless_asked(serve, tmp_path, caplog):
    (tmp_path / "outside" / "deep").mkdir(parents=True)
    (tmp_path / "outside" / "deep" / "x.sls").write_text("out")
    server = serve({"base": ["one"], "dev": ["two"]}, {"one/a": "in", "two/b": "other root"})
    (tmp_path / "one" / "folder").symlink_to(tmp_path / "outside")
    (tmp_path / "one" / "file.sls").symlink_to(tmp_path / "outside" / "deep" / "x.sls")
    (tmp_path / "one" / "b").symlink_to(tmp_path / "two" / "b")
    assert server.read("b") == b"other root"
    assert server.find("folder/deep/x.sls") is None
    assert server.find("file.sls") is None
    assert server.list_files() == ["a", "b"]
    assert server.list_states() == []
    assert "fileserver_followsymlinks: true" in caplog.text


def test_links_that_go_round(serve, tmp_path):
    server = serve({"base": ["one"]}, {"one/a/b": "1"})
    (tmp_path / "one" / "a" / "up").symlink_to(tmp_path / "one")
    assert server.list_files() == ["a/b"]
    assert server.read("a/up/a/b") == b"1"


def test_only_regular_files(serve, tmp_path):
    server = serve({"base": ["one"]}, {"one/a": "1"})
    os.mkfifo(tmp_path / "one" / "fifo")
    (tmp_path / "one" / "null").symlink_to("/dev/null")
    (tmp_path / "one" / "gone").symlink_to("nowhere")
    assert [server.find(name) for name in ("fifo", "null", "gone")] == [None, None, None]
    assert server.list_files() == ["a"]


def test_a_file_that_became_a_fifo_is_an_error_and_no_wait(serve, tmp_path):
    found = serve({"base": ["one"]}, {"one/a": "1"}).find("a")
    (tmp_path / "one" / "a").unlink()
    with pytest.raises(FileServerError, match="cannot be read"):
        found.read()
    os.mkfifo(tmp_path / "one" / "a")
    with pytest.raises(FileServerError, match="no longer a regular file"):
        found.read()


def test_ignored_files(serve):
    files = {"one/a.sls": "", "one/a.sls~": "", "one/.git/config": "", "one/d/b.bak": ""}
    server = serve(
        {"base": ["one"]}, files, file_ignore_regex=[r"/\.git($|/)", r"^\.git($|/)"], file_ignore_glob=["*~", "*.bak"]
    )
    assert server.list_files() == ["a.sls"]
    assert [server.find(path) is None for path in ("a.sls", "a.sls~", ".git/config", "d/b.bak")] == [
        False,
        True,
        True,
        True,
    ]
    with pytest.raises(ConfigError, match="not a regular expression"):
        serve({"base": ["one"]}, file_ignore_regex=["["])


def test_listings(serve, tmp_path):
    server = serve(
        {"base": ["one", "two"]}, {"one/web/init.sls": "", "one/web/a.sls": "", "two/db.sls": "", "two/web/x": ""}
    )
    (tmp_path / "two" / "void").mkdir()
    assert server.list_files("base", "web") == ["web/a.sls", "web/init.sls", "web/x"]
    assert server.list_files("base", "/web/") == ["web/a.sls", "web/init.sls", "web/x"]
    assert server.list_dirs() == ["void", "web"]
    assert server.list_emptydirs() == ["void"]
    assert server.list_states() == ["db", "web", "web.a"]


def test_sls_path(serve):
    server = serve({"base": ["one", "two"]}, {"one/a/init.sls": "1", "two/a.sls": "2", "one/b/c/init.sls": "3"})
    assert (server.sls_path("a").file.rel, server.sls_path("a").is_init) == ("a.sls", False)
    assert (server.sls_path("b.c").file.rel, server.sls_path("b.c").is_init) == ("b/c/init.sls", True)
    for sls in ("nope", "..a", ".a", ""):
        assert server.sls_path(sls) is None


def test_digest_size_and_mode(serve, tmp_path):
    server = serve({"base": ["one"]}, {"one/a": "hello"})
    (tmp_path / "one" / "a").chmod(0o640)
    found = server.find("a")
    assert (found.size, found.mode, found.path) == (5, 0o640, str(tmp_path / "one" / "a"))
    assert found.digest() == hashlib.sha256(b"hello").hexdigest()
    assert found.digest("md5") == hashlib.md5(b"hello").hexdigest()
    (tmp_path / "one" / "a").write_text("other, longer")
    assert server.find("a").digest() == hashlib.sha256(b"other, longer").hexdigest()


def test_digests_are_computed_once_while_the_file_stays(serve, monkeypatch):
    found = serve({"base": ["one"]}, {"one/a": "hello"}).find("a")
    digest = found.digest()
    monkeypatch.setattr(type(found), "open", lambda self: pytest.fail("read again"))
    assert found.digest() == digest


def test_unknown_backend(serve):
    with pytest.raises(ConfigError, match="nofs"):
        serve({"base": []}, fileserver_backend=["nofs"])


def test_a_root_that_is_not_there_is_empty(serve):
    server = serve({"base": ["nowhere"]})
    assert (server.find("a"), server.list_files()) == (None, [])
