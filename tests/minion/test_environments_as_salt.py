"""State and pillar trees of several environments, compared with real Salt's results.

``cases/environments.jsonl``: its first line has the target's grains, nodegroups and pillar; each other one the files of
a tree by environment, options, and either the ``matches`` of its top files or its compiled ``pillar`` (with ``errors``,
whether there were any). The trees are random.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pushsalt.api import Client, JobOptions, Settings
from pushsalt.minion.minion import Minion

FILE = Path(__file__).parent.parent / "cases/environments.jsonl"
HEAD, *CASES = map(json.loads, FILE.read_text("utf-8").splitlines())
SLS = ("a", "b", "c", "d/e", "web/init")


@pytest.fixture
def minion(tmp_path):
    def minion(case):
        tops = "matches" in case
        roots = {env: [f"tree/{env}"] for env in case["envs"]}
        for env in case["envs"]:
            files = {f"{env}/{name}.sls": "{}" for name in SLS} if tops else {}
            for path, text in {f"{env}/x": "", **files, **case["files"]}.items():
                (tmp_path / "tree" / path).parent.mkdir(parents=True, exist_ok=True)
                (tmp_path / "tree" / path).write_text(text)
        own = {"file_roots" if tops else "pillar_roots": roots, "pillar_roots" if tops else "file_roots": {"base": []}}
        settings = {**case["opts"], **own, "nodegroups": HEAD["nodegroups"]}
        has_pillar = tops and case["opts"]["state_top"] == "top.sls"  # there, pillar had a top file of that name only
        inventory = {"hosts": {"it": {"transport": "offline", "pillar": HEAD["pillar"] if has_pillar else {}}}}
        options = {name: settings.pop(name) for name in ("saltenv", "pillarenv") if name in settings}
        inventory["hosts"]["it"]["minion_opts"] = options
        (tmp_path / "inventory.yaml").write_text(json.dumps(inventory))
        (tmp_path / "pushsalt.yaml").write_text(json.dumps(settings))
        project = Client(Settings(config=tmp_path / "pushsalt.yaml", cache_dir=tmp_path / "cache")).project
        options = JobOptions(pillar=case.get("override"))
        return Minion(project, project.inventory.targets["it"], options, HEAD["grains"], None)

    return minion


@pytest.mark.parametrize("case", [pytest.param(case, id=str(at)) for at, case in enumerate(CASES) if "matches" in case])
def test_top_files(minion, case):
    kwargs = {"saltenv": case["saltenv"]} if "saltenv" in case else {}
    assert minion(case).call("state.show_top", [], kwargs) == case["matches"]


@pytest.mark.parametrize("case", [pytest.param(case, id=str(at)) for at, case in enumerate(CASES) if "pillar" in case])
def test_pillar(minion, case):
    result = minion(case).pillar_result
    assert result.pillar == case["pillar"]
    assert list(result.pillar) == list(case["pillar"])
    assert bool(result.errors) is case["errors"]
