"""pushsalt cache: what is listed, shown, forgotten and tidied away."""

import json
import os
import time

import pytest

from pushsalt.api import Client, Selection, Settings
from pushsalt.errors import NoTargetError, UsageError
from pushsalt.run import caches


@pytest.fixture
def client(tmp_path):
    (tmp_path / "inventory.json").write_text(json.dumps({"hosts": {"web1": {}, "web2": {}}}))
    made = Client(Settings(inventories=[tmp_path / "inventory.json"], cache_dir=tmp_path / "cache"))
    made.project.grains.put_many({"web1": {"os": "Debian"}, "gone": {"os": "Debian"}})
    made.project.pillar_bank.put("web1", {"password": "canary"})
    made.project.mine.put("web2", {"test.ping": True})
    return made


def counts(project):
    return {name: row["entries"] for name, row in caches.overview(project).items()}


def matching(client):
    try:
        return client.target(Selection("os:Debian", "grain"))
    except NoTargetError:
        return []


def test_overview_and_contents(client):
    project = client.project
    os.utime(project.mine._file("web2"), (time.time() - 7200,) * 2)
    assert counts(project) == {"grains": 2, "pillar": 1, "mine": 1}
    assert 7200 <= caches.overview(project)["mine"]["oldest"] < 7300
    assert caches.show(project, "grains", ["web1", "nobody"])["web1"]["value"] == {"os": "Debian"}
    assert list(caches.show(project, "grains", [])) == ["gone", "web1"]
    assert caches.show(project, "pillar", [])["web1"]["value"] == {"password": "*" * 10}
    assert caches.show(project, "pillar", [], unmask=True)["web1"]["value"] == {"password": "canary"}
    for wrong in ("all", "../grains"):
        with pytest.raises(UsageError):
            caches.show(project, wrong, [])


def test_clearing(client):
    project = client.project
    assert matching(client) == ["web1"]
    assert caches.clear(project, "all", ["web2"]) == {"grains": 0, "pillar": 0, "mine": 1}
    assert caches.clear(project, "pillar") == {"pillar": 1}
    assert matching(client) == ["web1"]
    assert caches.clear(project, "all") == {"grains": 2, "pillar": 0, "mine": 0}
    assert matching(client) == []
    assert project.grains.put("web2", {"os": "Debian"})
    assert matching(client) == ["web2"]


def test_pruning(client, tmp_path):
    project = client.project
    project.pillar_bank.put("web2", {"a": 1})
    damaged = project.pillar_bank._file("web2")
    damaged.write_bytes(damaged.read_bytes()[:-1])
    left = project.grains.path / ".left.by-a-killed-write"
    left.write_bytes(b"x")
    os.utime(left, (1, 1))
    project.resources.register("ssh", "gone", "controller")
    assert caches.prune(project) == {"grains": 1, "pillar": 1, "mine": 0, "resources": 1, "git": 0}
    assert not left.exists()
    assert counts(project) == {"grains": 1, "pillar": 1, "mine": 1}
    assert project.grains.view().ids(project.grains.view().everything) == ["web1"]
    os.utime(project.grains._file("web1"), (1, 1))
    assert caches.prune(project, older=86400)["grains"] == 1
    assert matching(client) == []
