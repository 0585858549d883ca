"""The journal of events: order, bounds, several processes, private files."""

from __future__ import annotations

import stat
import subprocess
import sys

import pytest

from pushsalt.journal import store
from pushsalt.journal.store import Journal


def test_events_come_in_their_order(tmp_path):
    journal = Journal(tmp_path)
    assert journal.last() == 0 and journal.after(0) == []
    first = journal.put("a/b", {"x": 1})
    more = journal.put_many([("c", {}), ("d", {"y": [1, None]})])
    assert [event.tag for event in journal.after(0)] == ["a/b", "c", "d"]
    assert journal.after(first.number) == more
    assert journal.last() == more[-1].number
    assert len({event.id for event in journal.after(0)}) == 3


def test_a_reader_sees_what_another_process_wrote(tmp_path):
    code = "from pathlib import Path; from pushsalt.journal.store import Journal; import sys\n"
    code += "Journal(Path(sys.argv[1])).put('from/another', {'pid': 1})"
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True)
    [event] = Journal(tmp_path).after(0)
    assert (event.tag, event.data) == ("from/another", {"pid": 1})


def test_the_journal_is_private(tmp_path):
    Journal(tmp_path).put("t", {})
    assert stat.S_IMODE((tmp_path / "events").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "events/journal.sqlite3").stat().st_mode) == 0o600


def test_old_events_are_removed(tmp_path, monkeypatch):
    monkeypatch.setattr(store, "KEPT", 10)
    monkeypatch.setattr(store, "_SPARE", 4)
    journal = Journal(tmp_path)
    for number in range(40):
        journal.put("t", {"n": number})
    kept = journal.after(0)
    assert 10 <= len(kept) <= 14 and kept[-1].data == {"n": 39}


def test_since_finds_the_first_event_of_a_time(tmp_path):
    journal = Journal(tmp_path)
    events = [journal.put("t", {"n": number}) for number in range(3)]
    assert journal.since(events[1].stamp) == events[1].number - 1
    assert journal.since(events[-1].stamp + 60) == events[-1].number


def test_as_json_has_the_fields_of_the_contract(tmp_path):
    event = Journal(tmp_path).put("t", {"a": 1})
    shown = event.as_json
    assert set(shown) == {"tag", "id", "_stamp", "data"}
    assert shown["tag"] == "t" and shown["data"] == {"a": 1} and shown["_stamp"][10] == "T"


@pytest.mark.parametrize("mode", [0o777, 0o720])
def test_a_folder_that_others_can_write_to_is_refused(tmp_path, mode):
    (tmp_path / "events").mkdir()
    (tmp_path / "events").chmod(mode)
    with pytest.raises(PermissionError):
        Journal(tmp_path).put("t", {})
