"""The beacon ``inotify`` on real files."""

from __future__ import annotations

import os

import pytest

from thin.utils import beacons

ALL = ["create", "delete", "modify", "attrib", "close_write", "moved_to", "moved_from", "delete_self"]


@pytest.fixture
def watch(load, tmp_path):
    """A function that evaluates the beacon for a folder: ``(change, path below the folder)`` of each event."""
    folder = tmp_path / "watched"
    folder.mkdir()
    functions = load()

    def evaluate(path=folder, **options):
        config = [{"files": {str(path): {"mask": ALL, **options}}}, {"_beacon_name": "files"}]
        events = functions["inotify.beacon"](config)
        for event in events:
            assert event["tag"] in (event["path"], os.path.dirname(event["path"]))
        return [(event["change"], os.path.relpath(event["path"], folder)) for event in events]

    evaluate.folder, evaluate.close = folder, functions["inotify.close"]
    return evaluate


def test_changes_of_files_in_a_folder_are_reported(watch):
    (watch.folder / "old").write_text("a")
    assert watch() == []  # later evaluations are compared with the first
    (watch.folder / "new").write_text("b")
    (watch.folder / "sub").mkdir()
    assert watch() == [
        ("IN_CREATE", "new"),
        ("IN_MODIFY", "new"),
        ("IN_CLOSE_WRITE", "new"),
        ("IN_CREATE|IN_ISDIR", "sub"),
    ]
    (watch.folder / "old").write_text("c")  # as long as before
    (watch.folder / "new").unlink()
    assert watch() == [("IN_DELETE", "new"), ("IN_MODIFY", "old"), ("IN_CLOSE_WRITE", "old")]
    (watch.folder / "old").chmod(0o600)
    assert watch() == [("IN_ATTRIB", "old")]
    assert watch() == []


def test_only_changes_in_the_mask_are_reported(watch):
    watch(mask=["delete"])
    (watch.folder / "a").write_text("x")
    assert watch(mask=["delete"]) == []
    (watch.folder / "b").write_text("x")
    assert watch(mask=["moved_to", "close_write"]) == [("IN_MOVED_TO", "b")]
    (watch.folder / "a").unlink()
    assert watch(mask=["moved_from"]) == [("IN_MOVED_FROM", "a")]


def test_a_file_is_watched_by_its_content(watch):
    path = watch.folder / "conf"
    path.write_text("a")
    watch(path)
    other = watch.folder / "conf.tmp"  # an editor's way to write
    other.write_text("b")
    other.replace(path)
    assert watch(path) == [("IN_MODIFY", "conf"), ("IN_CLOSE_WRITE", "conf")]
    path.unlink()
    assert watch(path) == [("IN_DELETE_SELF", "conf")]
    path.write_text("c")
    assert watch(path) == [] and watch(path) == []


def test_subfolders_are_watched_with_recurse(watch):
    (watch.folder / "sub").mkdir()
    (watch.folder / "sub" / "a").write_text("x")
    watch(recurse=True)
    (watch.folder / "sub" / "a").write_text("y")
    (watch.folder / "later").mkdir()
    assert watch(recurse=True) == [
        ("IN_CREATE|IN_ISDIR", "later"),
        ("IN_MODIFY", "sub/a"),
        ("IN_CLOSE_WRITE", "sub/a"),
    ]
    (watch.folder / "later" / "b").write_text("x")
    assert watch(recurse=True) == []
    assert watch(recurse=True, auto_add=True)[0] == ("IN_CREATE", "later/b")
    watch(recurse=False)
    (watch.folder / "sub" / "a").write_text("z")
    assert watch(recurse=False) == []


@pytest.mark.parametrize("exclude", ["{0}/tmp", "*.swp", {"sw[px]$": {"regex": True}}, {"{0}/tmp": {}}])
def test_excluded_files_are_not_reported(watch, exclude):
    def in_folder(text):
        return text.format(watch.folder) if "{0}" in text else text

    exclude = (
        {in_folder(key): value for key, value in exclude.items()} if isinstance(exclude, dict) else in_folder(exclude)
    )
    watch(exclude=[exclude])
    (watch.folder / "tmp.swp").write_text("x")
    (watch.folder / "kept").touch()
    assert watch(exclude=[exclude], mask=["create"]) == [("IN_CREATE", "kept")]


def test_links_are_not_followed_and_pipes_are_not_waited_for(watch, tmp_path):
    (tmp_path / "outside").write_text("a")
    (watch.folder / "link").symlink_to(tmp_path / "outside")
    os.mkfifo(watch.folder / "pipe")
    (watch.folder / "dangling").symlink_to("nothing")
    watch(recurse=True)
    (tmp_path / "outside").write_text("b")
    assert watch(recurse=True) == []
    (watch.folder / "link").unlink()
    (watch.folder / "link").symlink_to("elsewhere")
    assert ("IN_MODIFY", "link") in watch(recurse=True)


def test_too_many_files_are_an_error(watch, monkeypatch, load):
    for number in range(4):
        (watch.folder / str(number)).touch()
    functions = load()
    monkeypatch.setitem(functions["inotify.beacon"].__globals__, "MOST", 3)
    with pytest.raises(ValueError, match="more than 3 files"):
        functions["inotify.beacon"]([{"files": {str(watch.folder): {"mask": ["create"]}}}])


def test_a_closed_beacon_starts_again(watch):
    watch()
    watch.close([{"_beacon_name": "files"}])
    (watch.folder / "a").touch()
    assert watch() == []


def test_hidden_options_are_removed_except_allowed_ones():
    config = [{"_x": 1}, {"a": 1}, {"_y": 1}]
    assert beacons.remove_hidden_options(config, ["_y"]) is config and config == [{"a": 1}, {"_y": 1}]
