"""``with Client(...)``: calls use the connections of those before."""

import asyncio
import shutil
from pathlib import Path

import pytest

from pushsalt.api import Client, Selection, Settings
from tests.beds import sshd
from tests.beds.processes import children, wait_until
from tests.beds.project import Project


@pytest.fixture
def settings(tmp_path):
    if reason := sshd.missing():
        pytest.skip(reason)
    with sshd.sshd_bed(tmp_path / "bed", 1) as bed:
        project = Project(tmp_path, bed.inventory()["hosts"])
        shutil.copy(bed.known_hosts, tmp_path / "known_hosts")
        folder: Path = project.folder
        options = {"known_hosts_file": str(tmp_path / "known_hosts")}
        yield (
            Settings(
                inventories=[folder / "inventory.yaml"],
                config=folder / "pushsalt.yaml",
                cache_dir=tmp_path / "cache",
                options=options,
            ),
            bed,
        )


def port(returns):
    assert returns["t1"].exit_code == 0, returns["t1"].ret
    return returns["t1"].ret.split()[1]


def test_calls_use_the_connection_of_the_call_before(settings):
    with Client(settings[0]) as client:
        first, second = (port(client.run(Selection("t1"), "cmd.run", ["echo $SSH_CLIENT"])) for _ in range(2))
        assert children(settings[1].targets["t1"].process.pid)
    assert first == second
    wait_until(lambda: not children(settings[1].targets["t1"].process.pid))


def test_without_the_context_each_call_connects(settings):
    client = Client(settings[0])
    first, second = (port(client.run(Selection("t1"), "cmd.run", ["echo $SSH_CLIENT"])) for _ in range(2))
    assert first != second


def test_sync_and_async_calls_within(settings):
    with Client(settings[0]) as client:
        first = port(client.run(Selection("t1"), "cmd.run", ["echo $SSH_CLIENT"]))
        between = port(asyncio.run(client.run_async(Selection("t1"), "cmd.run", ["echo $SSH_CLIENT"])))
        assert between != first
        assert port(client.run(Selection("t1"), "cmd.run", ["echo $SSH_CLIENT"])) == first
