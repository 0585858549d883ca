"""Plans, plan files and orchestrations of targets at several sites are as without workers."""

from __future__ import annotations

import json

import pytest

from tests.beds.nats import WorkerProcess
from tests.beds.project import Project

pytestmark = pytest.mark.slow

LONG = 240
PAGE = """
{folder}/page-{{{{ grains['id'] }}}}:
  file.managed:
    - source: salt://page.txt
    - template: jinja
after:
  test.succeed_with_changes:
    - require:
      - file: {folder}/page-{{{{ grains['id'] }}}}
"""
STEPS = """
ping both:
  salt.function:
    - name: test.ping
    - tgt: '*'
states:
  salt.state:
    - tgt: '*'
    - sls: [pure]
    - require: [salt: ping both]
fails:
  salt.state:
    - tgt: f1
    - sls: [bad]
    - require: [salt: states]
not run:
  salt.state:
    - tgt: l1
    - sls: [pure]
    - require: [salt: fails]
"""


@pytest.fixture
def fleet(server, tmp_path):
    """The target l1, and f1 of another site, with a worker each."""
    hosts = {"l1": {"transport": "local"}, "f1": {"transport": "local", "site": "far"}}
    made = Project(tmp_path, hosts, workers=server.url)
    made.write("salt/page.sls", PAGE.format(folder=tmp_path))
    made.write("salt/page.txt", "of {{ grains['id'] }}: {{ pillar['word'] }}\n")
    made.write("salt/pure.sls", "one:\n  test.succeed_with_changes\n")
    made.write("salt/bad.sls", "two:\n  test.fail_without_changes\n")
    made.write("salt/steps.sls", STEPS)
    made.write("pillar/top.sls", "base:\n  '*': [word]\n")
    made.write("pillar/word.sls", "word: first\n")
    with WorkerProcess(made, server.url), WorkerProcess(made, server.url, "far", "w2"):
        yield made


def marks(data):
    return {id: [(each["__id__"], each["mark"], each["diff"]) for each in one["states"]] for id, one in data.items()}


def test_a_plan_is_that_without_workers_and_its_file_is_applied_at_the_sites(fleet, tmp_path):
    there = fleet.json("plan", "*", "page", "-o", "there.plan", "--detailed-exitcode", timeout=LONG)
    here = fleet.json("plan", "--workers", "", "*", "page", "-o", "here.plan", "--detailed-exitcode", timeout=LONG)
    assert there.code == here.code == 4, there.err
    assert marks(there.data) == marks(here.data) and set(there.data) == {"l1", "f1"}
    compared = fleet.run("plan", "diff", "here.plan", "there.plan", "--out", "json", timeout=LONG)
    shown = [fleet.json("plan", "show", f"{name}.plan", timeout=LONG).data for name in ("here", "there")]
    assert shown[0] == shown[1] and compared.code == 0
    # the project has changed since: the plan is what runs
    fleet.write("salt/page.txt", "another text\n")
    fleet.write("pillar/word.sls", "word: second\n")
    done = fleet.json("apply", "there.plan", timeout=LONG)
    assert done.code == 0 and set(done.data) == {"l1", "f1"}, done.err + done.out
    for id in ("l1", "f1"):
        assert (tmp_path / f"page-{id}").read_text() == f"of {id}: first\n"
    # both targets have changed since the plan
    stale = fleet.json("apply", "there.plan", timeout=LONG)
    assert stale.code == 2 and {stale.error(id)["kind"] for id in ("l1", "f1")} == {"plan_stale"}, stale.out


def without_times(value):
    """The value without times and JIDs; comments name targets in the order of their returns."""
    if isinstance(value, dict):
        value = {**value, "comment": sorted(str(value.get("comment")).translate({44: " ", 46: " "}).split())}
        gone = ("duration", "start_time", "jid", "__jid__")
        return {key: without_times(each) for key, each in value.items() if key not in gone}
    return [without_times(each) for each in value] if isinstance(value, list) else value


def test_an_orchestration_is_that_without_workers(fleet, tmp_path):
    there = fleet.run("orchestrate", "steps", "--out", "json", timeout=LONG)
    here = fleet.run("orchestrate", "--workers", "", "steps", "--out", "json", timeout=LONG)
    assert there.code == here.code == 2, there.err
    document = json.loads(there.out)
    assert without_times(document) == without_times(json.loads(here.out))
    [steps] = document["data"].values()
    results = {each["__id__"]: each["result"] for each in steps.values()}
    assert results == {"ping both": True, "states": True, "fails": False, "not run": False}
    listed = fleet.run("jobs", "list", "--out", "json", timeout=LONG)
    jobs = {each["fun"]: each for each in json.loads(listed.out)}
    assert {"runner.state.orchestrate", "test.ping", "state.sls"} <= set(jobs) or "state.apply" in jobs, listed.out
