"""Two clusters of NATS, each of one server, that are connected by gateways: work goes from one region to the other."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from pushsalt.workers.connection import ServerError
from tests.beds.faults import LOCAL_STATES, PATIENCE, finish, until
from tests.beds.nats import WorkerProcess, prepare
from tests.beds.natsserver import NatsServer, missing
from tests.beds.project import Project, values
from tests.beds.sshd import free_port

pytestmark = [pytest.mark.slow, pytest.mark.skipif(bool(missing()), reason=missing() or "-")]

REGION = """
server_name: {name}1
jetstream {{ store_dir: "{store}" }}
cluster {{ name: {name}, listen: "127.0.0.1:{route}", routes: ["nats://127.0.0.1:{route}"] }}
gateway {{ name: {name}, listen: "127.0.0.1:{port}", gateways: [{{ name: {other}, urls: ["nats://127.0.0.1:{to}"] }}] }}
"""
IDS = ["l1", "l2"]


@pytest.fixture
def regions(tmp_path: Path) -> Iterator[list[NatsServer]]:
    """The servers of the regions eu and us."""
    ports = {"eu": free_port(), "us": free_port()}
    with contextlib.ExitStack() as stack:
        servers = []
        for name, other in (("eu", "us"), ("us", "eu")):
            config = tmp_path / f"{name}.conf"
            text = REGION.format(
                name=name, other=other, store=tmp_path / name, route=free_port(), port=ports[name], to=ports[other]
            )
            config.write_text(text)
            servers.append(stack.enter_context(NatsServer(tmp_path / f"nats-{name}", config)))
        yield servers


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = Project(tmp_path, {id: {"transport": "local", "site": "berlin"} for id in IDS})
    made.write("salt/alone.sls", LOCAL_STATES.format(folder=tmp_path))
    return made


def prepared(url: str, project: Project) -> bool:
    """Whether the streams could be created: the servers elect a leader first."""
    try:
        prepare(url, project, "berlin")
    except ServerError:
        return False
    return True


def test_workers_of_one_region_do_the_work_of_a_controller_in_the_other(project, regions):
    eu, us = regions
    folder = project.folder.parent
    until(lambda: prepared(eu.url, project))
    with WorkerProcess(project, us.url, "berlin") as worker:
        process = project.start("apply", "--out", "json", "*", "alone", "--workers", eu.url)
        until(lambda: all((folder / id).exists() for id in IDS))
        (status,) = project.json("worker", "status", "--workers", eu.url, timeout=PATIENCE).data["sites"].values()
        assert [each["busy"] for each in status["workers"]] == [2]
        worker.kill()
        with WorkerProcess(project, us.url, "berlin", "w2"):
            (folder / "go").touch()
            done = finish(process)
        assert done.code == 0, (done.out, done.err)
    for id in IDS:
        assert [ret["result"] for ret in values(done.data[id])] == [True, True]
        assert (folder / id).read_text() == "one\n"
