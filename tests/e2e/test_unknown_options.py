"""An unknown option of the configuration is reported once a day, not by each command and for each host."""

from __future__ import annotations

from pathlib import Path

from pushsalt.run.daily import DAY, not_reported
from tests.beds.project import Project

HOSTS = {name: {"transport": "local"} for name in ("t1", "t2", "t3")}


def test_an_unknown_option_is_reported_once_for_all_hosts(tmp_path: Path) -> None:
    project = Project(tmp_path, HOSTS, my_own=1)
    project.write("salt/a.sls", "x:\n  test.nop\n")
    first = project.run("apply", "*", "a", "--batch", "1")
    assert (first.code, first.err.count("unknown option `my_own`")) == (0, 1), first.err
    for command in ("apply * a --batch 1", "run * test.ping", "target *", "inventory list"):
        done = project.run(*command.split())
        assert (done.code, "unknown option" in done.err) == (0, False), done.err
    text = (project.folder / "pushsalt.yaml").read_text().replace("my_own", "my_other")
    project.write("pushsalt.yaml", text)
    assert "unknown option `my_other`" in project.run("target", "*").err


def test_other_warnings_are_reported_each_time(tmp_path: Path) -> None:
    project = Project(tmp_path, HOSTS, hash_type="crc")
    for _ in range(2):
        assert "`hash_type` must be one of" in project.run("target", "*").err


def test_warnings_are_reported_if_the_cache_cannot_be_written(tmp_path: Path) -> None:
    project = Project(tmp_path, HOSTS, my_own=1)
    project.cache.write_text("a file")
    for _ in range(2):
        done = project.run("target", "*")
        assert (done.code, done.err.count("unknown option `my_own`")) == (0, 1), done.err


def test_an_option_is_reported_again_after_a_day(tmp_path: Path) -> None:
    now = 1e9
    assert not_reported(tmp_path, ["a", "b"], now) == ["a", "b"]
    assert not_reported(tmp_path, ["a", "c"], now + DAY - 1) == ["c"]
    assert not_reported(tmp_path, ["a", "c"], now + DAY) == ["a"]
    assert not_reported(tmp_path, ["a"], now - 1) == ["a"], "options are reported after a clock was set back"
    for file in (tmp_path / "said").iterdir():
        assert b"unknown" not in file.read_bytes()
        file.write_bytes(b"x")
    assert not_reported(tmp_path, ["a"], now) == ["a"]
