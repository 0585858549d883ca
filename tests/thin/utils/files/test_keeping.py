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


def restored(cache: str) -> dict[str, tuple[str, object]]:
    """Undo the job: {name of a file: (action, result)}."""
    report = undo.run(cache, JID)
    assert report is not None
    return {os.path.basename(entry["path"]): (entry["action"], entry["result"]) for entry in report["files"]}


def test_only_changes_of_states_are_recorded(cache: str, top: Path) -> None:
    with keeper(cache).of("s"):
        assert places.watch is not None and backup.keeper is not None
    assert places.watch is None and backup.keeper is None
    atomic.write(str(top / "file"), b"text")
    assert undo.plan(cache, JID) is None


def test_a_state_or_the_run_requests_a_backup(cache: str) -> None:
    optional = keeping.Keeper(cache, JID)
    assert isinstance(optional.of_state({}, "t"), keeping.NoKeeper)
    assert isinstance(optional.of_state({"backup": ".bak"}, "t"), keeping.NoKeeper)
    assert optional.of_state({"backup": "minion"}, "t") is optional
    usual = keeping.Keeper(cache, JID, usual="minion")
    assert usual.of_state({}, "t") is usual
    assert isinstance(usual.of_state({"backup": ""}, "t"), keeping.NoKeeper)


def test_a_file_that_is_created_and_removed_leaves_no_backup(cache: str, top: Path) -> None:
    with keeper(cache).of("s"):
        atomic.write(str(top / "file"), b"text")
        safepath.unlink(str(top / "file"))
        safepath.mkdir(str(top / "folder"))
        safepath.rmdir(str(top / "folder"))
    report = undo.plan(cache, JID)
    assert report is not None and report["files"] == []


def test_a_file_that_keeps_its_inode_is_restored(cache: str, top: Path) -> None:
    (top / "file").write_bytes(b"old\n")
    with keeper(cache).of("s"):
        atomic.append(str(top / "file"), b"more\n")
        atomic.write(str(top / "file"), b"new\n", keep_inode=True)
    assert restored(cache) == {"file": ("write", True)}
    assert (top / "file").read_bytes() == b"old\n"


def test_the_content_before_the_first_of_two_states_is_restored(cache: str, top: Path) -> None:
    (top / "file").write_bytes(b"old\n")
    (top / "file").chmod(0o640)
    job_keeper = keeper(cache)
    with job_keeper.of("first"):
        safepath.chmod(str(top / "file"), 0o600)
    with job_keeper.of("second"):
        atomic.write(str(top / "file"), b"new\n", mode=0o644)
    assert restored(cache) == {"file": ("write", True)}
    assert ((top / "file").read_bytes(), oct((top / "file").stat().st_mode)) == (b"old\n", "0o100640")


def test_a_folder_is_removed_only_when_it_is_empty(cache: str, top: Path) -> None:
    with keeper(cache).of("s"):
        atomic.write(str(top / "file"), b"")
        safepath.makedirs(str(top / "a" / "b"))
    (top / "a" / "b" / "by-hand").write_text("")
    report = undo.run(cache, JID)
    assert report is not None
    results = {os.path.basename(entry["path"]): (entry["result"], entry.get("why")) for entry in report["files"]}
    assert results == {
        "file": (True, None),
        "b": (False, "the folder is not empty"),
        "a": (False, "the folder is not empty"),
    }


def test_a_large_folder_is_reported_as_lost(cache: str, top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeping, "MOST_ENTRIES", 3)
    (top / "tree").mkdir()
    for number in range(5):
        (top / "tree" / str(number)).write_text("")
    with keeper(cache).of("s"):
        safepath.remove(str(top / "tree"))
    (entry,) = (undo.run(cache, JID) or {})["files"]
    assert (entry["action"], entry["result"]) == ("lost", False)
    assert "more than 3 entries" in entry["why"]


def test_a_removed_pipe_is_reported_as_lost(cache: str, top: Path) -> None:
    os.mkfifo(top / "pipe")
    with keeper(cache).of("s"):
        safepath.remove(str(top / "pipe"))
    assert restored(cache) == {"pipe": ("lost", False)}


def test_a_missing_copy_is_reported_as_lost(cache: str, top: Path) -> None:
    (top / "file").write_bytes(b"old\n")
    with keeper(cache).of("s"):
        atomic.write(str(top / "file"), b"new\n")
    for copy in Path(cache, "file_backup").rglob("file_*"):
        copy.unlink()
    (entry,) = (undo.run(cache, JID) or {})["files"]
    assert entry["action"] == "lost" and "no longer exists" in entry["why"]
    assert (top / "file").read_bytes() == b"new\n"


def test_a_file_that_cannot_be_copied_is_not_changed(cache: str, top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (top / "file").write_bytes(b"old\n")

    def full(*args: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(backup, "copy", full)
    with pytest.raises(OSError, match="No space"), keeper(cache).of("s"):
        atomic.write(str(top / "file"), b"new\n")
    assert (top / "file").read_bytes() == b"old\n"
    assert [path.name for path in top.iterdir()] == ["file"]


@pytest.mark.parametrize("cut", range(1, 400, 23))
def test_truncated_notes_restore_only_former_content(cache: str, top: Path, cut: int) -> None:
    """With any part of the notes: no error, and restored files have their former content."""
    (top / "file").write_bytes(b"old\n")
    with keeper(cache).of("s"):
        atomic.write(str(top / "file"), b"new\n")
    path = Path(keeping.notes_path(cache, JID))
    path.write_bytes(path.read_bytes()[:-cut])
    report = undo.run(cache, JID)
    if report and report["files"]:
        # the state after the job is not recorded, so a later change of the file cannot be excluded
        assert [(entry["action"], entry["result"]) for entry in report["files"]] == [("write", False)]
        assert undo.run(cache, JID, accept_drift=True) is not None
        assert (top / "file").read_bytes() == b"old\n"
    else:
        assert (top / "file").read_bytes() == b"new\n"


SHAPES = [{}, [], None, 5, {"path": 1}, {"path": "/a", "before": {}}]


@pytest.mark.parametrize("line", [*(b2a_base64(packing.packed(value)) for value in SHAPES), b"{\n", b"\n"])
def test_invalid_notes_give_no_plan(cache: str, top: Path, line: bytes) -> None:
    (top / "file").write_bytes(b"old\n")
    with keeper(cache).of("s"):
        atomic.write(str(top / "file"), b"new\n")
    with open(keeping.notes_path(cache, JID), "ab") as notes:
        notes.write(line)
    assert undo.plan(cache, JID) is None


def test_a_plan_that_is_out_of_date_is_refused(cache: str, top: Path) -> None:
    (top / "file").write_bytes(b"old\n")
    with keeper(cache).of("s"):
        atomic.write(str(top / "file"), b"new\n")
    plan = undo.plan(cache, JID)
    assert plan is not None and json.dumps(plan)
    (top / "file").write_bytes(b"by hand\n")
    refused = undo.run(cache, JID, accept_drift=True, keys=[plan["key"]])
    assert refused is not None and refused["stale"] is True
    assert (top / "file").read_bytes() == b"by hand\n"
