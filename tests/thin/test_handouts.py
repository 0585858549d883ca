"""Notes on a target that a hand-out of a job has run."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pushsalt.session.survival import STOP, done_note
from thin import handouts

JID = "20261127120000000000"


@pytest.fixture
def state(tmp_path: Path) -> Iterator[dict[str, Any]]:
    tmp_path.chmod(0o700)
    fd = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    yield {"job": JID, "key": b"k" * 32, "dir_fd": fd, "once": "3"}
    os.close(fd)


@pytest.mark.parametrize(
    "text, once, is_done",
    [
        (b"3", "3", True),
        (b"3               ", "3", True),
        (b"3 good", "3", True),
        (b"3 good", "4", True),
        (b"3", "4", False),
        (b"33", "3", False),
        (b"", "3", False),
        (b"\xff\x00", "3", False),
    ],
)
def test_a_note_applies_to_its_handout_or_to_all_after_success(state, text, once, is_done):
    assert not handouts.is_done(state)
    handouts.note(state, text)
    assert handouts.is_done({**state, "once": once}) == is_done


def test_a_later_note_replaces_the_earlier_one(state):
    handouts.note(state, b"3")
    handouts.note(state, b"4")
    assert not handouts.is_done(state) and handouts.is_done({**state, "once": "4"})


def test_notes_of_other_jobs_and_controllers_are_ignored(state):
    handouts.note(state, b"3 good")
    assert not handouts.is_done({**state, "job": JID[:-1] + "1"})
    assert not handouts.is_done({**state, "key": b"x" * 32})


def test_a_new_note_removes_expired_ones(state, tmp_path):
    handouts.note(state, b"3")
    (old,) = (tmp_path / handouts.DONE).iterdir()
    os.utime(old, (0, time.time() - handouts.LIFE - 60))
    handouts.note({**state, "job": JID[:-1] + "1"}, b"1")
    (remaining,) = (tmp_path / handouts.DONE).iterdir()
    assert remaining != old and not handouts.is_done(state)


def test_a_link_is_not_followed(state, tmp_path):
    handouts.note(state, b"3")
    (file,) = (tmp_path / handouts.DONE).iterdir()
    other = tmp_path / "other"
    file.rename(other)
    file.symlink_to(other)
    assert not handouts.is_done(state)
    handouts.note(state, b"4")
    assert other.read_bytes() == b"3" and handouts.is_done({**state, "once": "4"})


@pytest.mark.parametrize(
    "data, expected",
    [
        (STOP, (True, None)),
        (done_note("3", True) + STOP, (True, b"3 good          ")),
        (b"M\x00\x00\x00\x01x" + done_note("17", False) + STOP, (True, b"17              ")),
        (done_note("3", True), (False, None)),
        (b"", (False, None)),
    ],
)
def test_the_end_is_confirmed_with_and_without_a_note(data, expected):
    read, write = os.pipe()
    os.write(write, data)
    os.close(write)
    assert handouts.heard(read) == expected
    os.close(read)
