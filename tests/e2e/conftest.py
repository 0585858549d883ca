"""Real sshd servers, and projects with these servers in their inventory."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.beds import sshd
from tests.beds.project import Project
from tests.beds.serving import HIDDEN, Served


@pytest.fixture(scope="module")
def bed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sshd.SshdBed]:
    """Servers t1, t2, t3."""
    if reason := sshd.missing():
        pytest.skip(reason)
    with sshd.sshd_bed(tmp_path_factory.mktemp("sshd"), 3) as servers:
        yield servers


@pytest.fixture
def make_project(bed: sshd.SshdBed, tmp_path: Path) -> Callable[..., Project]:
    """A function that creates a project with the targets of the bed and the given files."""

    def make(files: dict[str, str] | None = None, **hosts: Any) -> Project:
        project = Project(tmp_path, {**bed.inventory()["hosts"], **hosts})
        shutil.copy(bed.known_hosts, project.home / ".ssh" / "known_hosts")
        project.files(files or {})
        return project

    return make


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A running REST API of a project with the targets web1, web2 and db1."""
    hosts = {
        "web1": {"transport": "local", "grains": {"role": "web"}, "pillar": {"password": HIDDEN}},
        "web2": {"transport": "local", "grains": {"role": "web"}},
        "db1": {"transport": "local", "grains": {"role": "db"}},
    }
    with Served(tmp_path_factory.mktemp("served"), hosts, state_events=True) as server:
        server.project.write("salt/note.sls", "note:\n  test.succeed_with_changes: []\n")
        server.project.write("salt/bad.sls", "bad:\n  test.fail_without_changes: []\n")
        server.project.write("salt/orch.sls", "one:\n  salt.function:\n    - name: test.ping\n    - tgt: db1\n")
        yield server
