"""Logins with low limits (open files, file size, memory): the error names the limit that was reached."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.beds.project import Done, Project

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other systems count memory differently")

PYTHON = shutil.which("python3", path="/usr/bin:/usr/local/bin") or sys.executable
#: id -> (ulimit of its login, pattern of the message)
STOPPED = {
    "few-files": ("-n 8", r"open files.*ulimit -n"),
    "hardly-any-files": ("-n 3", "open files|Error 24"),
    "little-memory": ("-v {bare}", r"memory is .*\(ulimit -v\)"),
}
OTHERS = {"small-files": "-f 8", "well": "-n 16"}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    size = "print(next(row.split()[1] for row in open('/proc/self/status') if row.startswith('VmSize')))"
    bare = int(subprocess.check_output([PYTHON, "-I", "-S", "-c", size]))
    hosts: dict[str, Any] = {}
    for id, limit in {**{id: limit for id, (limit, _) in STOPPED.items()}, **OTHERS}.items():
        shell = tmp_path / id
        shell.write_text(f'#!/bin/sh\nulimit {limit.format(bare=bare + 1024)}\nexec {PYTHON} "$@"\n')
        shell.chmod(0o755)
        hosts[id] = {"transport": "local", "python": str(shell), "thin_dir": str(tmp_path / f"thin-{id}")}
    return Project(tmp_path, hosts)


def test_errors_name_the_limit(project: Project) -> None:
    done = project.json("run", "*", "test.ping")
    assert done.code == 3
    for id, (_, pattern) in STOPPED.items():
        error = done.error(id)
        assert error["kind"] == "limit_reached" and re.search(pattern, error["message"]), error
        assert "limits.conf" in error["hint"]
    assert done.data["well"] is True
    assert done.data["small-files"] is True
    assert "the limit on the size of files is" in done.err


def test_errors_of_apply_name_the_limit(project: Project) -> None:
    project.write("salt/hello.sls", "hello: test.nop\n")
    done: Done = project.json("apply", "few-files", "hello")
    assert done.error("few-files")["kind"] == "limit_reached"
