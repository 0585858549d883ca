"""Hostile repositories: nothing of them is run, followed outside of the tree, or used as an option."""

from __future__ import annotations

import pytest

from pushsalt.errors import ConfigError
from pushsalt.fileserver.tree import tree
from pushsalt.git import GitError
from pushsalt.git.process import git_argv
from pushsalt.git.settings import pillar_remotes


def put(one, kind, data):
    return one.git("hash-object", "-t", kind, "-w", "--literally", "--stdin", stdin=data)


def evil_tree(one, names):
    """A tree with names that git itself refuses; its commit is master."""
    blob = put(one, "blob", b"evil")
    inner = put(one, "tree", b"100644 x\0" + bytes.fromhex(blob))
    data = b""
    for name in names:
        if name.endswith(b"/"):
            data += b"40000 " + name[:-1] + b"\0" + bytes.fromhex(inner)
        else:
            data += b"100644 " + name + b"\0" + bytes.fromhex(blob)
    top = put(one, "tree", data)
    commit = put(one, "commit", f"tree {top}\nauthor T <t> 0 +0000\ncommitter T <t> 0 +0000\n\nx\n".encode())
    one.git("update-ref", "refs/heads/master", commit)


def test_names_that_lead_elsewhere_are_not_served(repo, serve):
    one = repo()
    evil_tree(one, [b"../x", b"../", b"./", b"a/b", b"..", b"good", b"sub/"])
    server = serve(one)
    assert (server.list_files(), server.list_dirs()) == (["good", "sub/x"], ["sub"])
    assert [entry[0] for entry in tree(server, "", "base")] == ["good", "sub", "sub/x"]
    for path in ("../x", "a/b", "..", "sub/../../x"):
        assert server.find(path) is None
    assert server.read("good") == b"evil"


@pytest.mark.parametrize("name", [b"\xff\xfe", "ü".encode(), b"a b", b"a\nb", b"-x", b"--help", b"%41", b"a'b\"c"])
def test_odd_names_are_just_names(repo, serve, name):
    one = repo()
    evil_tree(one, [name])
    server = serve(one)
    assert server.list_files() == [name.decode("utf-8", "surrogateescape")]
    assert server.read(server.list_files()[0]) == b"evil"


def test_refs_that_are_no_text_and_tags_of_files(repo, serve):
    one = repo({"a": "1"})
    refs = one.path / "refs"
    for name in (b"heads/\xff\xfe", "heads/\u2028x".encode(), b"heads/x\x85y"):
        (refs / name.decode("utf-8", "surrogateescape")).write_text(f"{one.tip()}\n")
    one.git("tag", "file", one.git("rev-parse", "master:a"))
    one.git("tag", "tree", one.git("rev-parse", "master^{tree}"))
    server = serve(one)
    assert server.read("a") == b"1"
    assert "file" not in server.envs() and "tree" not in server.envs()
    assert server.read("a", "\u2028x") == b"1"


def test_a_tree_of_trees_that_explodes_is_listed_only_so_far(repo, serve, monkeypatch):
    """Each level names the next one ten times; the listing is bounded, and a file is still found at once."""
    monkeypatch.setattr("pushsalt.git.objects.MAX_PATHS", 5000)
    one = repo()
    blob = put(one, "blob", b"x")
    oid = put(one, "tree", b"100644 f\0" + bytes.fromhex(blob))
    for _ in range(10):
        oid = put(one, "tree", b"".join(b"40000 d%d\0" % i + bytes.fromhex(oid) for i in range(10)))
    commit = put(one, "commit", f"tree {oid}\nauthor T <t> 0 +0000\ncommitter T <t> 0 +0000\n\nx\n".encode())
    one.git("update-ref", "refs/heads/master", commit)
    server = serve(one)
    assert server.read("d0/d1/d2/d3/d4/d5/d6/d7/d8/d9/f") == b"x"
    with pytest.raises(GitError, match="more than"):
        server.list_files()


def test_hooks_filters_and_submodules_of_a_repository_do_nothing(repo, serve, tmp_path):
    mark = tmp_path / "mark"
    one = repo(
        {
            ".gitmodules": f'[submodule "x"]\n\tpath = x\n\turl = ext::touch {mark}\n\tupdate = !touch {mark}\n',
            ".gitattributes": "* filter=evil export-subst\n",
            "x": ("160000", "1" * 40),
            "a": "$Format:%H$",
            "hooks/post-checkout": f"#!/bin/sh\ntouch {mark}\n",
        }
    )
    one.git("config", "filter.evil.smudge", f"touch {mark}")
    for hook in ("post-update", "reference-transaction", "post-checkout", "post-merge", "pre-auto-gc"):
        path = one.path / "hooks" / hook
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\ntouch {mark}\n")
        path.chmod(0o755)
    server = serve(one)
    assert server.read("a") == b"$Format:%H$"
    assert not mark.exists()


def test_hooks_that_somebody_put_into_the_cache_are_not_run(repo, serve, tmp_path):
    mark = tmp_path / "mark"
    one = repo({"a": "1"})
    serve(one)
    for copy in (tmp_path / "cache" / "git").glob("*/*.git"):
        (copy / "hooks").mkdir()
        for name in ("reference-transaction", "post-fetch", "pre-auto-gc", "post-index-change"):
            (copy / "hooks" / name).write_text(f"#!/bin/sh\ntouch {mark}\n")
            (copy / "hooks" / name).chmod(0o755)
    one.commit({"a": "2"})
    assert serve(one).read("a") == b"2"
    assert not mark.exists()


@pytest.mark.parametrize("ref", ["--upload-pack=touch x", "-c", "refs/heads/master:refs/heads/evil", "a b", "$(x)"])
def test_refs_that_are_options(serve, ref):
    for below in ({"base": ref}, {"all_saltenvs": ref}, {"fallback": ref}, {"saltenv": [{"dev": [{"ref": ref}]}]}):
        if ref == "$(x)":
            continue
        with pytest.raises(ConfigError):
            serve({"https://example.org/x.git": [below]})
    with pytest.raises(ConfigError):
        pillar_remotes([f"--upload-pack={ref.replace(' ', '')} https://example.org/x.git"], {})


@pytest.mark.parametrize(
    "saltenv", ["--upload-pack=x", "-x", "..", "a..b", "HEAD", "master~1", "master^{tree}", "@{-1}"]
)
def test_saltenvs_that_are_revisions_of_another_kind(repo, serve, saltenv):
    one = repo({"a": "1"})
    one.commit({"a": "2"})
    server = serve(one, gitfs_fallback="", gitfs_depth=0)
    assert (server.find("a", saltenv), server.list_files(saltenv)) == (None, [])


def test_our_git_runs_with_a_configuration_of_its_own():
    argv = git_argv("fetch")
    assert argv[0] == "git" and argv[-1] == "fetch"
    for key, value in (("core.hooksPath", "/dev/null"), ("protocol.ext.allow", "never"), ("credential.helper", "")):
        assert f"{key}={value}" in argv
