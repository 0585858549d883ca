"""Answers of programs are cached until the program or the machine's start time changes."""

import os
import stat

import pytest

from thin import grains
from thin.grains import answers
from thin.grains.answers import NAME, Answers


@pytest.fixture
def program(tmp_path):
    """A program that counts its runs."""
    path = tmp_path / "program"
    path.write_text(f"#!/bin/sh\necho x >> {tmp_path}/runs\necho 1.0\nexit 3\n")
    path.chmod(0o755)
    return str(path)


@pytest.fixture
def runs(tmp_path):
    return lambda: len((tmp_path / "runs").read_text().split())


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "private"
    path.mkdir(mode=0o700)
    return path


def run_cached(folder, program):
    answers = Answers(folder and str(folder))
    output = answers.command([program]).output()
    answers.keep()
    return output


def test_an_answer_is_cached(folder, program, runs):
    assert [run_cached(folder, program) for _ in range(3)] == [(3, "1.0")] * 3
    assert runs() == 1
    assert stat.S_IMODE((folder / NAME).stat().st_mode) == 0o600
    assert os.listdir(folder) == [NAME]


def test_a_changed_program_runs_again(folder, program, runs):
    run_cached(folder, program)
    with open(program, "a") as file:
        file.write("\n")
    assert run_cached(folder, program) == (3, "1.0")
    assert runs() == 2


def test_a_restart_of_the_machine_runs_the_program_again(folder, program, runs, monkeypatch):
    run_cached(folder, program)
    monkeypatch.setattr(answers, "_started", lambda: "another")
    run_cached(folder, program)
    assert runs() == 2


@pytest.mark.parametrize("unknown", [True, False])
def test_nothing_is_cached_without_a_folder_or_a_start_time(folder, program, runs, monkeypatch, unknown):
    if unknown:
        monkeypatch.setattr(answers, "_started", lambda: None)
    for _ in range(2):
        assert run_cached(folder if unknown else None, program) == (3, "1.0")
    assert runs() == 2
    assert os.listdir(folder) == []


@pytest.mark.parametrize("data", [b"", b"\xc1", b"\x93", b"\x01", b"\x81\xa1a\x01", b"\x80" * 100_000])
def test_a_damaged_cache_is_ignored(folder, program, runs, data):
    (folder / NAME).write_bytes(data)
    assert [run_cached(folder, program) for _ in range(2)] == [(3, "1.0")] * 2
    assert runs() == 1


def test_a_link_in_place_of_the_cache_is_not_followed(folder, program, tmp_path):
    run_cached(folder, program)
    (folder / NAME).rename(tmp_path / "elsewhere")
    (folder / NAME).symlink_to(tmp_path / "elsewhere")
    before = (tmp_path / "elsewhere").read_bytes()
    assert run_cached(folder, program) == (3, "1.0")
    assert (tmp_path / "elsewhere").read_bytes() == before
    assert not (folder / NAME).is_symlink()


def test_a_missing_program_is_not_cached(folder):
    assert run_cached(folder, "/no/such/program") == (127, "")
    assert os.listdir(folder) == []


def test_grains_are_the_same_with_cached_answers(folder):
    first, second, uncached = (
        grains.collect({"id": "a"}, folder=str(path)) for path in (folder, folder, "/no/such/folder")
    )
    assert first == second == uncached
