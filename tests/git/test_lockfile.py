from __future__ import annotations

import pytest

from pushsalt.errors import ConfigError
from pushsalt.git import GitError
from pushsalt.git.lockfile import LockFile


@pytest.fixture
def lock(tmp_path):
    return tmp_path / "pushsalt.lock"


def test_without_a_lock_file_refs_are_followed_and_none_is_written(repo, serve, lock):
    one = repo({"a": "1"})
    assert serve(one, lock=lock).read("a") == b"1"
    one.commit({"a": "2"})
    assert serve(one, lock=lock).read("a") == b"2"
    assert not lock.exists()


def test_what_the_lock_file_names_stays_where_it_is(repo, serve, lock):
    one = repo({"a": "1"})
    first = one.tip()
    LockFile(lock).change({one.url: {"refs/heads/master": first}})
    one.commit({"a": "2"})
    assert serve(one, lock=lock).read("a") == b"1"
    one.commit({"a": "3"}, fresh=True)
    assert serve(one, lock=lock, strict=True).read("a") == b"1"
    assert serve(one).read("a") == b"3"


def test_locked_revisions_in_the_cache_are_not_fetched(repo, serve, lock):
    one = repo({"a": "1"})
    LockFile(lock).change({one.url: {"refs/heads/master": one.tip()}})
    serve(one, lock=lock).read("a")
    one.path.rename(one.path.with_name("elsewhere"))
    assert serve(one, lock=lock, strict=True).read("a") == b"1"


def test_a_ref_that_is_used_for_the_first_time_is_added(repo, serve, lock):
    one = repo({"a": "1"})
    one.commit({"a": "2"}, "dev")
    one.tag("v1")
    LockFile(lock).change({})
    server = serve(one, lock=lock)
    assert (server.read("a"), server.read("a", "dev"), server.read("a", "v1")) == (b"1", b"2", b"1")
    pins = LockFile(lock).pins[one.url]
    assert pins == {"refs/heads/master": one.tip(), "refs/heads/dev": one.tip("dev"), "refs/tags/v1": one.tip()}
    assert serve(one, lock=lock, strict=True).read("a", "dev") == b"2"


def test_a_ref_that_the_configuration_names_and_the_copy_does_not_have_yet_is_fetched(repo, serve, lock):
    one = repo({"a": "1"})
    LockFile(lock).change({one.url: {"refs/heads/master": one.tip()}})
    assert serve(one, lock=lock).read("a") == b"1"
    one.commit({"a": "2"})
    one.tag("v2")
    assert serve({one.url: [{"base": "v2"}]}, lock=lock).read("a") == b"2"
    assert set(LockFile(lock).pins[one.url]) == {"refs/heads/master", "refs/tags/v2"}


def test_with_locked_an_unknown_ref_is_an_error_and_a_new_branch_is_not_seen(repo, serve, lock):
    one, two = repo({"a": "1"}), repo({"b": "1"}, "two")
    LockFile(lock).change({one.url: {"refs/heads/master": one.tip()}})
    one.commit({"a": "2"}, "dev")
    server = serve(one, lock=lock, strict=True)
    assert (server.envs(), server.read("a", "dev")) == (["base"], None)
    before = lock.read_bytes()
    with pytest.raises(ConfigError, match=r"--locked: .* does not have refs/heads/master of .*two.git") as caught:
        serve(one, two, lock=lock, strict=True).read("b")
    assert "formula update" in caught.value.hint
    assert lock.read_bytes() == before


def test_locked_without_a_lock_file(serve, repo, lock):
    with pytest.raises(ConfigError, match="--locked: there is no"):
        serve(repo({"a": "1"}), lock=lock, strict=True)


def test_a_locked_commit_that_is_nowhere(repo, serve, lock):
    one = repo({"a": "1"})
    LockFile(lock).change({one.url: {"refs/heads/master": "1" * 40}})
    with pytest.raises(GitError, match=f"commit {'1' * 40} is not in the cache"):
        serve(one, lock=lock).read("a")


def test_a_server_that_gives_no_hashes_is_asked_for_the_whole_history(repo, serve, lock):
    one = repo({"a": "1"})
    one.git("config", "uploadpack.allowAnySHA1InWant", "false")
    first = one.tip()
    one.commit({"a": "2"})
    LockFile(lock).change({one.url: {"refs/heads/master": first}})
    assert serve(one, lock=lock, gitfs_refspecs=["+refs/heads/*:refs/remotes/origin/*"]).read("a") == b"1"


def test_credentials_are_not_part_of_it(repo, lock):
    from pushsalt.git.address import parse_address

    url = parse_address("https://me:secret@example.org/x.git", "x").url
    LockFile(lock).change({url: {"refs/heads/master": "2" * 40}})
    assert "secret" not in lock.read_text()
    assert LockFile(lock).revision("https://example.org/x.git", "refs/heads/master") == "2" * 40


@pytest.mark.parametrize(
    "text",
    [
        "a: [",
        "- x",
        "version: 2\nremotes: {}",
        "version: 1\nremotes: []",
        "version: 1\nremotes: {u: {r: short}}",
        "version: 1\nremotes: {u: [x]}",
        "version: 1\nremotes: {u: {r: 5}}",
        b"\xff\xfe",
    ],
)
def test_a_damaged_lock_file_is_said(lock, text):
    lock.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ConfigError) as caught:
        LockFile(lock)
    assert str(lock) in str(caught.value) and caught.value.hint


def test_two_commands_that_add_do_not_lose_each_others(lock):
    one, two = LockFile(lock), LockFile(lock)
    one.change({"u": {"refs/heads/a": "1" * 40}})
    two.change({"u": {"refs/heads/b": "2" * 40}, "v": {"refs/tags/c": "3" * 40}})
    assert LockFile(lock).pins == {
        "u": {"refs/heads/a": "1" * 40, "refs/heads/b": "2" * 40},
        "v": {"refs/tags/c": "3" * 40},
    }
    two.change({}, remotes=["v"])
    assert list(LockFile(lock).pins) == ["v"]
