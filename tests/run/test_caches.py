"""pushsalt cache: listed, shown, deleted and expired entries."""

import json
import os
import time

import pytest

from pushsalt.api import Client, Selection, Settings
from pushsalt.errors import NoTargetError, TargetError, UsageError
from pushsalt.run import caches

SOUND: dict[str, list[str]] = {name: [] for name in caches.BANKS}
NONE = dict.fromkeys(caches.BANKS, 0)


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
    assert counts(project) == {"grains": 2, "pillar": 1, "mine": 1, "resources": 0, "resource_grains": 0}
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
    assert caches.clear(project, "all", ["web2"]) == {**NONE, "mine": 1}
    assert caches.clear(project, "pillar") == {"pillar": 1}
    assert matching(client) == ["web1"]
    assert caches.clear(project, "all") == {**NONE, "grains": 2}
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
    assert caches.prune(project) == {**NONE, "grains": 1, "pillar": 1, "resources": 1, "git": 0}
    assert not left.exists()
    assert counts(project) == {**NONE, "grains": 1, "pillar": 1, "mine": 1}
    assert project.grains.view().ids(project.grains.view().everything) == ["web1"]
    os.utime(project.grains._file("web1"), (1, 1))
    assert caches.prune(project, older=86400)["grains"] == 1
    assert matching(client) == []


@pytest.fixture
def with_resources(client):
    """A project with resources whose grains, pillar and mine are cached."""
    project = client.project
    for manager, ids in (("web1", ["d1", "d2"]), ("web2", ["d3"])):
        project.managed.register(manager, {"dummy": {id: {"grains": {"os": "Dummy"}} for id in ids}})
    for key in ("dummy:d1", "dummy:d3"):
        project.pillar_bank.put(key, {"a": 1})
        project.mine.put(key, {"test.ping": True})
    return project


def kept(project):
    return {name: sorted(key for key, _, _ in bank.entries()) for name, bank in caches.banks(project).items()}


def dummies(project):
    return sorted(project.managed.all(project.inventory.targets))


def test_resources_are_listed_and_shown(with_resources):
    assert counts(with_resources) == {"grains": 2, "pillar": 3, "mine": 3, "resources": 3, "resource_grains": 3}
    found = caches.show(with_resources, "resources", ["web1", "nobody"])
    assert found == {"web1": {"age": 0, "value": {"dummy": {"d1": {"enter": []}, "d2": {"enter": []}}}}}
    assert caches.show(with_resources, "resource_grains", ["dummy:d3"])["dummy:d3"]["value"]["os"] == "Dummy"
    os.utime(with_resources.mine._file("dummy:d1"), (time.time() - 100,) * 2)
    with_resources.mine.update("dummy:d1", {"new": 1})
    assert caches.show(with_resources, "mine", ["dummy:d1"])["dummy:d1"]["ages"] == {"test.ping": 100, "new": 0}


def test_clearing_resources(with_resources):
    assert caches.clear(with_resources, "resources", ["web1", "nobody"]) == {"resources": 2}
    assert dummies(with_resources) == ["dummy:d3"]
    assert kept(with_resources) == {
        "grains": ["gone", "web1"],
        "pillar": ["dummy:d3", "web1"],
        "mine": ["dummy:d3", "web2"],
        "resources": ["web2"],
        "resource_grains": ["dummy:d3"],
    }
    assert caches.clear(with_resources, "resource_grains", ["dummy:d3"]) == {"resource_grains": 1}
    with_resources.resources.register("ssh", "web1", "controller")
    assert caches.clear(with_resources, "resources") == {"resources": 1}
    assert (dummies(with_resources), with_resources.resources.types()) == ([], [])
    with_resources.managed.register("web1", {"dummy": {"d1": {}}})
    assert dummies(with_resources) == ["dummy:d1"]


def test_pruning_resources(with_resources, tmp_path):
    with_resources.resource_grains.put("dummy:left", {"os": "Dummy"})
    with_resources.mine.put("dummy:left", {})
    assert caches.prune(with_resources) == {**NONE, "grains": 1, "mine": 1, "resource_grains": 1, "git": 0}
    (tmp_path / "inventory.json").write_text(json.dumps({"hosts": {"web1": {}}}))
    later = Client(Settings(inventories=[tmp_path / "inventory.json"], cache_dir=tmp_path / "cache")).project
    found = caches.prune(later)
    assert (found["resources"], dummies(later), kept(later)) == (
        1,
        ["dummy:d1", "dummy:d2"],
        {
            "grains": ["web1"],
            "pillar": ["dummy:d1", "web1"],
            "mine": ["dummy:d1"],
            "resources": ["web1"],
            "resource_grains": ["dummy:d1", "dummy:d2"],
        },
    )
    os.utime(later.managed.bank._file("web1"), (1, 1))
    assert caches.prune(later, older=86400)["resources"] == 2
    assert dummies(later) == []


def test_a_damaged_registration_is_no_answer(with_resources):
    file = with_resources.managed.bank._file("web1")
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(TargetError) as caught:
        with_resources.target("dummy:d1")
    assert (caught.value.kind, "pushsalt resource refresh web1" in caught.value.hint) == ("resource_unknown", True)
    assert with_resources.target("dummy:d3").manager == "web2"
    assert caches.verify(with_resources)["resources"] == [f"entry {file.name} is damaged"]
    caches.prune(with_resources)
    assert caches.verify(with_resources) == SOUND


def test_verifying_changes_nothing(client, caplog):
    project = client.project
    assert caches.verify(project) == SOUND
    damaged = project.grains._file("web1")
    damaged.write_bytes(b"x")
    project.mine.path.joinpath("foreign").write_text("y")
    project.pillar_bank.put("web2", {"a": 1})
    project.pillar_bank._file("web1").write_bytes(project.pillar_bank._file("web2").read_bytes())
    project = Client(Settings(cache_dir=project.cache_dir)).project
    found = caches.verify(project)
    assert found["grains"][0] == f"entry {damaged.name} is damaged"
    counted = {name: len(problems) for name, problems in found.items() if problems}
    assert counted == {"grains": 1, "mine": 1, "pillar": 1}
    assert damaged.read_bytes() == b"x" and not caplog.messages
    assert project.grains.get("web1") is None
    assert [text.partition(":")[0] for text in caplog.messages] == ["grains"]


def test_damage_of_the_indexes_is_reported_and_repaired(with_resources):
    for bank in (with_resources.resources, with_resources.grains, with_resources.resource_grains):
        bank.close()
    for name in ("resources", "grains-index", "resource_grains-index"):
        log = with_resources.cache_dir / name / "log"
        log.write_bytes(log.read_bytes().replace(b"web1", b"wxb1").replace(b"Dummy", b"dummy"))
    again = Client(Settings(inventories=with_resources.config.inventories, cache_dir=with_resources.cache_dir))
    found = caches.verify(again.project)
    assert [name for name, problems in found.items() if problems] == ["grains", "resources", "resource_grains"]
    assert again.target(Selection("os:Dummy", "grain")) == ["d1", "d2", "d3"]
    assert matching(again) == ["web1"]
    later = Client(Settings(inventories=with_resources.config.inventories, cache_dir=with_resources.cache_dir))
    assert caches.verify(later.project) == SOUND


def test_requested_grains_are_cached_too(tmp_path):
    here = {"transport": "local", "thin_dir": str(tmp_path / "thin")}
    (tmp_path / "inventory.json").write_text(json.dumps({"hosts": {"here": here}}))
    client = Client(Settings(inventories=[tmp_path / "inventory.json"], cache_dir=tmp_path / "cache"))
    client.run(Selection("here"), "grains.items", ["true"])
    client.run(Selection("here"), "test.ping")
    assert client.project.grains.get("here") is None
    told = client.run(Selection("here"), "grains.items")["here"].ret
    assert told["kernel"] == "Linux" and told.pop("pid") and client.project.grains.get("here") == told
