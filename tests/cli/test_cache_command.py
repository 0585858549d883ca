"""``pushsalt cache``: output for people."""

import json
import os
import time

import pytest

from pushsalt import api
from pushsalt.run import caches

CLIENT = api.Client


@pytest.fixture
def project(tmp_path):
    (tmp_path / "inv.yaml").write_text("hosts: {web1: {transport: offline}, host1: {transport: offline}}\n")
    made = CLIENT(api.Settings(inventories=[tmp_path / "inv.yaml"], cache_dir=tmp_path / "c")).project
    made.grains.put("web1", {"os": "Debian"})
    made.grains.put("gone", {"os": "Debian"})
    made.pillar_bank.put("web1", {"db": {"password": "hunter44"}})
    made.mine.put("web1", {"old": 1})
    os.utime(made.mine._file("web1"), (time.time() - 7300,) * 2)
    made.mine.update("web1", {"new": 2})
    words = ["sh", "-c", 'exec "$@"']
    made.managed.register("host1", {"machine": {"m1": {"enter": words, "grains": {"os": "Debian"}}, "m2": {}}})
    return made


@pytest.fixture
def run(invoke, project, tmp_path, monkeypatch):
    monkeypatch.setattr(api, "Client", CLIENT)  # not the scripted client
    return lambda *words: invoke("-i", str(tmp_path / "inv.yaml"), "--cache-dir", str(tmp_path / "c"), "cache", *words)


def test_list(run):
    assert [line.split()[:2] for line in run("list").out.splitlines()] == [
        ["grains", "2"],
        ["pillar", "1"],
        ["mine", "1"],
        ["resources", "2"],
        ["resource_grains", "1"],
    ]
    assert json.loads(run("list", "--out", "json").out)["resources"]["entries"] == 2


def test_show(run):
    assert run("show", "mine", "web1").out.splitlines()[0] == "web1: 0 s old; old 2 h"
    assert json.loads(run("show", "mine", "--out", "json").out)["web1"]["ages"].keys() == {"old", "new"}
    assert "hunter44" not in run("show", "pillar").out + run("show", "pillar", "--out", "json").out
    assert "hunter44" in run("show", "pillar", "web1", "--unmask").out
    shown = json.loads(run("show", "resource_grains", "machine:m1", "--out", "json").out)
    assert shown["machine:m1"]["value"]["os"] == "Debian"
    assert list(json.loads(run("show", "resources", "--out", "json").out)["host1"]["value"]["machine"]) == ["m1", "m2"]
    wrong = run("show", "grains", "web9")
    assert (wrong.code, "grains has no data of web9" in wrong.err) == (1, True)
    wrong = run("show", "grain")
    assert (wrong.code, "resource_grains" in wrong.err) == (1, True)


def test_clear_and_prune(run, project):
    assert run("prune").out.splitlines()[0] == "grains: 1 removed"
    assert run("clear", "resources", "host1").out == "resources: 2 removed\n"
    assert run("prune", "--older", "soon").code == 1
    assert json.loads(run("clear", "--out", "json").out) == {
        "grains": 1,
        "pillar": 1,
        "mine": 1,
        "resources": 0,
        "resource_grains": 0,
    }
    assert not any(row["entries"] for row in caches.overview(project).values())


def test_verify(run, project):
    assert (run("verify").code, set(run("verify").out.splitlines())) == (0, {f"{name}: sound" for name in caches.BANKS})
    project.resource_grains._file("machine:m1").write_bytes(b"x")
    found = run("verify")
    assert found.code == 2
    assert [line for line in found.out.splitlines() if "sound" not in line] == [
        f"resource_grains: entry {project.resource_grains._file('machine:m1').name} is damaged"
    ]
    assert run("prune").code == 0
    assert run("verify").code == 0
