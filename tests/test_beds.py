"""Beds that assert the absence of something find it where it exists."""

from __future__ import annotations

import base64
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.beds.planted import Planted
from tests.beds.processes import Watch, running, wait_until


@pytest.fixture
def planted() -> Planted:
    return Planted(["argument", "environment", "nowhere"])


@pytest.fixture
def process(planted: Planted) -> Iterator[subprocess.Popen[bytes]]:
    """A process with a word among its arguments, and one in its environment."""
    words = ["sh", "-c", "echo; read line; exit 0", planted.words["argument"]]
    environment = {**os.environ, "HELD": planted.words["environment"]}
    found = subprocess.Popen(words, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert found.stdout is not None and found.stdout.readline() == b"\n"  # exec has replaced the program
    yield found
    found.communicate(b"\n")


def test_a_watch_sees_arguments_and_environments(planted: Planted, process: subprocess.Popen[bytes]) -> None:
    with Watch({name: word.encode() for name, word in planted.words.items()}) as watch:
        wait_until(lambda: watch.rounds > 3 and len(watch.seen) > 1)
    assert {(what, name) for what, name, _ in watch.seen} == {
        ("arguments", "argument"),
        ("environment", "environment"),
    }


def test_a_process_is_found_by_its_words(planted: Planted, process: subprocess.Popen[bytes]) -> None:
    word = planted.words["argument"]
    assert running(word) == [process.pid]
    assert running(["sh", "-c", "echo; read line; exit 0", word]) == [process.pid]
    assert running(["sh", word]) == []
    assert running(planted.words["environment"], "environ") == [process.pid]
    assert running(planted.words["nowhere"]) == running(planted.words["nowhere"], "environ") == []


def test_planted_words_are_found_in_texts_and_files(planted: Planted, tmp_path: Path) -> None:
    held = planted.words["argument"]
    assert planted.found(f"a{held}b") == {"argument"}
    assert planted.found(base64.b64encode(held.encode())) == {"argument"}
    assert planted.found(held[:-1]) == set()
    (tmp_path / "a").mkdir()
    (tmp_path / "a/b").write_bytes(b"\0" + held.encode())
    (tmp_path / "a/c").write_text("nothing")
    assert planted.on_disk(tmp_path) == {str(tmp_path / "a/b"): {"argument"}}


def test_waiting_has_an_end() -> None:
    with pytest.raises(AssertionError):
        wait_until(lambda: False, 0.05)
