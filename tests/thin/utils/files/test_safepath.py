"""Paths by open folders: which links root follows, what is refused with which error, and trees."""

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
def place(tmp_path: Path) -> Path:
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
def test_a_link_of_another_user_is_refused(place: Path) -> None:
    path = link(place / "canary", place / "theirs/file")
    with pytest.raises(safepath.Refused) as caught:
        safepath.read(path)
    assert str(caught.value) == (
        f"'{path}' is a link of the user nobody: root follows only links that no other user can change. Use the path "
        "that it leads to, or give the link and the folders above it to root"
    )
    assert caught.value.errno == errno.ELOOP


@root_only
def test_a_link_of_root_in_a_folder_of_another_user_is_refused(place: Path) -> None:
    path = link(place / "canary", place / "theirs/file", uid=0)
    with pytest.raises(safepath.Refused, match="is a link in a folder of the user nobody"):
        safepath.chmod(path, 0o644)


@root_only
@pytest.mark.parametrize("mode", [0o775, 0o777])
def test_a_link_in_a_folder_that_others_can_write_to_is_refused(place: Path, mode: int) -> None:
    (place / "open").mkdir()
    os.chmod(place / "open", mode)
    path = link(place / "canary", place / "open/file", uid=0)
    with pytest.raises(safepath.Refused, match="is a link in a folder that other users can write to"):
        safepath.read(path)


@root_only
def test_a_folder_above_that_others_can_change_counts(place: Path) -> None:
    (place / "theirs/roots").mkdir()
    path = link(place / "canary", place / "theirs/roots/file", uid=0)
    with pytest.raises(safepath.Refused, match="in a folder of the user nobody"):
        safepath.read(path)


@root_only
def test_links_of_root_are_followed(place: Path) -> None:
    os.symlink("canary", place / "relative")
    os.symlink(place / "relative", place / "absolute")
    os.symlink(place, place / "outside/up")
    (place / "sticky").mkdir()
    os.chmod(place / "sticky", 0o1777)
    os.symlink("../canary", place / "sticky/link")
    for path in ("relative", "absolute", "outside/up/absolute", "sticky/link", "outside/../outside/up/canary"):
        assert safepath.read(place / path) == b"secret"


@root_only
def test_a_link_of_another_user_in_a_sticky_folder_is_refused(place: Path) -> None:
    (place / "sticky").mkdir()
    os.chmod(place / "sticky", 0o1777)
    with pytest.raises(safepath.Refused):
        safepath.read(link(place / "canary", place / "sticky/link"))


@root_only
def test_a_link_in_the_middle_is_held_to_the_same_rule(place: Path) -> None:
    link(place / "outside", place / "theirs/folder")
    os.symlink(place / "outside", place / "ours")
    with pytest.raises(safepath.Refused):
        safepath.mkdir(place / "theirs/folder/new")
    safepath.mkdir(place / "ours/new")
    assert os.listdir(place / "outside") == ["new"]


@root_only
def test_a_path_through_a_folder_of_another_user_is_used(place: Path) -> None:
    safepath.mkdir(place / "theirs/new", 0o750)
    safepath.chown(place / "theirs/new", NOBODY, NOBODY)
    found = os.lstat(place / "theirs/new")
    assert (found.st_uid, stat.S_IMODE(found.st_mode)) == (NOBODY, 0o750)


def test_a_link_is_not_followed_unless_asked(place: Path) -> None:
    os.symlink("canary", place / "link")
    with safepath.at(place / "link") as opened, pytest.raises(safepath.Refused, match="may not be followed here"):
        opened.open(os.O_RDONLY)
    safepath.chown(place / "link", os.geteuid(), os.getegid())
    with safepath.at(place / "link") as opened, opened.pin() as pinned, pytest.raises(safepath.Refused):
        pinned.chmod(0o777)
    safepath.unlink(place / "link")
    assert sorted(os.listdir(place)) == ["canary", "outside", "theirs"]


@root_only
def test_links_are_followed_as_by_the_system_without_root(place: Path) -> None:
    link("/dev/null", place / "theirs/link")
    as_nobody(place / "theirs", lambda: Path("done").write_text(repr(safepath.read("link"))) and None)
    assert (place / "theirs/done").read_text() == "b''"


@root_only
def test_links_in_a_circle_end_for_whoever_is_not_root(place: Path) -> None:
    link("b", place / "theirs/a")
    link("a", place / "theirs/b")

    def read() -> None:
        with pytest.raises(OSError) as caught:
            safepath.read("a")
        assert caught.value.errno == errno.ELOOP

    as_nobody(place / "theirs", read)


def test_links_in_a_circle_end(place: Path) -> None:
    os.symlink("b", place / "a")
    os.symlink("a", place / "b")
    with pytest.raises(OSError) as caught:
        safepath.read(place / "a")
    assert caught.value.errno == errno.ELOOP


def test_errors_name_the_path(place: Path) -> None:
    for function in (safepath.read, safepath.unlink, safepath.rmdir):
        with pytest.raises(FileNotFoundError) as caught:
            function(place / "no/such")
        assert str(caught.value) == f"[Errno 2] No such file or directory: '{place}/no/such'"
    with pytest.raises(NotADirectoryError):
        safepath.mkdir(place / "canary/below")


def test_a_path_without_links(place: Path) -> None:
    (place / "outside/a").mkdir()
    os.symlink("outside/a", place / "link")
    os.symlink("nowhere/x", place / "outside/a/dangling")
    top = os.path.realpath(place)
    for path, wanted in {
        "canary": "canary",
        "link": "outside/a",
        "link/../b/c": "outside/b/c",
        "link/new/er": "outside/a/new/er",
        "link/dangling": "outside/a/nowhere/x",
        "canary/below": "canary/below",
        "link/.": "outside/a",
    }.items():
        assert safepath.real(f"{place}/{path}") == f"{top}/{wanted}" == os.path.realpath(f"{place}/{path}"), path
    assert safepath.real("/") == "/"


@root_only
def test_a_path_without_links_is_refused_where_root_does_not_go(place: Path) -> None:
    link(place / "canary", place / "theirs/file")
    os.symlink("b", place / "a")
    os.symlink("a", place / "b")
    with pytest.raises(safepath.Refused, match="a link of the user nobody"):
        safepath.real(place / "theirs/file/x")
    with pytest.raises(safepath.Refused, match="too many links"):
        safepath.real(place / "a/canary")


def test_a_state_that_is_refused_says_so_in_one_sentence() -> None:
    ret = returns.failed({"name": "/x"}, safepath.Refused("'/x' is a link"))
    assert ret == {"name": "/x", "changes": {}, "result": False, "comment": "'/x' is a link"}


# -- below a folder --


def test_below_a_folder_no_link_is_followed_whoever_made_it(place: Path) -> None:
    os.symlink(place, place / "outside/up")
    for path, words in (("up/canary", "is a link"), ("../canary", "leads out"), ("/etc/passwd", "leads out")):
        with pytest.raises(safepath.Refused, match=words):
            safepath.at(path, below=place / "outside").close()
    with safepath.at("new", below=place / "outside") as opened:
        opened.mkdir()
    assert (place / "outside/new").is_dir()


# -- operations in an open folder


def test_the_folder_stays_the_one_that_was_opened(place: Path) -> None:
    with safepath.at(place / "outside/file") as opened:
        os.rename(place / "outside", place / "moved")
        os.symlink(place / "theirs", place / "outside")
        descriptor, temporary = opened.temporary()
        os.close(descriptor)
        opened.take(temporary)
    assert os.listdir(place / "moved") == ["file"] and os.listdir(place / "theirs") == []


def test_a_pinned_file_stays_the_one_that_was_seen(place: Path) -> None:
    path = place / "outside/file"
    path.write_text("x")
    with safepath.at(path) as opened, opened.pin() as pinned:
        os.rename(path, place / "outside/other")
        os.symlink(place / "canary", path)
        pinned.chmod(0o604)
    assert stat.S_IMODE(os.stat(place / "outside/other").st_mode) == 0o604
    assert stat.S_IMODE(os.stat(place / "canary").st_mode) != 0o604


def test_open_by_the_opener_writes_as_open_does(place: Path) -> None:
    for mode, text in (("w", "one\n"), ("a", "two\n")):
        with open(place / "new", mode, opener=safepath.opener) as target:
            target.write(text)
    assert (place / "new").read_text() == "one\ntwo\n"


def test_a_named_pipe_does_not_block(place: Path) -> None:
    os.mkfifo(place / "pipe")
    with pytest.raises(OSError, match="named pipe"):
        safepath.read(place / "pipe")


@root_only
@pytest.mark.parametrize("protected", [False, True])
def test_files_that_others_may_have_linked_are_left_alone_where_everybody_may(
    place: Path, monkeypatch: pytest.MonkeyPatch, protected: bool
) -> None:
    from thin.utils.files import places

    os.link(place / "canary", place / "theirs/canary")
    monkeypatch.setattr(places, "_links_are_protected", lambda: protected)
    tries = [
        lambda: safepath.chown(place / "theirs/canary", 0, 0),
        lambda: safepath.chmod(place / "theirs/canary", 0o600),
        lambda: open(place / "theirs/canary", "a", opener=safepath.opener).close(),
    ]
    for one in tries:
        if protected:
            one()
        else:
            with pytest.raises(safepath.Refused, match="several names"):
                one()
    safepath.chown(place / "canary", 0, 0)


def test_removing(place: Path) -> None:
    (place / "outside/a/b").mkdir(parents=True)
    (place / "outside/a/file").write_text("x")
    os.symlink(place / "canary", place / "outside/a/b/link")
    assert safepath.remove(place / "outside") is True
    assert safepath.remove(place / "outside") is False
    assert (place / "canary").read_text() == "secret"


def test_invalid_names_are_not_removed(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place / "outside")
    (place / "outside/kept").mkdir()
    assert safepath.remove("") is False
    with pytest.raises(OSError, match="Not a name in a folder"):
        safepath.remove(f"{place}/outside/kept/..")
    assert os.listdir(place / "outside") == ["kept"]


# -- trees --


def test_a_tree_is_listed_top_first_and_may_be_cut(place: Path) -> None:
    for name in ("a/x/deep", "b", "c"):
        (place / "outside" / name).mkdir(parents=True)
    (place / "outside/a/file").write_text("x")
    os.symlink(place / "theirs", place / "outside/b/link")
    found = []
    for folder in safetree.descend(str(place / "outside")):
        folder.folders.sort()
        if "x" in folder.folders:
            folder.folders.remove("x")
        found.append((os.path.relpath(folder.path, place), folder.folders, folder.others))
    assert found == [
        ("outside", ["a", "b", "c"], []),
        ("outside/a", [], ["file"]),
        ("outside/b", [], ["link"]),
        ("outside/c", [], []),
    ]
    assert len(os.listdir("/proc/self/fd")) < 100


def test_an_unfinished_walk_closes_its_descriptors(place: Path) -> None:
    for number in range(20):
        (place / "outside" / str(number) / "below").mkdir(parents=True)
    before = len(os.listdir("/proc/self/fd"))
    walk = safetree.descend(str(place / "outside"))
    for _ in range(5):
        next(walk)
    walk.close()
    assert len(os.listdir("/proc/self/fd")) == before


@root_only
def test_a_tree_gets_an_owner_and_links_lead_nowhere(place: Path) -> None:
    (place / "theirs/a/b").mkdir(parents=True)
    (place / "theirs/a/file").write_text("x")
    link(place / "canary", place / "theirs/a/link")
    link(place / "outside", place / "theirs/a/b/link")
    safetree.own_tree(str(place / "theirs"), 1234, 1235)
    for path in ("theirs", "theirs/a", "theirs/a/b", "theirs/a/file", "theirs/a/link", "theirs/a/b/link"):
        found = os.lstat(place / path)
        assert (found.st_uid, found.st_gid) == (1234, 1235), path
    assert {os.lstat(place / path).st_uid for path in ("canary", "outside")} == {0}
