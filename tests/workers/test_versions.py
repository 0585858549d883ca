"""Workers and controllers whose messages have different versions, as during an upgrade."""

from __future__ import annotations

import pytest

from tests.beds.nats import WorkerProcess, patched
from tests.beds.project import Project

pytestmark = pytest.mark.slow

LONG = 240
#: an older program, which gives a shard up at its second delivery
FIRST = {"messages_VERSION": 1, "messages_JOB_KINDS": frozenset({"apply", "call", "grains", "raw"})}
OLDER = patched(**FIRST, delivery_DELIVERIES=1)
PATIENT = patched(**FIRST, delivery_DELIVERIES=500)


@pytest.fixture
def project(server, tmp_path):
    made = Project(tmp_path, {"l1": {"transport": "local"}}, workers=server.url)
    made.write("salt/good.sls", "one:\n  test.succeed_with_changes\n")
    return made


def test_an_older_worker_works_for_a_newer_controller(project, server):
    with WorkerProcess(project, server.url, name="old", program=OLDER):
        done = project.json("apply", "l1", "good", timeout=LONG)
        assert done.code == 0, done.err
        # what it cannot do is said
        plan = project.json("plan", "l1", "good", "-o", "x.plan", timeout=LONG)
        error = plan.error("l1")
        assert plan.code == 3 and error["kind"] == "worker_lost"
        assert "upgrade the workers of the site default" in error["message"]
        assert "messages of the version 2 are not known here" in error["message"]


def test_a_newer_worker_takes_shards_that_an_older_one_cannot_run(project, server):
    with (
        WorkerProcess(project, server.url, name="old", program=PATIENT),
        WorkerProcess(project, server.url, name="new", program=patched(delivery_DELIVERIES=500)),
    ):
        plan = project.json("plan", "l1", "good", "-o", "x.plan", timeout=LONG)
        assert plan.code == 0 and plan.data["l1"]["counts"]["will"] == 1, plan.err


def test_an_older_controller_works_with_a_newer_worker(project, server):
    with WorkerProcess(project, server.url):
        project.argv = lambda *words: [*OLDER, *words]
        done = project.json("apply", "l1", "good", timeout=LONG)
        assert done.code == 0 and "dropped" not in done.err, done.err
        assert project.json("grains", "l1", timeout=LONG).code == 0
