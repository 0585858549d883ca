"""Salt's options of gitfs, each globally and per remote. docs/gitfs.md has the table."""

from __future__ import annotations

import hashlib

import pytest

from pushsalt.errors import ConfigError
from pushsalt.fileserver import FileServer

pytestmark = pytest.mark.slow


def test_branches_and_tags_are_saltenvs(repo, serve):
    one = repo({"a": "master"})
    one.commit({"a": "dev"}, "dev")
    one.commit({"a": "slash"}, "feature/x")
    one.tag("v1")
    one.tag("v2", "dev", annotated=True)
    server = serve(one)
    assert server.envs() == ["base", "dev", "feature/x", "v1", "v2"]
    assert [server.read("a", env) for env in server.envs()] == [b"master", b"dev", b"slash", b"master", b"dev"]
    assert server.read("salt://a?saltenv=dev") == b"dev"
    assert (server.read("a", "nope"), server.list_files("nope")) == (None, [])


def test_a_commit_is_a_saltenv(repo, serve):
    one = repo({"a": "1"})
    first = one.tip()
    one.commit({"a": "2"})
    server = serve(one, gitfs_depth=0)
    assert [server.read("a", name) for name in ("base", first, first[:10])] == [b"2", b"1", b"1"]
    assert serve(one, gitfs_ref_types=["branch", "tag"]).read("a", first) is None


def test_a_commit_that_no_ref_has_is_fetched_by_its_hash(repo, serve):
    one = repo({"a": "1"})
    first = one.tip()
    one.commit({"a": "2"}, fresh=True)
    assert serve(one, gitfs_base=first).read("a") == b"1"


def both_ways(option, value):
    """The option as a global one and as one of the remote."""
    return [pytest.param({f"gitfs_{option}": value}, [], id="global"), pytest.param({}, [{option: value}], id="remote")]


def one_of(repo, below):
    return {repo.url: below} if below else repo


@pytest.mark.parametrize("opts, below", both_ways("base", "main"))
def test_base(repo, serve, opts, below):
    one = repo({"a": "main"}, branch="main")
    one.commit({"a": "master"}, "master")
    server = serve(one_of(one, below), **opts)
    assert server.envs() == ["base", "master"]
    assert server.read("a") == b"main"


def test_a_base_that_is_not_there_is_said(repo, serve, caplog):
    one = repo({"a": "1"}, branch="main")
    one.commit({"a": "2"}, "dev")
    server = serve(one)
    assert (server.read("a"), server.read("b"), server.read("a", "main")) == (None, None, b"1")
    [said] = caplog.messages
    assert f"{one.url} has no branch or tag 'master'" in said and "(it has dev, main)" in said
    caplog.clear()
    assert serve(one, gitfs_saltenv_blacklist=["base"]).read("a") is None
    assert serve(one, gitfs_fallback="dev").read("a") == b"2"
    assert not caplog.messages


@pytest.mark.parametrize("opts, below", both_ways("root", "/salt/states/"))
def test_root(repo, serve, opts, below):
    one = repo({"salt/states/a": "in", "a": "out", "salt/states/d/b": ""})
    server = serve(one_of(one, below), **opts)
    assert (server.read("a"), server.list_files(), server.list_dirs()) == (b"in", ["a", "d/b"], ["d"])
    assert server.find("../a") is None


@pytest.mark.parametrize("opts, below", both_ways("mountpoint", "salt://web/apache"))
def test_mountpoint(repo, serve, opts, below):
    one = repo({"a": "1", "d/b": "2"})
    server = serve(one_of(one, below), **opts)
    assert (server.read("web/apache/a"), server.read("a"), server.read("web/apachea")) == (b"1", None, None)
    assert server.list_files() == ["web/apache/a", "web/apache/d/b"]
    assert server.list_dirs() == ["web", "web/apache", "web/apache/d"]
    assert server.list_folder("web") == ["web/apache"]
    assert server.list_folder("web/apache") == ["web/apache/a", "web/apache/d"]
    assert server.list_folder("web/apache/d") == ["web/apache/d/b"]
    assert server.list_folder("other") == []


@pytest.mark.parametrize(
    "opts, below",
    both_ways(
        "saltenv",
        [
            {"prod": [{"ref": "release"}, {"root": "other"}]},
            {"qa": [{"ref": "dev"}, {"mountpoint": "salt://m"}]},
        ],
    ),
)
def test_saltenv_map(repo, serve, opts, below):
    one = repo({"a": "1"})
    one.commit({"a": "2", "other/a": "3"}, "release")
    one.commit({"a": "4"}, "dev")
    server = serve(one_of(one, below), **opts)
    assert server.envs() == ["base", "prod", "qa"]
    assert (server.read("a", "prod"), server.read("m/a", "qa"), server.read("a", "qa")) == (b"3", b"4", None)
    assert server.read("a", "release") is None


def test_the_saltenv_map_of_a_remote_is_over_the_global_one_and_may_name_base(repo, serve):
    one = repo({"a": "master"})
    one.commit({"a": "x"}, "x")
    one.commit({"a": "y"}, "y")
    own = {one.url: [{"saltenv": [{"prod": [{"ref": "y"}]}, {"base": [{"ref": "x"}]}]}]}
    server = serve(own, gitfs_saltenv=[{"prod": [{"ref": "x"}]}, {"qa": [{"ref": "y"}]}])
    assert [server.read("a", env) for env in ("base", "prod", "qa")] == [b"x", b"y", b"y"]


def test_all_saltenvs(repo, serve):
    one, two = repo({"a": "1"}), repo({"b": "2"}, "two")
    one.commit({"a": "1d"}, "dev")
    server = serve(one, {two.url: [{"all_saltenvs": "master"}]})
    assert [(server.read("a", env), server.read("b", env)) for env in ("base", "dev")] == [
        (b"1", b"2"),
        (b"1d", b"2"),
    ]


@pytest.mark.parametrize("opts, below", both_ways("disable_saltenv_mapping", True))
def test_disable_saltenv_mapping(repo, serve, opts, below):
    one = repo({"a": "1"})
    one.commit({"a": "2"}, "dev")
    server = serve(one_of(one, below), gitfs_saltenv=[{"qa": [{"ref": "dev"}]}], **opts)
    assert server.envs() == ["base", "qa"]
    assert (server.read("a"), server.read("a", "qa"), server.read("a", "dev")) == (b"1", b"2", None)


@pytest.mark.parametrize("opts, below", both_ways("fallback", "master"))
def test_fallback(repo, serve, opts, below):
    one = repo({"a": "1"})
    one.commit({"a": "2"}, "dev")
    server = serve(one_of(one, below), **opts)
    assert [server.read("a", env) for env in ("dev", "nope")] == [b"2", b"1"]
    assert server.list_files("nope") == ["a"]


@pytest.mark.parametrize("opts, below", both_ways("ref_types", ["tag"]))
def test_ref_types(repo, serve, opts, below):
    one = repo({"a": "1"})
    one.tag("v1")
    one.tag("master")
    one.commit({"a": "2"}, "master")
    server = serve(one_of(one, below), **opts)
    assert (server.envs(), server.read("a"), server.read("a", one.tip("refs/heads/master"))) == (
        ["base", "v1"],
        b"1",
        None,
    )


def test_the_order_of_ref_types_counts(repo, serve):
    one = repo({"a": "branch"})
    one.commit({"a": "branch"}, "x")
    one.commit({"a": "tag"}, "other")
    one.tag("x", "other")
    assert serve(one).read("a", "x") == b"branch"
    assert serve(one, gitfs_ref_types=["tag", "branch"]).read("a", "x") == b"tag"


@pytest.mark.parametrize(
    "opts, below",
    [
        *both_ways("saltenv_whitelist", ["base", "de.*"]),
        *both_ways("saltenv_whitelist", "base, dev"),
        *both_ways("saltenv_blacklist", ["v*", "rel.+"]),
    ],
)
def test_white_and_black_list(repo, serve, opts, below):
    one = repo({"a": "1"})
    for name in ("dev", "release", "v1"):
        one.commit({"a": name}, name)
    server = serve(one_of(one, below), **opts)
    assert server.envs() == ["base", "dev"]
    assert (server.read("a", "dev"), server.read("a", "v1"), server.read("a", "release")) == (b"dev", None, None)


@pytest.mark.parametrize("opts, below", both_ways("refspecs", ["+refs/pull/*/head:refs/remotes/origin/pr/*"]))
def test_refspecs(repo, serve, opts, below):
    one = repo({"a": "1"})
    one.git("update-ref", "refs/pull/7/head", one.tip())
    server = serve(one_of(one, below), **opts)
    assert (server.envs(), server.read("a", "pr/7")) == (["pr/7"], b"1")


@pytest.mark.parametrize("opts, below", both_ways("depth", 0))
def test_depth(repo, serve, tmp_path, opts, below):
    one = repo({"a": "1"})
    for number in range(5):
        one.commit({"a": str(number)})

    def commits():
        [copy] = (tmp_path / "cache" / "git").glob("*/1.git")
        found = copy.parent, [one.git(f"--git-dir={copy}", "rev-list", "--all", "--count")]
        return int(found[1][0])

    serve(one)
    assert commits() == 1
    for folder in (tmp_path / "cache" / "git").iterdir():
        folder.rename(tmp_path / f"gone-{folder.name}")
    serve(one_of(one, below), **opts)
    assert commits() == 6


@pytest.mark.parametrize("opts, below", both_ways("filter", "blob:none"))
def test_partial_clones_fetch_served_files_together(repo, serve, tmp_path, opts, below):
    one = repo({"a": "1", "d/b": "2", "d/l": ("120000", "../a")})
    one.commit({"unused": "3"}, "other")
    server = serve(one_of(one, below), **opts)
    [copy] = (tmp_path / "cache" / "git").glob("*/1.git")
    blob = one.git("rev-parse", "other:unused")
    assert one.git(f"--git-dir={copy}", "-c", "protocol.file.allow=never", "cat-file", "-t", blob, check=False) == ""
    assert (server.read("a"), server.read("d/l"), server.list_files()) == (b"1", b"1", ["a", "d/b", "d/l"])
    assert server.read("unused", "other") == b"3"
    one.commit({"a": "new"})
    assert serve(one_of(one, below), **opts).read("a") == b"new"


def test_name_stands_for_the_url_in_messages(repo, serve, caplog):
    one = repo({"a": "1"})
    with pytest.raises(Exception, match="websites has never been fetched"):
        serve({"file:///nowhere/x.git": [{"name": "websites"}]}).read("a")
    assert "git: websites cannot be fetched" in caplog.text
    assert serve({one.url: [{"name": "websites"}]}).read("a") == b"1"


def test_update_interval(repo, serve):
    one = repo({"a": "1"})
    for opts, below in (({}, [{"update_interval": 1000}]), ({"gitfs_update_interval": 1000}, [])):
        before = serve(one_of(one, below), **{**opts, "gitfs_update_interval": 1000}).read("a")
        one.commit({"a": before.decode() + "x"})
        assert serve(one_of(one, below), **{**opts, "gitfs_update_interval": 1000}).read("a") == before
        assert serve(one_of(one, [{"update_interval": 0}])).read("a") == before + b"x"


def test_options_that_salt_has_and_that_mean_nothing_here(repo, serve):
    one = repo({"a": "1"})
    assert serve(one, gitfs_provider="pygit2", gitfs_global_lock=False).read("a") == b"1"


def test_the_first_remote_wins_and_backends_have_an_order(repo, serve, tmp_path, remotes):
    one, two = repo({"a": "1", "b": "1"}), repo({"b": "2", "c": "2"}, "two")
    (tmp_path / "disk").mkdir()
    (tmp_path / "disk" / "c").write_text("disk")
    server = serve(one, two)
    assert [server.read(name) for name in "abc"] == [b"1", b"1", b"2"]
    assert server.list_files() == ["a", "b", "c"]
    roots = {"file_roots": {"base": [str(tmp_path / "disk")]}, "gitfs_remotes": [one.url, two.url]}
    for order, want in ((["roots", "git"], b"disk"), (["gitfs", "roots"], b"2"), (["git", "gitfs", "roots"], b"2")):
        assert FileServer({**roots, "fileserver_backend": order}, remotes()).read("c") == want


def test_ignored_files(repo, serve):
    one = repo({"a": "1", "a~": "2", "d/x.bak": "3", ".hidden/x": "4"})
    server = serve(one, file_ignore_glob=["*~"], file_ignore_regex=[r"\.bak$", r"(^|/)\.hidden($|/)"])
    assert server.list_files() == ["a"]
    assert [server.find(name) for name in ("a~", "d/x.bak", ".hidden/x")] == [None, None, None]


def test_files_of_a_commit(repo, serve):
    one = repo({"a": "hello", "run": ("100755", "#!/bin/sh\n"), "big": b"x" * 9_000_000})
    server = serve(one)
    found = server.find("a")
    assert (found.size, found.mode, found.digest(), found.digest("md5")) == (
        5,
        0o644,
        hashlib.sha256(b"hello").hexdigest(),
        hashlib.md5(b"hello").hexdigest(),
    )
    assert found.path == f"{one.url}@{one.tip()[:12]}:a"
    assert server.find("run").mode == 0o755
    big = server.find("big")
    assert (big.size, big.digest()) == (9_000_000, hashlib.sha256(b"x" * 9_000_000).hexdigest())
    with big.open() as stream:
        assert stream.read(3) == b"xxx"  # and it ends early
    with big.open() as stream:
        assert stream.read() == b"x" * 9_000_000
    assert len(big.read()) == 9_000_000


def test_links_stay_within_the_tree(repo, serve):
    one = repo(
        {
            "d/real": "in",
            "file": ("120000", "d/real"),
            "dir": ("120000", "d"),
            "d/up": ("120000", "../d/./real"),
            "twice": ("120000", "file"),
            "out": ("120000", "../../etc/passwd"),
            "abs": ("120000", "/etc/passwd"),
            "round": ("120000", "round"),
            "gone": ("120000", "nowhere"),
            "sub": ("160000", "1" * 40),
            "s/root/l": ("120000", "../../d/real"),
            "through": ("120000", "file/x"),
        }
    )
    server = serve(one)
    assert [server.read(path) for path in ("file", "dir/real", "d/up", "twice", "s/root/l")] == [b"in"] * 5
    for path in ("out", "abs", "round", "gone", "sub", "through", "file/x", "d", "dir", "out/x"):
        assert server.find(path) is None, path
    assert server.list_files() == ["d/real", "d/up", "file", "s/root/l", "twice"]
    assert server.symlinks() == {
        "d/up": "../d/./real",
        "dir": "d",
        "file": "d/real",
        "gone": "nowhere",
        "round": "round",
        "s/root/l": "../../d/real",
        "through": "file/x",
        "twice": "file",
    }
    assert server.list_dirs() == ["d", "dir", "s", "s/root"]


@pytest.mark.parametrize(
    "below, words",
    [
        ([{"rooot": "x"}], "not an option of a remote"),
        ([{"ref_types": ["banana"]}], "not a kind of ref"),
        ([{"base": "--upload-pack=x"}], "cannot be a branch"),
        ([{"fallback": "a..b"}], "cannot be a branch"),
        ([{"all_saltenvs": "-x"}], "cannot be a branch"),
        ([{"root": "../../etc"}], "leads out"),
        ([{"mountpoint": "salt://../x"}], "leads out"),
        ([{"saltenv": [{"dev": [{"reff": "x"}]}]}], "not an option of the saltenv"),
        ([{"saltenv": [{"dev": [{"root": "../x"}]}]}], "leads out"),
        ([{"saltenv": [{"dev": [{"ref": "-x"}]}]}], "cannot be a branch"),
        ([{"refspecs": ["--upload-pack=x"]}], "not a refspec"),
        ([{"refspecs": ["+refs/heads/*:HEAD"]}], "not a refspec"),
        ([{"update_interval": "soon"}], "whole number"),
        ([{"filter": "--exec=x"}], "not a filter"),
        ([{"pubkey": "/x.pub"}], "without `privkey`"),
        ([{"proxy": "a b"}], "not a URL"),
        ([{"ssl_verify": "perhaps"}], "ssl_verify must be true or false"),
        ([{"user": ["x"]}], "user must be text, not a list"),
        ([{"saltenv": 5}], "not a list of options"),
        (["x"], "is not an option"),
        (5, "not a list of options"),
        ([], "no options below"),
    ],
)
def test_options_that_cannot_hold(serve, below, words):
    with pytest.raises(ConfigError, match=words) as caught:
        serve({"https://example.org/x.git": below})
    assert caught.value.hint


def test_a_password_does_not_travel_in_clear_unless_told(serve):
    for entry, opts in (
        ("http://me:secret@example.org/x.git", {}),
        ({"http://example.org/x.git": [{"user": "me"}, {"password": "secret"}]}, {}),
        ("http://example.org/x.git", {"gitfs_user": "me", "gitfs_password": "secret"}),
    ):
        with pytest.raises(ConfigError, match="unencrypted") as caught:
            serve(entry, **opts)
        assert "secret" not in str(caught.value)


def test_git_is_not_imported_when_nothing_is_fetched(repo, serve, tmp_path):
    import subprocess
    import sys

    one = repo({"a": "1"})
    serve(one)
    code = f"""
import sys
from pathlib import Path
from pushsalt.fileserver import FileServer
from pushsalt.git.remotes import Remotes
opts = {{"fileserver_backend": ["roots", "git"], "file_roots": {{}}, "gitfs_remotes": {[one.url]!r}}}
server = FileServer(opts, Remotes(Path({str(tmp_path / "cache")!r})))
assert server.read("a") == b"1"
assert "git" not in sys.modules
plain = FileServer({{"file_roots": {{"base": []}}}})
"""
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)
    code = "import sys, pushsalt.api, pushsalt.run.runner; assert 'pushsalt.git' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
