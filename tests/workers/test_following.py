"""Controllers that follow the stream cache data from jobs of other controllers, and match terms with it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.beds.nats import WorkerProcess
from tests.beds.processes import wait_until
from tests.beds.project import Project

pytestmark = pytest.mark.slow

#: Seconds of a command.
LONG = 180


@pytest.fixture
def fleet(server, tmp_path):
    """The targets l1, which manages d1, and f1 of another site."""
    resources = {"dummy": {"resource_ids": ["d1"]}}
    hosts = {
        "l1": {"transport": "local", "grains": {"number": 1}, "pillar": {"resources": resources}},
        "f1": {"transport": "local", "grains": {"number": 2}, "site": "far"},
    }
    functions = {"number": [{"mine_function": "grains.get"}, "number"]}
    made = Project(tmp_path, hosts, workers=server.url, mine_functions=functions)
    made.write("salt/good.sls", "one:\n  test.succeed_with_changes\n")
    return made


class OtherCaches:
    """Commands within the context are those of another controller of the project."""

    def __init__(self, project: Project) -> None:
        self.project = project

    def __enter__(self) -> None:
        self.project.variables["PUSHSALT_CACHE"] = str(self.project.folder.parent / "other")

    def __exit__(self, *_: object) -> None:
        del self.project.variables["PUSHSALT_CACHE"]


def selected(project: Project, *arguments: str) -> list[str]:
    done = project.run("target", *arguments, timeout=LONG)
    return sorted(done.out.split()) if done.code == 0 else []


def test_another_controller_answers_from_its_own_caches(fleet, server, tmp_path):
    other = OtherCaches(fleet)
    with WorkerProcess(fleet, server.url), WorkerProcess(fleet, server.url, "far", "w2"):
        grains = fleet.json("grains", "*", timeout=LONG)
        assert grains.code == 0, grains.err
        applied = fleet.json("apply", "-L", "l1,f1", "good", "--jid-file", str(tmp_path / "jid"), timeout=LONG)
        assert applied.code == 0, applied.err
    with other:
        assert not selected(fleet, "-G", "kernel:Linux") and not selected(fleet, "-C", "T@dummy")
        followed = fleet.run("worker", "follow", "--once", timeout=LONG)
        assert followed.code == 0, followed.err
        jid = (tmp_path / "jid").read_text().strip()
        assert f"{jid}  state.apply  2 targets" in followed.out
    # both answer the same, the one whose job it was and the one that has followed
    for caches in (fleet.cache, tmp_path / "other"):
        fleet.variables["PUSHSALT_CACHE"] = str(caches)
        assert selected(fleet, "-G", "kernel:Linux") == ["f1", "l1"]
        assert selected(fleet, "-C", "T@dummy") == selected(fleet, "-C", "M@l1") == ["d1"]
        mine = fleet.run("runner", "mine.get", "*", "number", "--out", "json", timeout=LONG)
        assert json.loads(mine.out) == {"l1": 1, "f1": 2}, mine.err
        shown = fleet.json("jobs", "show", jid, timeout=LONG).data
        assert (shown["state"], shown["exit_code"], shown["targets"]) == ("done", 0, 2)
        assert {id: one["return"] for id, one in shown["Result"].items()} == applied.data
    with other:
        again = fleet.run("worker", "follow", "--once", timeout=LONG)
        assert (again.code, again.out) == (0, ""), again.err
        # a worker that has not discovered the resource gets it with the shard
        with WorkerProcess(fleet, server.url, name="w3"):
            done = fleet.json("run", "-C", "T@dummy", "test.ping", timeout=LONG)
            assert done.data == {"d1": True}, done.err


def test_only_one_process_follows_for_the_same_caches(fleet, server):
    with OtherCaches(fleet):
        first = fleet.start("worker", "follow")
        lock = Path(fleet.variables["PUSHSALT_CACHE"]) / "workers" / "follow.lock"
        wait_until(lock.exists, 60)
        second = fleet.run("worker", "follow", "--once", timeout=LONG)
        assert second.code == 1 and "another `pushsalt worker follow`" in second.err
        first.terminate()
        assert fleet.finish(first).code == 0
