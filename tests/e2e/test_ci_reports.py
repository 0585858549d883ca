"""Reports for CI by the command line: they are also written for interrupted runs, and have no secrets."""

from __future__ import annotations

import signal
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from tests.beds.processes import wait_until
from tests.beds.project import Project

SECRET = "correct-horse-battery"
STATES = """
good: test.succeed_with_changes
bad:
  test.fail_without_changes:
    - comment: "\\x1b[31m{{ pillar['api_password'] }} is wrong"
after:
  test.nop:
    - require: [{test: bad}]
"""


@pytest.fixture
def project(tmp_path: Path) -> Project:
    hosts = {
        id: {"transport": "local", "thin_dir": str(tmp_path / id), "pillar": {"api_password": SECRET}}
        for id in ("t1", "t2")
    }
    project = Project(tmp_path, {**hosts, "gone": {"host": "127.0.0.1", "port": 1}})
    project.write("salt/states.sls", STATES)
    return project


def test_apply_writes_both_reports(project: Project, tmp_path: Path) -> None:
    project.variables["GITHUB_STEP_SUMMARY"] = str(tmp_path / "step.md")
    done = project.json("apply", "*", "states", "--junit", "out.xml", "--summary", "out.md")
    assert done.code == 3 and set(done.data) == {"t1", "t2", "gone"}
    root = ET.fromstring((project.folder / "out.xml").read_bytes())
    counts = {suite.get("name"): [suite.get(n) for n in ("tests", "failures", "errors", "skipped")] for suite in root}
    assert counts == {"t1": ["3", "1", "0", "1"], "t2": ["3", "1", "0", "1"], "gone": ["1", "0", "1", "0"]}
    text = (project.folder / "out.md").read_text()
    assert "2 failed" in text and "1 no answer" in text and (tmp_path / "step.md").read_text() == text
    for report in ("out.xml", "out.md"):
        assert SECRET not in (project.folder / report).read_text()


def test_run_writes_both_reports(project: Project) -> None:
    done = project.run("run", "-L", "t1,t2", "cmd.run", "exit 3", "--junit", "out.xml", "--summary", "out.md")
    assert done.code == 2
    root = ET.fromstring((project.folder / "out.xml").read_bytes())
    assert [failure.get("message") for failure in root.iter("failure")] == ["exit status 3"] * 2


def test_a_stopped_run_has_reports(project: Project, tmp_path: Path) -> None:
    command = (
        f"test $(cat {tmp_path}/one 2>/dev/null) && {{ touch {tmp_path}/two; sleep 60; }}; echo 1 > {tmp_path}/one"
    )
    arguments = ("run", "--out", "json", "-L", "t1,t2", "cmd.run", command, "--batch", "1")
    process = project.start(*arguments, "--junit", "out.xml", "--summary", "out.md")
    wait_until((tmp_path / "two").exists)
    partial = ET.fromstring((project.folder / "out.xml").read_bytes())
    assert [error.text for error in partial.iter("error")] == ["no return: the job did not end"] * 2
    process.send_signal(signal.SIGTERM)
    done = project.finish(process)
    assert done.code == 143
    root = ET.fromstring((project.folder / "out.xml").read_bytes())
    assert [error.get("type") for error in root.iter("error")] == ["interrupted"]
    assert "exit code 143" in (project.folder / "out.md").read_text()
    assert not [path for path in project.folder.iterdir() if path.name.startswith(".")]


@pytest.mark.parametrize(
    "arguments, message",
    [
        (("--junit", "none/out.xml"), "--junit: none/out.xml cannot be written: No such file or directory"),
        (("--summary", "salt"), "--summary: salt cannot be written: it is a folder"),
        (("--junit", ""), "--junit: the name of the file is empty"),
        (("--junit", "x", "--summary", "x"), "--junit and --summary name the same file"),
    ],
)
def test_report_files_that_cannot_be_written_are_errors(
    project: Project, arguments: tuple[str, ...], message: str
) -> None:
    done = project.run("apply", "t1", "states", *arguments)
    assert (done.code, done.out) == (1, "") and f"error: {message}" in done.err and "hint: " in done.err
