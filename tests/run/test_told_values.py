"""``Client.on_value`` gets a target's name only when its return is recorded: a reaction that a kill ends is taken up
by its record.
"""

from __future__ import annotations

import asyncio

import pytest

from pushsalt.api import Client
from pushsalt.job import Job, Selection, Settings
from tests.beds.project import Project


@pytest.mark.parametrize("survives", [True, False])
@pytest.mark.parametrize("fun, args", [("test.ping", []), ("test.exception", ["no"])])
def test_the_return_is_recorded_before_on_value_is_called(tmp_path, survives, fun, args):
    """Returns of functions that fail count as returns."""
    project = Project(tmp_path, {"web1": {"transport": "local"}})
    told: list[tuple[str, list[str]]] = []

    async def run() -> None:
        client = Client(
            Settings([project.folder / "inventory.yaml"], project.folder / "pushsalt.yaml", cache_dir=project.cache)
        )

        async def on_value(id: str) -> None:
            told.append((id, list(client.jobs.returns(client.jobs.get("20261127000000000001")))))

        client.on_value = on_value
        job = Job("call", fun, args, jid="20261127000000000001", survives=survives)
        async for _ in client.stream_job(Selection("web1"), job):
            pass

    asyncio.run(run())
    assert told == [("web1", ["web1"])]


def test_on_value_is_not_called_for_a_target_without_return(tmp_path):
    """A resumed reaction runs there."""
    project = Project(tmp_path, {"web1": {"host": "127.0.0.1", "port": 1}})
    told: list[str] = []

    async def run() -> None:
        client = Client(
            Settings([project.folder / "inventory.yaml"], project.folder / "pushsalt.yaml", cache_dir=project.cache)
        )

        async def on_value(id: str) -> None:
            told.append(id)

        client.on_value = on_value
        results = [each async for each in client.stream_job(Selection("web1"), Job("call", "test.ping"))]
        assert [each.shape for each in results] == ["error"]

    asyncio.run(run())
    assert told == []
