"""The beacon ``inotify`` on real files."""

from __future__ import annotations

import os

import pytest

from thin.utils import beacons

ALL = ["create", "delete", "modify", "attrib", "close_write", "moved_to", "moved_from", "delete_self"]


@pytest.fixture
def watched(load, tmp_path):
    """Evaluates the beacon for a folder: ``(what changed, path below the folder)`` of each event."""
    folder = tmp_path / "watched"
    folder.mkdir()
    functions = load()

    def look(path=folder, **options):
        config = [{"files": {str(path): {"mask": ALL, **options}}}, {"_beacon_name": "files"}]
        found = functions["inotify.beacon"](config)
        for event in found:
            assert event["tag"] in (event["path"], os.path.dirname(event["path"]))
        return [(event["change"], os.path.relpath(event["path"], folder)) for event in found]

    look.folder, look.close = folder, functions["inotify.close"]
    return look


def test_changes_of_files_in_a_folder(watched):
    (watched.folder / "old").write_text("a")
    assert watched() == []  # the first look is for comparison
    (watched.folder / "new").write_text("b")
    (watched.folder / "sub").mkdir()
    assert watched() == [
        ("IN_CREATE", "new"),
        ("IN_MODIFY", "new"),
        ("IN_CLOSE_WRITE", "new"),
        ("IN_CREATE|IN_ISDIR", "sub"),
    ]
    (watched.folder / "old").write_text("c")  # as long as before
    (watched.folder / "new").unlink()
    assert watched() == [("IN_DELETE", "new"), ("IN_MODIFY", "old"), ("IN_CLOSE_WRITE", "old")]
    (watched.folder / "old").chmod(0o600)
    assert watched() == [("IN_ATTRIB", "old")]
    assert watched() == []


def test_only_changes_in_the_mask_are_reported(watched):
    watched(mask=["delete"])
    (watched.folder / "a").write_text("x")
    assert watched(mask=["delete"]) == []
    (watched.folder / "b").write_text("x")
    assert watched(mask=["moved_to", "close_write"]) == [("IN_MOVED_TO", "b")]
    (watched.folder / "a").unlink()
    assert watched(mask=["moved_from"]) == [("IN_MOVED_FROM", "a")]


def test_a_file_is_watched_by_its_content(watched):
    path = watched.folder / "conf"
    path.write_text("a")
    watched(path)
    other = watched.folder / "conf.tmp"  # an editor's way to write
    other.write_text("b")
    other.replace(path)
    assert watched(path) == [("IN_MODIFY", "conf"), ("IN_CLOSE_WRITE", "conf")]
    path.unlink()
    assert watched(path) == [("IN_DELETE_SELF", "conf")]
    path.write_text("c")
    assert watched(path) == [] and watched(path) == []


def test_folders_below(watched):
    (watched.folder / "sub").mkdir()
    (watched.folder / "sub" / "a").write_text("x")
    watched(recurse=True)
    (watched.folder / "sub" / "a").write_text("y")
    (watched.folder / "later").mkdir()
    assert watched(recurse=True) == [
        ("IN_CREATE|IN_ISDIR", "later"),
        ("IN_MODIFY", "sub/a"),
        ("IN_CLOSE_WRITE", "sub/a"),
    ]
    (watched.folder / "later" / "b").write_text("x")
    assert watched(recurse=True) == []
    assert watched(recurse=True, auto_add=True)[0] == ("IN_CREATE", "later/b")
    watched(recurse=False)
    (watched.folder / "sub" / "a").write_text("z")
    assert watched(recurse=False) == []


@pytest.mark.parametrize("exclude", ["{0}/tmp", "*.swp", {"sw[px]$": {"regex": True}}, {"{0}/tmp": {}}])
def test_excluded_files(watched, exclude):
    def in_folder(text):
        return text.format(watched.folder) if "{0}" in text else text

    exclude = (
        {in_folder(key): value for key, value in exclude.items()} if isinstance(exclude, dict) else in_folder(exclude)
    )
    watched(exclude=[exclude])
    (watched.folder / "tmp.swp").write_text("x")
    (watched.folder / "kept").touch()
    assert watched(exclude=[exclude], mask=["create"]) == [("IN_CREATE", "kept")]


def test_links_are_not_followed_and_pipes_are_not_waited_for(watched, tmp_path):
    (tmp_path / "outside").write_text("a")
    (watched.folder / "link").symlink_to(tmp_path / "outside")
    os.mkfifo(watched.folder / "pipe")
    (watched.folder / "dangling").symlink_to("nothing")
    watched(recurse=True)
    (tmp_path / "outside").write_text("b")
    assert watched(recurse=True) == []
    (watched.folder / "link").unlink()
    (watched.folder / "link").symlink_to("elsewhere")
    assert ("IN_MODIFY", "link") in watched(recurse=True)


def test_too_many_files_are_an_error(watched, monkeypatch, load):
    for number in range(4):
        (watched.folder / str(number)).touch()
    functions = load()
    monkeypatch.setitem(functions["inotify.beacon"].__globals__, "MOST", 3)
    with pytest.raises(ValueError, match="more than 3 files"):
        functions["inotify.beacon"]([{"files": {str(watched.folder): {"mask": ["create"]}}}])


def test_after_its_end_it_begins_anew(watched):
    watched()
    watched.close([{"_beacon_name": "files"}])
    (watched.folder / "a").touch()
    assert watched() == []


def test_hidden_options_are_salts():
    given = [{"_x": 1}, {"a": 1}, {"_y": 1}]
    assert beacons.remove_hidden_options(given, ["_y"]) is given and given == [{"a": 1}, {"_y": 1}]
