"""The journal of events: order, bounds, cursors, several processes, private files, floods, full disks, damage."""

from __future__ import annotations

import os
import resource
import signal
import stat
import subprocess
import sys
import threading

import pytest

from pushsalt.journal.store import Bounds, Journal
from pushsalt.journal.writer import Writer

#: Writes a number of events one by one; prints the number of each event when it is stored.
PUT = """
import sys
from pathlib import Path
from pushsalt.journal.store import Journal
journal = Journal(Path(sys.argv[1]))
for number in range(int(sys.argv[3])):
    journal.put(sys.argv[2], {"n": number})
    print(number, flush=True)
"""


def test_events_come_in_their_order(tmp_path):
    journal = Journal(tmp_path)
    assert journal.last() == 0 and journal.after(0) == []
    first = journal.put("a/b", {"x": 1})
    more = journal.put_many([("c", {}), ("d", {"y": [1, None]})])
    assert [event.tag for event in journal.after(0)] == ["a/b", "c", "d"]
    assert journal.after(first.number) == more
    assert journal.last() == more[-1].number
    assert len({event.id for event in journal.after(0)}) == 3


def test_the_journal_is_private(tmp_path):
    Journal(tmp_path).put("t", {})
    assert stat.S_IMODE((tmp_path / "events").stat().st_mode) == 0o700
    files = list((tmp_path / "events").iterdir())
    assert files and all(stat.S_IMODE(path.stat().st_mode) == 0o600 for path in files)


@pytest.mark.parametrize("mode", [0o777, 0o720])
def test_a_folder_that_others_can_write_to_is_refused(tmp_path, mode):
    (tmp_path / "events").mkdir()
    (tmp_path / "events").chmod(mode)
    with pytest.raises(PermissionError):
        Journal(tmp_path).put("t", {})


def test_since_finds_the_first_event_of_a_time(tmp_path):
    journal = Journal(tmp_path)
    events = [journal.put("t", {"n": number}) for number in range(3)]
    assert journal.since(events[1].stamp) == events[1].number - 1
    assert journal.since(events[-1].stamp + 60) == events[-1].number


def test_as_json_has_the_fields_of_the_contract(tmp_path):
    shown = Journal(tmp_path).put("t", {"a": 1}).as_json
    assert set(shown) == {"tag", "id", "_stamp", "data"}
    assert (
        shown["tag"] == "t"
        and shown["data"] == {"a": 1}
        and shown["_stamp"][10] == "T"
        and shown["_stamp"].endswith("+00:00")
    )


def test_data_that_json_has_no_type_for_is_kept_as_text(tmp_path):
    journal, loop = Journal(tmp_path), {}
    loop["loop"] = loop
    journal.put_many([("set", {"a": {1}}), ("key", {"b": {(1, 2): 3}}), ("loop", loop)])
    assert [event.tag for event in journal.after(0)] == ["set", "key", "loop"]


# bounds ---------------------------------------------------------------------------------------------------------------


def test_the_oldest_go_when_the_size_is_reached(tmp_path):
    journal = Journal(tmp_path, Bounds(size=500_000))
    for number in range(40):
        journal.put_many([("t", {"n": number, "text": "x" * 1000})] * 100)
    left = journal.after(0, limit=10_000)
    assert left[-1].data["n"] == 39
    assert 300 < len(left) < 1600, "removed now and then, a thousand events apart"
    assert [event.number for event in left] == list(range(left[0].number, journal.last() + 1))
    assert journal.first() == left[0].number
    size = journal.path.stat().st_size + journal.path.with_name(journal.path.name + "-wal").stat().st_size
    assert size < 8_000_000


def test_the_old_go_with_the_first_event_of_a_process(tmp_path, monkeypatch):
    for event in range(5):
        Journal(tmp_path).put("old", {"n": event})
    monkeypatch.setattr("pushsalt.journal.store.time.time", lambda: 4e9)
    journal = Journal(tmp_path, Bounds(seconds=3600))
    journal.put("new", {})
    assert [event.tag for event in journal.after(0)] == ["new"]


def test_numbers_are_not_used_again(tmp_path):
    """Otherwise a cursor could skip events, or return them twice."""
    journal = Journal(tmp_path, Bounds(size=1))
    first = journal.put("t", {})
    assert journal.after(0) == []
    assert journal.last() == first.number
    assert Journal(tmp_path).put("t", {}).number > first.number


# consumers ------------------------------------------------------------------------------------------------------------


def test_a_cursor_is_remembered(tmp_path):
    journal = Journal(tmp_path)
    assert journal.cursor("react") is None
    events = journal.put_many([("a", {}), ("b", {})])
    journal.move("react", events[0].number)
    assert Journal(tmp_path).cursor("react") == events[0].number
    assert Journal(tmp_path).cursor("other") is None


def test_ids_are_the_same_whenever_an_event_is_read(tmp_path):
    journal = Journal(tmp_path)
    journal.put_many([("a", {}), ("b", {})])
    assert Journal(tmp_path).after(0) == journal.after(0)


# several processes ----------------------------------------------------------------------------------------------------


def test_a_flood_from_several_processes_is_kept_whole(tmp_path):
    """10,000 events, four writers at once."""
    writers = [
        subprocess.Popen([sys.executable, "-c", PUT, str(tmp_path), f"w{number}", "2500"], stdout=subprocess.DEVNULL)
        for number in range(4)
    ]
    assert [writer.wait() for writer in writers] == [0] * 4
    found = Journal(tmp_path).after(0, limit=20_000)
    assert len(found) == len({event.id for event in found}) == 10_000
    for number in range(4):
        assert [event.data["n"] for event in found if event.tag == f"w{number}"] == list(range(2500))


def test_what_was_kept_survives_the_end_of_the_process(tmp_path):
    words = [sys.executable, "-c", PUT, str(tmp_path), "t", "100000"]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as writer:
        told = [int(writer.stdout.readline()) for _ in range(50)]
        os.kill(writer.pid, signal.SIGKILL)
        told += [int(line) for line in writer.stdout.read().splitlines() if line]
    found = [event.data["n"] for event in Journal(tmp_path).after(0, limit=200_000)]
    assert found == list(range(len(found))) and len(found) >= len(told) >= 50


# the writer -----------------------------------------------------------------------------------------------------------


def test_a_writer_keeps_all_in_order(tmp_path):
    writer = Writer(Journal(tmp_path))
    for number in range(5000):
        writer.put("t", {"n": number})
    writer.close()
    assert writer.troubles == []
    assert [event.data["n"] for event in Journal(tmp_path).after(0, limit=9000)] == list(range(5000))


def test_all_is_written_when_a_writer_has_closed_though_the_file_is_closed_later(tmp_path, monkeypatch):
    closing, may_close = threading.Event(), threading.Event()
    close = Journal.close

    def slow(journal):
        closing.set()
        assert may_close.wait(20)
        close(journal)

    writer = Writer(Journal(tmp_path))
    monkeypatch.setattr(Journal, "close", slow)
    writer.put("t", {"n": 1})
    writer.close()
    assert closing.wait(20)
    assert [event.data["n"] for event in Journal(tmp_path).after(0)] == [1]
    may_close.set()
    writer.put("t", {"n": 2})
    writer.close()
    assert [event.data["n"] for event in Journal(tmp_path).after(0)] == [1, 2]


def test_very_long_texts_are_left_out(tmp_path):
    journal = Journal(tmp_path)
    given = {"return": ["x" * 2_000_000, "y" * 500_000, {"a": b"z" * 2_000_000, "b": 1}]}
    event = journal.put("t", given)
    [kept] = journal.after(0)
    assert kept.data == {"return": ["VALUE_TRIMMED", "y" * 500_000, {"a": "VALUE_TRIMMED", "b": 1}]}
    assert kept.id == event.id


def test_a_full_disk_is_said_once(tmp_path):
    writer = Writer(Journal(tmp_path))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, hard))
    try:
        for _ in range(3):
            writer.put("t", {"text": "x" * 500_000})
            writer.close()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    [said] = writer.troubles
    assert "events are not kept" in said and "journal.sqlite3" in said


def test_a_damaged_journal_is_put_aside(tmp_path):
    Journal(tmp_path).put("t", {})
    (path,) = [path for path in (tmp_path / "events").iterdir() if path.suffix == ".sqlite3"]
    for other in (tmp_path / "events").iterdir():
        other.unlink()
    path.write_bytes(b"no data base " * 1000)
    path.chmod(0o600)
    writer = Writer(Journal(tmp_path))
    writer.put("new", {})
    writer.close()
    [said] = writer.troubles
    assert "a new journal of events was started" in said and ".damaged-" in said
    assert [event.tag for event in Journal(tmp_path).after(0)] == ["new"]
