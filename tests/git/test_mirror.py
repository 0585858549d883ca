"""Copies in the cache: stored, shared, replaced by force, damaged, locked, not writable."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import time

import pytest

from pushsalt.fileserver import FileServer
from pushsalt.git import GitError
from pushsalt.git.prune import prune
from pushsalt.git.settings import gitfs_remotes
from tests.beds.gitserver import wait_for

pytestmark = pytest.mark.slow


@pytest.fixture
def copies(tmp_path):
    return lambda: sorted((tmp_path / "cache" / "git").glob("*/*.git"))


def test_a_force_push_a_removed_branch_and_one_that_becomes_a_folder(repo, serve):
    one = repo({"a": "1"})
    one.commit({"a": "2"}, "dev")
    one.tag("v1")
    old = serve(one)
    assert old.envs() == ["base", "dev", "v1"]
    one.commit({"b": "new"}, fresh=True)
    one.git("branch", "-D", "dev")
    one.commit({"a": "3"}, "dev/x")
    one.git("tag", "-d", "v1")
    one.tag("v1")
    new = serve(one)
    assert new.envs() == ["base", "dev/x", "v1"]
    assert (new.read("a"), new.read("b"), new.read("b", "v1"), new.read("a", "dev/x")) == (None, b"new", b"new", b"3")
    assert (old.read("a"), old.read("a", "dev"), old.read("b")) == (b"1", b"2", None)  # a run uses one revision


def test_a_remote_that_is_gone(repo, serve, caplog):
    one = repo({"a": "1"})
    assert serve(one).read("a") == b"1"
    one.path.rename(one.path.with_name("elsewhere"))
    assert serve(one).read("a") == b"1"
    [said] = [record.getMessage() for record in caplog.records]
    assert said.startswith(f"git: {one.url} cannot be fetched: ")
    assert f"the copy of 0 seconds ago is used, master at {one_tip(one)}" in said
    with pytest.raises(GitError, match=r"nowhere/x.git has never been fetched: .*does not appear"):
        serve("file:///nowhere/x.git").read("a")


def one_tip(one):
    from tests.beds.gitserver import git

    return git(f"--git-dir={one.path.with_name('elsewhere')}", "rev-parse", "master")[:12]


def test_a_missing_remote_is_an_error_only_where_it_is_needed(repo, serve, tmp_path):
    one = repo({"a": "1"})
    server = serve(one, "file:///nowhere/x.git", gitfs_saltenv=[{"base": [{"ref": "master"}]}])
    with pytest.raises(GitError):
        server.envs()
    with pytest.raises(GitError):
        server.read("b")


def damage_pack(copy):
    [pack] = (copy / "objects" / "pack").glob("*.pack")
    pack.chmod(0o600)
    data = bytearray(pack.read_bytes())
    for at in range(12, len(data) - 20):
        data[at] ^= 0x55
    pack.write_bytes(data)


def remove_pack(copy):
    for path in (copy / "objects" / "pack").iterdir():
        path.unlink()


def remove_head(copy):
    (copy / "HEAD").unlink()


def truncate_refs(copy):
    for path in [copy / "packed-refs", *(copy / "refs").rglob("*")]:
        if path.is_file():
            path.write_bytes(b"")


def leave_locks(copy):
    (copy / "packed-refs.lock").touch()
    (copy / "shallow.lock").touch()
    (copy / "refs" / "remotes" / "origin").mkdir(parents=True, exist_ok=True)
    (copy / "refs" / "remotes" / "origin" / "master.lock").touch()
    (copy / "objects" / "pack" / "tmp_pack_x").touch()


@pytest.mark.parametrize("damage", [damage_pack, remove_pack, remove_head, truncate_refs, leave_locks])
@pytest.mark.parametrize("interval", [0, 1000])
def test_a_damaged_copy_is_repaired(repo, serve, copies, damage, interval):
    one = repo({"a": "1" * 1000, "d/b": "2"})
    assert serve(one).read("a")
    [copy] = copies()
    damage(copy)
    if interval == 0:
        one.commit({"c": "3"})
    server = serve(one, gitfs_update_interval=interval)
    assert (server.read("a"), server.read("d/b")) == (b"1" * 1000, b"2")
    assert interval or server.read("c") == b"3"
    assert len(copies()) == 1
    assert interval or not list((copies()[0] / "objects" / "pack").glob("tmp_*"))


def test_a_damaged_copy_is_repaired_once_for_many_threads(repo, serve, copies, caplog):
    from concurrent.futures import ThreadPoolExecutor

    one = repo({f"d{number}/f": str(number) for number in range(40)})
    serve(one)
    damage_pack(copies()[0])
    server = serve(one, gitfs_update_interval=1000)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda number: server.read(f"d{number}/f"), range(40)))
    assert found == [str(number).encode() for number in range(40)]
    assert [record.getMessage().split(";")[1] for record in caplog.records] == [" it is rebuilt"]


def test_a_damaged_copy_of_a_remote_that_is_gone_is_said(repo, serve, copies):
    one = repo({"a": "1"})
    serve(one).read("a")
    remove_pack(copies()[0])
    one.path.rename(one.path.with_name("elsewhere"))
    with pytest.raises(GitError, match="is damaged, and the remote cannot be fetched"):
        serve(one, gitfs_update_interval=1000).read("a")


def test_a_damaged_note_is_written_anew(repo, serve, tmp_path):
    one = repo({"a": "1"})
    serve(one)
    [note] = (tmp_path / "cache" / "git" / "notes").iterdir()
    note.write_bytes(note.read_bytes()[:-3])
    assert serve(one, gitfs_update_interval=1000).read("a") == b"1"


def test_a_changed_object_is_found_out(repo, serve, copies):
    """The hash of each read object is compared with its name."""
    one = repo({"a": "1"})
    serve(one).read("a")
    [copy] = copies()
    blob = one.git("rev-parse", "master:a")
    import zlib

    remove_pack_to_loose(one, copy)
    place = copy / "objects" / blob[:2] / blob[2:]
    place.chmod(0o600)
    place.write_bytes(zlib.compress(b"blob 1\x002"))
    assert serve(one, gitfs_update_interval=1000).read("a") == b"1"


def remove_pack_to_loose(one, copy):
    [pack] = (copy / "objects" / "pack").glob("*.pack")
    data = pack.read_bytes()
    remove_pack(copy)
    one.git(f"--git-dir={copy}", "unpack-objects", "-q", stdin=data)


def test_many_packs_become_one(repo, serve, copies, monkeypatch):
    monkeypatch.setattr("pushsalt.git.mirror._MANY_PACKS", 3)
    one = repo({"a": "0"})
    first = serve(one)
    for number in range(5):
        one.commit({"a": str(number), "b": os.urandom(100)})
        assert serve(one).read("a") == str(number).encode()
    assert len(list((copies()[0] / "objects" / "pack").glob("*.pack"))) <= 4
    assert first.read("a") == b"0"


def test_files_of_the_cache_are_private(repo, serve, tmp_path):
    os.umask(os.umask(0))
    before = os.umask(0)
    try:
        serve(repo({"a": "1"})).read("a")
    finally:
        os.umask(before)
    for folder in [tmp_path / "cache" / "git", *(tmp_path / "cache" / "git").iterdir()]:
        assert folder.stat().st_mode & 0o777 in (0o700, 0o600), folder


@pytest.mark.skipif(os.geteuid() == 0, reason="root can write anywhere")
def test_a_cache_that_cannot_be_written(repo, serve, tmp_path):
    (tmp_path / "cache").mkdir(mode=0o500)
    assert serve(repo({"a": "1"})).read("a") == b"1"


def test_a_cache_that_is_no_folder(repo, serve, tmp_path, caplog):
    (tmp_path / "cache").write_text("")
    assert serve(repo({"a": "1"})).read("a") == b"1"
    assert "cannot be used" in caplog.text


def test_a_cache_that_others_could_exchange_is_not_used(repo, serve, tmp_path, caplog):
    one = repo({"a": "1"})
    serve(one)
    cache = tmp_path / "cache"
    mark = tmp_path / "mark"
    for copy in (cache / "git").glob("*/*.git"):
        with (copy / "config").open("a") as stream:
            stream.write(f"[core]\n\tfsmonitor = touch {mark}\n\tsshCommand = touch {mark}\n")
    for folder in (cache, cache / "git"):
        mode = folder.stat().st_mode
        folder.chmod(0o777)
        caplog.clear()
        assert serve(one, gitfs_update_interval=1000).read("a") == b"1"
        assert "cannot be used" in caplog.text and "by others" in caplog.text.replace("others can write", "by others")
        folder.chmod(mode)
    assert not mark.exists()
    cache.chmod(0o1777)  # as /tmp is
    assert serve(one, gitfs_update_interval=1000).read("a") == b"1"


_CONTROLLER = """
import sys
from pathlib import Path
from pushsalt.fileserver import FileServer
from pushsalt.git.remotes import Remotes
for _ in range(6):
    remotes = Remotes(Path(sys.argv[1]))
    opts = {"fileserver_backend": ["git"], "gitfs_remotes": [sys.argv[2]], "gitfs_update_interval": 0}
    server = FileServer(opts, remotes)
    for env in server.envs():
        for path in server.list_files(env):
            assert server.read(path, env).startswith(b"n"), path
    remotes.close()
"""


def test_several_controllers_share_a_cache(repo, tmp_path):
    one = repo({"a": "n0"})
    words = [sys.executable, "-W", "error", "-c", _CONTROLLER, str(tmp_path / "cache"), one.url]
    running = [subprocess.Popen(words, stderr=subprocess.PIPE) for _ in range(4)]
    number = 0
    while any(process.poll() is None for process in running):
        number += 1
        one.commit({"a": f"n{number}", f"f{number % 7}": f"n{number}"}, fresh=number % 3 == 0)
        one.commit({"a": f"n{number}"}, f"b{number % 4}")
        time.sleep(0.02)
    for process in running:
        assert process.communicate()[1] == b""
        assert process.returncode == 0


def test_one_controller_waits_for_another_and_uses_what_it_fetched(repo, serve, tmp_path, remotes):
    import fcntl
    import threading

    one = repo({"a": "1"})
    serve(one)
    said = []
    command = remotes(say=lambda name, words: said.append(words))
    [folder] = [path for path in (tmp_path / "cache" / "git").iterdir() if (path / "lock").exists()]
    [remote] = gitfs_remotes({"gitfs_remotes": [one.url], "gitfs_update_interval": 0})
    with (folder / "lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        thread = threading.Thread(target=lambda: command.sync([remote]))
        thread.start()
        wait_for(lambda: "another pushsalt command is fetching it" in said)
    thread.join()
    assert said[-1] == ""


def test_a_killed_fetch_leaves_no_files(repo, tmp_path, serve, copies):
    """SIGKILL during a fetch: the next fetch is complete, whatever was left."""
    one = repo({f"d{number % 40}/f{number}": os.urandom(2000) for number in range(800)})
    words = [sys.executable, "-c", _CONTROLLER, str(tmp_path / "cache"), one.url]
    for wait in (0.25, 0.3, 0.35, 0.4):
        process = subprocess.Popen(words, stderr=subprocess.DEVNULL)
        time.sleep(wait)
        process.kill()
        process.wait()
    assert len(serve(one).list_files()) == 800
    assert len(copies()) == 1


def test_a_controller_killed_while_git_makes_a_copy(repo, tmp_path, serve, copies, monkeypatch):
    """git continues to write for a while: no other process fetches meanwhile, and its remains are removed."""
    one = repo({"a": "1"})
    git, begun = shutil.which("git"), tmp_path / "begun"
    slow = tmp_path / "bin" / "git"
    slow.parent.mkdir()
    slow.write_text(f'''#!/bin/sh
for word; do
    if [ "$word" = init ] && ! [ -e "{begun}" ]; then
        touch "{begun}"
        sleep 1
        {git} "$@"
        touch "{begun}.ended"
        exit
    fi
done
exec {git} "$@"
''')
    slow.chmod(0o755)
    monkeypatch.setenv("PATH", f"{slow.parent}:{os.environ['PATH']}")
    process = subprocess.Popen([sys.executable, "-c", _CONTROLLER, str(tmp_path / "cache"), one.url])
    wait_for(begun.exists)
    process.kill()
    process.wait()
    assert serve(one).read("a") == b"1"
    assert begun.with_suffix(".ended").exists()
    assert len(copies()) == 1


def test_copies_that_others_left_are_removed_with_the_next_fetch(repo, serve, copies):
    one = repo({"a": "1"})
    serve(one)
    (copy,) = copies()
    for name in ("new-1.git", "0.git"):
        (copy.parent / name).mkdir()
    one.commit({"a": "2"})
    assert serve(one).read("a") == b"2"
    assert copies() == [copy]


def test_a_repository_of_sha256(repo, serve):
    one = repo({"a": "1"}, hashes="sha256")
    assert len(one.tip()) == 64
    assert serve(one).read("a") == b"1"
    one.commit({"a": "2"})
    server = serve(one)
    assert (server.read("a"), server.read("a", one.tip())) == (b"2", b"2")


def test_an_empty_repository(repo, serve):
    one = repo()
    assert (serve(one).envs(), serve(one).find("a"), serve(one).list_files()) == ([], None, [])
    one.commit({"a": "1"})
    assert serve(one).read("a") == b"1"


def test_two_commands_of_one_process_may_share_remotes(repo, remotes):
    one = repo({"a": "1"})
    command = remotes()
    opts = {"fileserver_backend": ["git"], "gitfs_remotes": [one.url]}
    servers = [FileServer(opts, command) for _ in range(2)]
    one.path.rename(one.path.with_name("elsewhere"))
    assert [server.read("a") for server in servers] == [b"1", b"1"]
    command.close()
    assert servers[0].read("a") == b"1"


def test_a_machine_without_git(repo, serve, monkeypatch, tmp_path):
    one = repo({"a": "1"})
    serve(one)
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    for cache in ("cache", "fresh"):
        code = f"""
import logging
from pathlib import Path
from pushsalt.fileserver import FileServer
from pushsalt.git import GitError
from pushsalt.git.remotes import Remotes
opts = {{"fileserver_backend": ["git"], "gitfs_remotes": [{one.url!r}], "gitfs_update_interval": 0}}
server = FileServer(opts, Remotes(Path({str(tmp_path / cache)!r})))
try:
    server.read("a")
except GitError as exc:
    assert "there is no git on this machine" in exc.message, exc.message
else:
    raise AssertionError("read without git")
"""
        done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, check=False, text=True)
        assert done.returncode == 0, done.stderr
        assert "there is no git on this machine" in done.stderr


def test_copies_that_are_not_fetched_any_more_are_pruned(repo, serve, tmp_path):
    one = repo({"a.sls": "x"})
    serve(one.url).read("a.sls")
    cache = tmp_path / "cache"
    [folder] = [path for path in (cache / "git").iterdir() if path.name != "notes"]
    assert prune(cache, time.time() - 60) == 0
    with (folder / "lock").open("r+") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert prune(cache, time.time() + 60) == 0
    assert prune(cache, time.time() + 60) == 1
    assert [path.name for path in (cache / "git").iterdir()] == ["notes"]
    assert serve(one.url).read("a.sls") == b"x"


@pytest.mark.parametrize("umask", [0o000, 0o002, 0o022])
def test_a_copy_is_private_whatever_the_umask(repo, serve, tmp_path, umask):
    before = os.umask(umask)
    try:
        assert serve(repo({"a.sls": "one"})).read("a.sls") == b"one"
    finally:
        os.umask(before)
    found = [tmp_path / "cache", *(tmp_path / "cache").rglob("*")]
    assert any(path.suffix == ".pack" for path in found)
    assert [path for path in found if path.lstat().st_mode & 0o077] == []
