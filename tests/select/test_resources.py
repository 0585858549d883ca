"""Managed resources that targets report: stored, kept apart, and deleted when no target manages them any more."""

import json

import pytest

from pushsalt.api import Client, Settings
from pushsalt.errors import TargetError

KNOWN = {"host1": None, "host2": None}


@pytest.fixture
def project(tmp_path):
    opts = {"cachedir": "/srv/cache", "grains": {"a": 1}}
    host1 = {"host": "192.0.2.1", "sudo": True, "python": "/opt/python3", "minion_opts": opts}
    hosts = {"host1": host1, "host2": {"transport": "local"}}
    (tmp_path / "inventory.json").write_text(json.dumps({"hosts": hosts}))
    return Client(Settings(inventories=[tmp_path / "inventory.json"], cache_dir=tmp_path / "cache")).project


def chroot(name, **grains):
    return {"enter": ["chroot", f"/srv/{name}"], "grains": grains}


def test_registering_and_looking_up(project):
    managed = project.managed
    found = {"machine": {"m1": chroot("m1", os="Debian"), "m2": chroot("m2", os="Alpine")}, "dummy": {"d1": {}}}
    assert managed.register("host1", found) == {"machine": ["m1", "m2"], "dummy": ["d1"]}
    assert managed.types() == ["dummy", "machine"]
    assert managed.of_type("machine", KNOWN) == {"machine:m1": "host1", "machine:m2": "host1"}
    assert managed.managed_by("host1") == ["dummy:d1", "machine:m1", "machine:m2"]
    assert managed.called("m1", KNOWN) == ["machine:m1"]
    assert managed.all({"host2": None}) == {}
    assert project.resource_grains.get("machine:m2") == {"os": "Alpine", "id": "m2"}


def test_as_targets(project):
    project.managed.register("host1", {"machine": {"m1": chroot("m1")}, "dummy": {"d1": {}}})
    machine, dummy = project.managed.target("machine:m1"), project.managed.target("dummy:d1")
    assert (machine.id, machine.key, machine.type, machine.place) == ("m1", "machine:m1", "machine", "machine:m1")
    assert (machine.enter, machine.sudo, machine.python) == (("chroot", "/srv/m1"), True, None)
    assert (dummy.place, dummy.enter, dummy.python) == ("host1", (), "/opt/python3")
    assert (machine.minion_opts, dummy.minion_opts) == ({}, {"cachedir": "/srv/cache"})
    with pytest.raises(TargetError) as caught:
        project.managed.target("machine:gone")
    assert caught.value.kind == "resource_unknown"


def test_removed_resources_are_forgotten(project):
    managed = project.managed
    managed.register("host1", {"machine": {"m1": chroot("m1", os="Debian"), "m2": chroot("m2", os="Debian")}})
    project.pillar_bank.put("machine:m2", {"a": 1})
    project.mine.put("machine:m2", {"test.ping": True})
    managed.register("host1", {"machine": {"m1": chroot("m1", os="Debian")}})
    assert managed.of_type("machine", KNOWN) == {"machine:m1": "host1"}
    banks = (project.resource_grains, project.pillar_bank, project.mine)
    assert [bank.get("machine:m2") for bank in banks] == [None] * 3
    managed.register("host1", {})
    assert (managed.all(KNOWN), managed.declared("host1"), project.resource_grains.get("machine:m1")) == ({}, {}, None)


def test_a_type_that_could_not_be_looked_for_stays(project):
    managed = project.managed
    managed.register("host1", {"machine": {"m1": chroot("m1")}, "dummy": {"d1": {}}})
    assert managed.register("host1", {"dummy": {"d2": {}}}, ["machine"]) == {"machine": ["m1"], "dummy": ["d2"]}
    assert managed.target("machine:m1").enter == ("chroot", "/srv/m1")


def test_a_manager_cannot_take_over_the_resources_of_another(project, caplog):
    managed = project.managed
    managed.register("host1", {"container": {"db": chroot("db", os="Debian")}})
    project.pillar_bank.put("container:db", {"password": "secret"})
    assert managed.register("host2", {"container": {"db": chroot("evil", os="Evil")}}) == {"container": []}
    assert managed.target("container:db").manager == "host1"
    assert project.resource_grains.get("container:db") == {"os": "Debian", "id": "db"}
    assert "host2: container:db is managed by host1 already" in caplog.text
    managed.register("host1", {"container": {}})
    assert project.pillar_bank.get("container:db") is None
    assert managed.register("host2", {"container": {"db": chroot("db", os="Debian")}}) == {"container": ["db"]}
    assert managed.target("container:db").manager == "host2"


def test_an_id_of_the_inventory_is_taken_only_where_it_is_declared(project, caplog):
    found = {"container": {"host2": chroot("host2"), "c1": chroot("c1")}}
    assert project.managed.register("host1", found) == {"container": ["c1"]}
    assert "name it in resource_ids" in caplog.text
    declared = {"container": {"resource_ids": ["host2", "c1"]}}
    assert project.managed.register("host1", found, (), declared) == {"container": ["c1", "host2"]}


def test_a_resource_is_forgotten_only_with_its_current_manager(project):
    managed = project.managed
    managed.register("host1", {"container": {"db": {"grains": {"os": "Debian"}}}})
    project.resources.put_many([("container", "db", "host2")])  # by a controller that saw the move earlier
    managed.register("host1", {})
    assert project.resource_grains.get("container:db") == {"os": "Debian", "id": "db"}
    assert managed.manager("container:db") == "host2"


def test_grains_from_inside_are_kept_with_those_from_outside(project):
    managed = project.managed
    managed.register("host1", {"machine": {"m1": chroot("m1", os="Debian")}})
    project.remember_grains(managed.target("machine:m1"), {"os": "Debian", "num_cpus": 2})
    managed.register("host1", {"machine": {"m1": chroot("m1", os="Ubuntu")}})
    assert project.resource_grains.get("machine:m1") == {"os": "Ubuntu", "num_cpus": 2, "id": "m1"}
    managed.register("host1", {"dummy": {"d1": {"grains": {"a": 1}}}})
    managed.register("host1", {"dummy": {"d1": {"grains": {"b": 1}}}})
    assert project.resource_grains.get("dummy:d1") == {"b": 1, "id": "d1"}


def test_the_grain_that_is_named_like_the_type_is_the_manager_s(project):
    """Runs in the resource have it as a fixed grain, which collected grains do not replace."""
    managed = project.managed
    managed.register("host1", {"machine": {"m1": chroot("m1", os="Debian", machine={"kind": "chroot"})}})
    assert managed.target("machine:m1").grains == {"machine": {"kind": "chroot"}}
    managed.register("host1", {}, ["machine"])
    assert managed.target("machine:m1").grains == {"machine": {"kind": "chroot"}}
    managed.register("host1", {"machine": {"m1": chroot("m1", os="Debian")}})
    assert managed.target("machine:m1").grains == {}


@pytest.mark.parametrize(
    "said",
    [
        {"machine": {"m1": {"enter": ["sh", "-c", "it's"]}}},
        {"machine": {"m1": {"enter": ["a\nb"]}}},
        {"machine": {"m1": {"enter": "chroot /"}}},
        {"machine": {"m1": "chroot"}},
        {"machine": {"m\x1b1": {}}},
        {"machine": {"": {}}},
        {"machine": {"x" * 300: {}}},
        {"machine": {7: {}}},
        {"machine": ["m1"]},
        {"ssh": {"host1": {}}},
        {"local": {"host2": {}}},
        {"../x": {"m1": {}}},
        {"a:b": {"m1": {}}},
        ["machine"],
        None,
    ],
)
def test_nonsense_is_left_out(project, said):
    found = project.managed.register("host1", said)
    assert not any(found.values())
    assert project.managed.all(KNOWN) == {}


@pytest.mark.parametrize(
    "option, pillar, declared",
    [
        (None, {"resources": {"machine": None, "dummy": ["a"]}}, {"machine": {}, "dummy": ["a"]}),
        (["machine"], {}, {"machine": {}}),
        ("machine", {"resources": "nonsense"}, {"machine": {}}),
        ({"machine": {"chroots": {}}}, {"resources": {"dummy": {}}}, {"machine": {"chroots": {}}, "dummy": {}}),
    ],
)
def test_declared_resources(project, option, pillar, declared):
    project.config.opts["resource_types"] = [option] if isinstance(option, str) else option
    target = project.inventory.targets["host1"]
    assert project.managed.declarations(target, pillar) == declared


def test_the_pillar_key_is_an_option(project):
    project.config.opts["resource_pillar_key"] = "things"
    assert project.managed.declarations(project.inventory.targets["host1"], {"things": {"dummy": {}}}) == {"dummy": {}}


@pytest.mark.parametrize(
    "declared, due",
    [
        ({"dummy": {"resource_ids": ["a", "b"]}}, False),
        ({"dummy": {}}, False),
        ({"dummy": ["a", "b"]}, False),
        ({"dummy": ["a", "c"]}, True),
        ({"dummy": {"resource_ids": ["a"]}}, True),
        ({"dummy": {"resource_ids": ["a"], "id_format": "{name}.x"}}, False),
        ({"dummy": {"resource_ids": ["a"], "include": ["*"]}}, False),
        ({"dummy": {"resource_ids": ["c"], "include": ["*"]}}, True),
        ({"dummy": {"resource_ids": ["a"], "chroots": {"b": "/srv/b"}}}, False),
        ({"dummy": {}, "machine": {}}, True),
        ({}, True),
    ],
)
def test_when_to_look_again(project, declared, due):
    project.managed.register("host1", {"dummy": {"a": {}, "b": {}}})
    assert project.managed.is_due("host1", declared) is due


def test_pruning(project):
    project.managed.register("host1", {"dummy": {"a": {"grains": {"x": 1}}, "b": {}}})
    assert project.managed.prune({"host1": None}) == 0
    assert project.managed.prune({"host2": None}) == 2
    assert (project.managed.managed_by("host1"), project.resource_grains.get("dummy:a")) == ([], None)
