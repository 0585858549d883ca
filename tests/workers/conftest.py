"""A NATS server per test, and projects whose configuration names it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.beds import nats, sshd
from tests.beds.faults import FaultBed, repetitions
from tests.beds.project import Project
from tests.beds.sites import Site


@pytest.fixture
def server(tmp_path: Path) -> Iterator[nats.NatsServer]:
    if reason := nats.missing():
        pytest.skip(reason)
    with nats.NatsServer(tmp_path / "nats") as found:
        yield found


@pytest.fixture(scope="module")
def bed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sshd.SshdBed]:
    """Servers t1, t2, t3."""
    if reason := sshd.missing():
        pytest.skip(reason)
    with sshd.sshd_bed(tmp_path_factory.mktemp("sshd"), 3) as found:
        yield found


@pytest.fixture
def local(server: nats.NatsServer, tmp_path: Path) -> Project:
    """A project with the local targets l1 to l6, of which l5 and l6 have the site `far`."""
    hosts: dict[str, Any] = {f"l{n}": {"transport": "local", "grains": {"number": n}} for n in range(1, 7)}
    hosts["l5"]["site"] = hosts["l6"]["site"] = "far"
    return Project(tmp_path, hosts, workers=server.url)


@pytest.fixture
def remote(server: nats.NatsServer, bed: sshd.SshdBed, tmp_path: Path) -> Callable[..., Project]:
    """Makes a project with the targets of the bed, and files by name."""

    def make(files: dict[str, str] | None = None, **hosts: Any) -> Project:
        made = Project(tmp_path, {**bed.inventory()["hosts"], **hosts}, workers=server.url)
        shutil.copy(bed.known_hosts, made.home / ".ssh" / "known_hosts")
        made.files(files or {})
        return made

    return make


@pytest.fixture(params=range(repetitions()))
def run(remote: Callable[..., Project], bed: sshd.SshdBed, server: nats.NatsServer) -> Iterator[FaultBed]:
    """A job to be disturbed, as often as ``PUSHSALT_FAULTS`` says."""
    found = FaultBed(remote(), bed, server)
    yield found
    found.go()


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    """A project with the sites a and b."""
    monkeypatch.chdir(tmp_path)
    return Site(tmp_path / "project")
