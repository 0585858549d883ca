"""The beacons ``journald`` and ``sh``, with scripts that print output of journalctl and strace."""

from __future__ import annotations

import json
import time

import pytest

ENTRIES = [
    {
        "__CURSOR": "s=1;i=1",
        "__REALTIME_TIMESTAMP": "1700000000000001",
        "SYSLOG_IDENTIFIER": "sshd",
        "PRIORITY": "6",
        "_PID": "77",
        "MESSAGE": "Accepted publickey",
    },
    {"__CURSOR": "s=1;i=2", "SYSLOG_IDENTIFIER": "sshd", "PRIORITY": "3", "MESSAGE": [104, 105, 255]},
    {"__CURSOR": "s=1;i=3", "SYSLOG_IDENTIFIER": "cron", "PRIORITY": "6", "MESSAGE": "x", "LONG": None},
]
TRACE = r"""strace: Process 7 attached
[pid     9] execve("/usr/bin/ls", ["ls", "-l", "a \"b\""], 0x5581 /* 20 vars */) = 0
[pid     9] +++ exited with 0 +++
[pid    10] execve("/usr/bin/id", ["id"], 0x5581 /* 20 vars */) = 0
"""


@pytest.fixture
def program(tmp_path, monkeypatch):
    """A function that puts a shell script in a folder at the start of PATH."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")

    def make(name, text):
        (folder / name).write_text(f"#!/bin/sh\n{text}\n")
        (folder / name).chmod(0o755)

    return make


def test_new_entries_of_the_journal_are_events(program, load, tmp_path):
    log = tmp_path / "log"
    log.write_text("")
    program("journalctl", f'echo "$@" >> {tmp_path}/asked; cat {log}')
    config = [{"services": {"sshd": {"SYSLOG_IDENTIFIER": "sshd", "PRIORITY": 6}, "all": {}}}]
    beacon = load()["journald.beacon"]
    assert beacon(config) == []  # older entries are not events
    log.write_text("".join(json.dumps(entry) + "\n" for entry in ENTRIES) + "no json\n")
    events = beacon(config)
    assert [event["tag"] for event in events] == ["sshd", "all", "all", "all"]
    first = events[0]
    assert (first["PRIORITY"], first["_PID"], first["MESSAGE"]) == (6, 77, "Accepted publickey")
    assert first["__REALTIME_TIMESTAMP"].startswith("2023-11-1") and events[2]["MESSAGE"] == "hi\ufffd"
    assert "LONG" not in events[3]
    log.write_text("")
    assert beacon(config) == []
    arguments = (tmp_path / "asked").read_text().splitlines()
    assert arguments[0].endswith("-n 1") and arguments[-1].endswith("--after-cursor=s=1;i=3")


def test_many_entries_are_read_in_parts(program, load, tmp_path):
    log = tmp_path / "log"
    log.write_text("")
    program("journalctl", f"cat {log}")
    functions = load()
    assert functions["journald.beacon"]([{"services": {"all": {}}}]) == []
    rows = (json.dumps({"__CURSOR": f"c{number}", "MESSAGE": "x"}) for number in range(3000))
    log.write_text("\n".join(rows) + "\n")
    assert len(functions["journald.beacon"]([{"services": {"all": {}}}])) == 1000
    assert functions["journald.beacon"].__globals__["_cursors"] == {"journald": "c999"}


def test_a_journal_that_cannot_be_read_is_an_error(program, load):
    program("journalctl", "echo no journal files >&2; exit 1")
    with pytest.raises(OSError, match="no journal files"):
        load()["journald.beacon"]([{"services": {}}])


def test_commands_of_shells_are_events(program, load, tmp_path):
    (tmp_path / "trace").write_text(TRACE)
    program("strace", f'echo "$@" >> {tmp_path}/asked; cat {tmp_path}/trace >&2; exec sleep 60')
    procs = {
        "7": {"user": "ann", "cmd": "-bash"},
        "8": {"user": "ann", "cmd": "bash script"},
        "9": {"user": "x", "cmd": ""},
    }
    functions = load({"cmd.shells": lambda: ["/bin/sh", "/bin/bash"], "status.procs": lambda: procs})
    events, end = [], time.monotonic() + 20
    while len(events) < 2 and time.monotonic() < end:
        events += functions["sh.beacon"]([{"_beacon_name": "sh"}])
    assert events == [
        {"cmd": "/usr/bin/ls", "args": ["ls", "-l", 'a \\"b\\"'], "user": "ann", "tag": "7"},
        {"cmd": "/usr/bin/id", "args": ["id"], "user": "ann", "tag": "7"},
    ]
    assert (tmp_path / "asked").read_text().split() == ["-f", "-e", "trace=execve", "-p", "7"]
    [trace] = functions["sh.beacon"].__globals__["_traces"]["sh"].values()
    functions["sh.close"]([{"_beacon_name": "sh"}])
    assert trace._strace.returncode is not None


def test_beacons_do_not_load_without_their_programs(load, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    functions = load()
    assert "sh.beacon" not in functions and "no strace" in functions.missing("sh.beacon")
    assert "journald.beacon" not in functions and "no journalctl" in functions.missing("journald.beacon")
