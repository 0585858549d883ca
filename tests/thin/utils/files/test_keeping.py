"""Backups of the files that a job changes: complete after faults; damaged notes and copies are detected."""

from __future__ import annotations

import json
import os
from binascii import b2a_base64
from pathlib import Path

import pytest

from thin import packing
from thin.utils.files import atomic, backup, keeping, places, safepath, undo

JID = "20261126101500000000"


@pytest.fixture
def cache(tmp_path: Path) -> str:
    return str(tmp_path / "cache")


@pytest.fixture
def top(tmp_path: Path) -> Path:
    (tmp_path / "top").mkdir()
    return tmp_path / "top"


def keeper(cache: str) -> keeping.Keeper:
    return keeping.Keeper(cache, JID, always=True)


def done(cache: str) -> dict[str, tuple[str, object]]:
    found = undo.run(cache, JID)
    assert found is not None
    return {os.path.basename(each["path"]): (each["action"], each["result"]) for each in found["files"]}


def test_nothing_is_watched_outside(cache: str, top: Path) -> None:
    with keeper(cache).of("s"):
        assert places.watch is not None and backup.keeper is not None
    assert places.watch is None and backup.keeper is None
    atomic.write(str(top / "file"), b"text")
    assert undo.plan(cache, JID) is None


def test_a_state_says_backup_or_the_run_does(cache: str) -> None:
    some = keeping.Keeper(cache, JID)
    assert isinstance(some.of_state({}, "t"), keeping.NoKeeper)
    assert isinstance(some.of_state({"backup": ".bak"}, "t"), keeping.NoKeeper)
    assert some.of_state({"backup": "minion"}, "t") is some
    usual = keeping.Keeper(cache, JID, usual="minion")
    assert usual.of_state({}, "t") is usual
    assert isinstance(usual.of_state({"backup": ""}, "t"), keeping.NoKeeper)


def test_a_file_that_is_created_and_removed_leaves_no_backup(cache: str, top: Path) -> None:
    with keeper(cache).of("s"):
        atomic.write(str(top / "file"), b"text")
        safepath.unlink(str(top / "file"))
        safepath.mkdir(str(top / "folder"))
        safepath.rmdir(str(top / "folder"))
    found = undo.plan(cache, JID)
    assert found is not None and found["files"] == []


def test_a_file_that_keeps_its_inode(cache: str, top: Path) -> None:
    (top / "file").write_bytes(b"old\n")
    with keeper(cache).of("s"):
        atomic.append(str(top / "file"), b"more\n")
        atomic.write(str(top / "file"), b"new\n", keep_inode=True)
    assert done(cache) == {"file": ("write", True)}
    assert (top / "file").read_bytes() == b"old\n"


def test_two_states_and_the_first_before(cache: str, top: Path) -> None:
    (top / "file").write_bytes(b"old\n")
    (top / "file").chmod(0o640)
    kept = keeper(cache)
    with kept.of("first"):
        safepath.chmod(str(top / "file"), 0o600)
    with kept.of("second"):
        atomic.write(str(top / "file"), b"new\n", mode=0o644)
    assert done(cache) == {"file": ("write", True)}
    assert ((top / "file").read_bytes(), oct((top / "file").stat().st_mode)) == (b"old\n", "0o100640")


def test_a_folder_is_removed_only_when_it_is_empty(cache: str, top: Path) -> None:
    with keeper(cache).of("s"):
        atomic.write(str(top / "file"), b"")
        safepath.makedirs(str(top / "a" / "b"))
    (top / "a" / "b" / "by-hand").write_text("")
    found = undo.run(cache, JID)
    assert found is not None
    results = {os.path.basename(each["path"]): (each["result"], each.get("why")) for each in found["files"]}
    assert results == {
        "file": (True, None),
        "b": (False, "the folder is not empty"),
        "a": (False, "the folder is not empty"),
    }


def test_a_large_folder_is_said_to_be_lost(cache: str, top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeping, "MOST_ENTRIES", 3)
    (top / "tree").mkdir()
    for number in range(5):
        (top / "tree" / str(number)).write_text("")
    with keeper(cache).of("s"):
        safepath.remove(str(top / "tree"))
    (entry,) = (undo.run(cache, JID) or {})["files"]
    assert (entry["action"], entry["result"]) == ("lost", False)
    assert "more than 3 entries" in entry["why"]


def test_a_pipe_cannot_be_put_back(cache: str, top: Path) -> None:
    os.mkfifo(top / "pipe")
    with keeper(cache).of("s"):
        safepath.remove(str(top / "pipe"))
    assert done(cache) == {"pipe": ("lost", False)}


def test_a_copy_that_is_gone(cache: str, top: Path) -> None:
    (top / "file").write_bytes(b"old\n")
    with keeper(cache).of("s"):
        atomic.write(str(top / "file"), b"new\n")
    for copy in Path(cache, "file_backup").rglob("file_*"):
        copy.unlink()
    (entry,) = (undo.run(cache, JID) or {})["files"]
    assert entry["action"] == "lost" and "no longer exists" in entry["why"]
    assert (top / "file").read_bytes() == b"new\n"


def test_what_cannot_be_kept_is_not_changed(cache: str, top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (top / "file").write_bytes(b"old\n")

    def full(*args: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(backup, "copy", full)
    with pytest.raises(OSError, match="No space"), keeper(cache).of("s"):
        atomic.write(str(top / "file"), b"new\n")
    assert (top / "file").read_bytes() == b"old\n"
    assert [path.name for path in top.iterdir()] == ["file"]


@pytest.mark.parametrize("cut", range(1, 400, 23))
def test_notes_that_were_cut_off(cache: str, top: Path, cut: int) -> None:
    """With any part of the notes: no error, and restored files have their former content."""
    (top / "file").write_bytes(b"old\n")
    with keeper(cache).of("s"):
        atomic.write(str(top / "file"), b"new\n")
    path = Path(keeping.notes_path(cache, JID))
    path.write_bytes(path.read_bytes()[:-cut])
    found = undo.run(cache, JID)
    if found and found["files"]:
        # the state after the job is not recorded, so the file may belong to somebody else
        assert [(each["action"], each["result"]) for each in found["files"]] == [("write", False)]
        assert undo.run(cache, JID, accept_drift=True) is not None
        assert (top / "file").read_bytes() == b"old\n"
    else:
        assert (top / "file").read_bytes() == b"new\n"


SHAPES = [{}, [], None, 5, {"path": 1}, {"path": "/a", "before": {}}]


@pytest.mark.parametrize("line", [*(b2a_base64(packing.packed(value)) for value in SHAPES), b"{\n", b"\n"])
def test_notes_of_another_shape(cache: str, top: Path, line: bytes) -> None:
    (top / "file").write_bytes(b"old\n")
    with keeper(cache).of("s"):
        atomic.write(str(top / "file"), b"new\n")
    with open(keeping.notes_path(cache, JID), "ab") as notes:
        notes.write(line)
    assert undo.plan(cache, JID) is None


def test_the_plan_that_was_shown(cache: str, top: Path) -> None:
    (top / "file").write_bytes(b"old\n")
    with keeper(cache).of("s"):
        atomic.write(str(top / "file"), b"new\n")
    shown = undo.plan(cache, JID)
    assert shown is not None and json.dumps(shown)
    (top / "file").write_bytes(b"by hand\n")
    refused = undo.run(cache, JID, accept_drift=True, keys=[shown["key"]])
    assert refused is not None and refused["stale"] is True
    assert (top / "file").read_bytes() == b"by hand\n"
