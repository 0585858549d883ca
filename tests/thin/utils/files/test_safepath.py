"""Paths by open folders: links that root follows, errors of refused ones, and trees."""

from __future__ import annotations

import errno
import os
import stat
import traceback
from collections.abc import Callable
from pathlib import Path

import pytest

from thin import returns
from thin.utils.files import safepath, safetree

NOBODY = 65534
root_only = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make files of other users")


@pytest.fixture
def base(tmp_path: Path) -> Path:
    """A folder of root; its ``theirs`` belongs to another user, ``canary`` is a file of root outside."""
    os.chmod(tmp_path, 0o755)
    (tmp_path / "theirs").mkdir()
    (tmp_path / "canary").write_text("secret")
    (tmp_path / "outside").mkdir()
    if os.geteuid() == 0:
        os.chown(tmp_path / "theirs", NOBODY, NOBODY)
    return tmp_path


def as_nobody(folder: Path, function: Callable[[], None]) -> None:
    """Call a function as another user, who may be unable to enter the folders of the tests."""
    child = os.fork()
    if not child:
        status = 99
        try:
            os.chdir(folder)
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            function()
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    assert os.WEXITSTATUS(os.waitpid(child, 0)[1]) == 0


def link(target: Path | str, path: Path, uid: int = NOBODY) -> Path:
    os.symlink(target, path)
    os.chown(path, uid, uid, follow_symlinks=False)
    return path


# -- which links are followed --


@root_only
def test_a_link_of_another_user_is_refused(base: Path) -> None:
    path = link(base / "canary", base / "theirs/file")
    with pytest.raises(safepath.Refused) as caught:
        safepath.read(path)
    assert str(caught.value) == (
        f"'{path}' is a link of the user nobody: root follows only links that no other user can change. Use the path "
        "that it leads to, or give the link and the folders above it to root"
    )
    assert caught.value.errno == errno.ELOOP


@root_only
def test_a_link_of_root_in_a_folder_of_another_user_is_refused(base: Path) -> None:
    path = link(base / "canary", base / "theirs/file", uid=0)
    with pytest.raises(safepath.Refused, match="is a link in a folder of the user nobody"):
        safepath.chmod(path, 0o644)


@root_only
@pytest.mark.parametrize("mode", [0o775, 0o777])
def test_a_link_in_a_folder_that_others_can_write_to_is_refused(base: Path, mode: int) -> None:
    (base / "open").mkdir()
    os.chmod(base / "open", mode)
    path = link(base / "canary", base / "open/file", uid=0)
    with pytest.raises(safepath.Refused, match="is a link in a folder that other users can write to"):
        safepath.read(path)


@root_only
def test_a_link_below_a_folder_of_another_user_is_refused(base: Path) -> None:
    (base / "theirs/roots").mkdir()
    path = link(base / "canary", base / "theirs/roots/file", uid=0)
    with pytest.raises(safepath.Refused, match="in a folder of the user nobody"):
        safepath.read(path)


@root_only
def test_links_of_root_are_followed(base: Path) -> None:
    os.symlink("canary", base / "relative")
    os.symlink(base / "relative", base / "absolute")
    os.symlink(base, base / "outside/up")
    (base / "sticky").mkdir()
    os.chmod(base / "sticky", 0o1777)
    os.symlink("../canary", base / "sticky/link")
    for path in ("relative", "absolute", "outside/up/absolute", "sticky/link", "outside/../outside/up/canary"):
        assert safepath.read(base / path) == b"secret"


@root_only
def test_a_link_of_another_user_in_a_sticky_folder_is_refused(base: Path) -> None:
    (base / "sticky").mkdir()
    os.chmod(base / "sticky", 0o1777)
    with pytest.raises(safepath.Refused):
        safepath.read(link(base / "canary", base / "sticky/link"))


@root_only
def test_a_link_in_the_middle_of_a_path_is_checked(base: Path) -> None:
    link(base / "outside", base / "theirs/folder")
    os.symlink(base / "outside", base / "ours")
    with pytest.raises(safepath.Refused):
        safepath.mkdir(base / "theirs/folder/new")
    safepath.mkdir(base / "ours/new")
    assert os.listdir(base / "outside") == ["new"]


@root_only
def test_a_path_through_a_folder_of_another_user_is_used(base: Path) -> None:
    safepath.mkdir(base / "theirs/new", 0o750)
    safepath.chown(base / "theirs/new", NOBODY, NOBODY)
    status = os.lstat(base / "theirs/new")
    assert (status.st_uid, stat.S_IMODE(status.st_mode)) == (NOBODY, 0o750)


def test_a_link_is_not_followed_unless_requested(base: Path) -> None:
    os.symlink("canary", base / "link")
    with safepath.at(base / "link") as opened, pytest.raises(safepath.Refused, match="may not be followed here"):
        opened.open(os.O_RDONLY)
    safepath.chown(base / "link", os.geteuid(), os.getegid())
    with safepath.at(base / "link") as opened, opened.pin() as pinned, pytest.raises(safepath.Refused):
        pinned.chmod(0o777)
    safepath.unlink(base / "link")
    assert sorted(os.listdir(base)) == ["canary", "outside", "theirs"]


@root_only
def test_links_are_followed_as_by_the_system_without_root(base: Path) -> None:
    link("/dev/null", base / "theirs/link")
    as_nobody(base / "theirs", lambda: Path("done").write_text(repr(safepath.read("link"))) and None)
    assert (base / "theirs/done").read_text() == "b''"


@root_only
def test_a_loop_of_links_is_an_error_for_other_users(base: Path) -> None:
    link("b", base / "theirs/a")
    link("a", base / "theirs/b")

    def read() -> None:
        with pytest.raises(OSError) as caught:
            safepath.read("a")
        assert caught.value.errno == errno.ELOOP

    as_nobody(base / "theirs", read)


def test_a_loop_of_links_is_an_error(base: Path) -> None:
    os.symlink("b", base / "a")
    os.symlink("a", base / "b")
    with pytest.raises(OSError) as caught:
        safepath.read(base / "a")
    assert caught.value.errno == errno.ELOOP


def test_errors_name_the_path(base: Path) -> None:
    for function in (safepath.read, safepath.unlink, safepath.rmdir):
        with pytest.raises(FileNotFoundError) as caught:
            function(base / "no/such")
        assert str(caught.value) == f"[Errno 2] No such file or directory: '{base}/no/such'"
    with pytest.raises(NotADirectoryError):
        safepath.mkdir(base / "canary/below")


def test_real_resolves_links(base: Path) -> None:
    (base / "outside/a").mkdir()
    os.symlink("outside/a", base / "link")
    os.symlink("nowhere/x", base / "outside/a/dangling")
    top = os.path.realpath(base)
    for path, wanted in {
        "canary": "canary",
        "link": "outside/a",
        "link/../b/c": "outside/b/c",
        "link/new/er": "outside/a/new/er",
        "link/dangling": "outside/a/nowhere/x",
        "canary/below": "canary/below",
        "link/.": "outside/a",
    }.items():
        assert safepath.real(f"{base}/{path}") == f"{top}/{wanted}" == os.path.realpath(f"{base}/{path}"), path
    assert safepath.real("/") == "/"


@root_only
def test_real_refuses_links_that_root_does_not_follow(base: Path) -> None:
    link(base / "canary", base / "theirs/file")
    os.symlink("b", base / "a")
    os.symlink("a", base / "b")
    with pytest.raises(safepath.Refused, match="a link of the user nobody"):
        safepath.real(base / "theirs/file/x")
    with pytest.raises(safepath.Refused, match="too many links"):
        safepath.real(base / "a/canary")


def test_the_comment_of_a_refused_state_is_the_message() -> None:
    ret = returns.failed({"name": "/x"}, safepath.Refused("'/x' is a link"))
    assert ret == {"name": "/x", "changes": {}, "result": False, "comment": "'/x' is a link"}


# -- below a folder --


def test_no_link_is_followed_below_a_folder(base: Path) -> None:
    os.symlink(base, base / "outside/up")
    for path, message in (("up/canary", "is a link"), ("../canary", "leads out"), ("/etc/passwd", "leads out")):
        with pytest.raises(safepath.Refused, match=message):
            safepath.at(path, below=base / "outside").close()
    with safepath.at("new", below=base / "outside") as opened:
        opened.mkdir()
    assert (base / "outside/new").is_dir()


# -- operations in an open folder


def test_an_open_folder_is_used_after_its_path_changes(base: Path) -> None:
    with safepath.at(base / "outside/file") as opened:
        os.rename(base / "outside", base / "moved")
        os.symlink(base / "theirs", base / "outside")
        descriptor, temporary = opened.temporary()
        os.close(descriptor)
        opened.take(temporary)
    assert os.listdir(base / "moved") == ["file"] and os.listdir(base / "theirs") == []


def test_a_pinned_file_is_used_after_its_path_changes(base: Path) -> None:
    path = base / "outside/file"
    path.write_text("x")
    with safepath.at(path) as opened, opened.pin() as pinned:
        os.rename(path, base / "outside/other")
        os.symlink(base / "canary", path)
        pinned.chmod(0o604)
    assert stat.S_IMODE(os.stat(base / "outside/other").st_mode) == 0o604
    assert stat.S_IMODE(os.stat(base / "canary").st_mode) != 0o604


def test_the_opener_writes_as_open_does(base: Path) -> None:
    for mode, text in (("w", "one\n"), ("a", "two\n")):
        with open(base / "new", mode, opener=safepath.opener) as target:
            target.write(text)
    assert (base / "new").read_text() == "one\ntwo\n"


def test_a_named_pipe_does_not_block(base: Path) -> None:
    os.mkfifo(base / "pipe")
    with pytest.raises(OSError, match="named pipe"):
        safepath.read(base / "pipe")


@root_only
@pytest.mark.parametrize("protected", [False, True])
def test_a_file_with_several_names_is_refused_where_links_are_unprotected(
    base: Path, monkeypatch: pytest.MonkeyPatch, protected: bool
) -> None:
    from thin.utils.files import places

    os.link(base / "canary", base / "theirs/canary")
    monkeypatch.setattr(places, "_links_are_protected", lambda: protected)
    changes = [
        lambda: safepath.chown(base / "theirs/canary", 0, 0),
        lambda: safepath.chmod(base / "theirs/canary", 0o600),
        lambda: open(base / "theirs/canary", "a", opener=safepath.opener).close(),
    ]
    for change in changes:
        if protected:
            change()
        else:
            with pytest.raises(safepath.Refused, match="several names"):
                change()
    safepath.chown(base / "canary", 0, 0)


def test_a_tree_is_removed_without_targets_of_links(base: Path) -> None:
    (base / "outside/a/b").mkdir(parents=True)
    (base / "outside/a/file").write_text("x")
    os.symlink(base / "canary", base / "outside/a/b/link")
    assert safepath.remove(base / "outside") is True
    assert safepath.remove(base / "outside") is False
    assert (base / "canary").read_text() == "secret"


def test_invalid_names_are_not_removed(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(base / "outside")
    (base / "outside/kept").mkdir()
    assert safepath.remove("") is False
    with pytest.raises(OSError, match="Not a name in a folder"):
        safepath.remove(f"{base}/outside/kept/..")
    assert os.listdir(base / "outside") == ["kept"]


# -- trees --


def test_a_tree_is_listed_from_the_top_and_folders_can_be_skipped(base: Path) -> None:
    for name in ("a/x/deep", "b", "c"):
        (base / "outside" / name).mkdir(parents=True)
    (base / "outside/a/file").write_text("x")
    os.symlink(base / "theirs", base / "outside/b/link")
    entries = []
    before = len(os.listdir("/proc/self/fd"))
    for folder in safetree.descend(str(base / "outside")):
        folder.folders.sort()
        if "x" in folder.folders:
            folder.folders.remove("x")
        entries.append((os.path.relpath(folder.path, base), folder.folders, folder.others))
    assert entries == [
        ("outside", ["a", "b", "c"], []),
        ("outside/a", [], ["file"]),
        ("outside/b", [], ["link"]),
        ("outside/c", [], []),
    ]
    assert len(os.listdir("/proc/self/fd")) <= before


def test_an_unfinished_walk_closes_its_descriptors(base: Path) -> None:
    for number in range(20):
        (base / "outside" / str(number) / "below").mkdir(parents=True)
    before = len(os.listdir("/proc/self/fd"))
    walk = safetree.descend(str(base / "outside"))
    for _ in range(5):
        next(walk)
    walk.close()
    assert len(os.listdir("/proc/self/fd")) == before


@root_only
def test_a_tree_gets_an_owner_and_links_are_not_followed(base: Path) -> None:
    (base / "theirs/a/b").mkdir(parents=True)
    (base / "theirs/a/file").write_text("x")
    link(base / "canary", base / "theirs/a/link")
    link(base / "outside", base / "theirs/a/b/link")
    safetree.own_tree(str(base / "theirs"), 1234, 1235)
    for path in ("theirs", "theirs/a", "theirs/a/b", "theirs/a/file", "theirs/a/link", "theirs/a/b/link"):
        status = os.lstat(base / path)
        assert (status.st_uid, status.st_gid) == (1234, 1235), path
    assert {os.lstat(base / path).st_uid for path in ("canary", "outside")} == {0}
