"""Selecting resources: what lies behind the targets of an inventory, by all that is kept of it."""

import json
import os
import time

import pytest

from pushsalt.api import Client, Selection, Settings
from pushsalt.errors import NoTargetError, TargetError
from pushsalt.targeting import key_of

HOSTS = {
    "web1": {},
    "host2": {"jump": "bastion"},
    "bastion": {},
    "host1": {"transport": "local"},
    "paper": {"transport": "offline", "grains": {"os": "Rocky"}},
}
#: manager -> type -> id -> grains
FOUND = {
    "host1": {"machine": {"m1": {"os": "Debian", "ipv4": ["10.1.0.1"]}, "m2": {"os": "Fedora"}}, "dummy": {"d1": {}}},
    "host2": {"machine": {"m3": {"os": "Debian", 5: "five"}}, "dummy": {"m1": {"kind": "x"}, "web1": {"kind": "y"}}},
    "elsewhere": {"machine": {"m9": {"os": "Debian"}}, "rack": {"r1": {}}},
}
PILLAR = {
    "machine:m1": {"app": {"name": "shop"}},
    "machine:m9": {"app": {"name": "shop"}},
    "dummy:m1": {"app": {"name": "other", "port": 1}},
    "host1": {"app": {"name": "shop"}},
}
ALL = "web1 host2 dummy:m1 dummy:web1 machine:m3 bastion host1 dummy:d1 machine:m1 machine:m2 paper"


@pytest.fixture
def make(tmp_path):
    def client(**config):
        inventory, settings = tmp_path / "inventory.json", tmp_path / "pushsalt.yaml"
        inventory.write_text(json.dumps({"hosts": HOSTS}))
        settings.write_text(json.dumps(config))
        return Client(Settings(inventories=[inventory], config=settings, cache_dir=tmp_path / "cache"))

    return client


@pytest.fixture
def client(make):
    project = make().project
    for manager, types in FOUND.items():
        found = {type: {id: {"grains": grains} for id, grains in ids.items()} for type, ids in types.items()}
        project.behind.register(manager, found)
    for key, pillar in PILLAR.items():
        project.pillar_bank.put(key, pillar)
    project.grains.put_many({"web1": {"os": "Debian"}, "host1": {"os": "Fedora"}})
    return make()


def keys(client, expr, tgt_type="compound", **more):
    """What is selected, by its keys."""
    try:
        found = client.target(Selection(expr, tgt_type, **more))
    except NoTargetError:
        return []
    return [key_of(name) or name for name in found]


@pytest.mark.parametrize(
    "tgt_type, expr, want",
    [
        ("glob", "*", ALL),
        ("glob", "host*", "host2 dummy:m1 dummy:web1 machine:m3 host1 dummy:d1 machine:m1 machine:m2"),
        ("glob", "[wp]*", "web1 paper"),
        ("glob", "bastion*", "bastion"),
        ("glob", "m*", ""),
        ("glob", "host1", "host1"),
        ("glob", "web1", "web1"),
        ("glob", "m1", "dummy:m1 machine:m1"),
        ("glob", "m3", "machine:m3"),
        ("glob", "machine:m1", "machine:m1"),
        ("glob", "dummy:web1", "dummy:web1"),
        ("glob", "ssh:web1", "web1"),
        ("glob", "local:web1", ""),
        ("glob", "m9", ""),
        ("glob", "machine:m9", ""),
        ("list", "m1,paper,m2,web1", "web1 dummy:m1 machine:m1 machine:m2 paper"),
        ("list", ["dummy:m1", "host1"], "dummy:m1 host1"),
        ("list", "host*", ""),
        ("pcre", "m[12]", "dummy:m1 machine:m1 machine:m2"),
        ("pcre", "web", "web1 dummy:web1"),
        ("grain", "os:Debian", "web1 machine:m3 machine:m1"),
        ("grain", "5:five", "machine:m3"),
        ("grain_pcre", "os:(Fed|Roc)", "host1 machine:m2 paper"),
        ("grain", "kind:x", "dummy:m1"),
        ("pillar", "app:name:shop", "host1 machine:m1"),
        ("pillar_pcre", "app:port:[0-9]", "dummy:m1"),
        ("pillar_exact", "app:name:other", "dummy:m1"),
        ("ipcidr", "10.1.0.0/16", "machine:m1"),
        ("nodegroup", "group", "host1 machine:m1"),
        ("compound", "m*", "dummy:m1 machine:m3 machine:m1 machine:m2"),
        ("compound", "web1", "web1 dummy:web1"),
        ("compound", "L@m1,paper", "dummy:m1 machine:m1 paper"),
        ("compound", "E@d.$", "dummy:d1"),
        ("compound", "T@machine", "machine:m3 machine:m1 machine:m2"),
        ("compound", "T@machine:m1 or T@local", "host1 machine:m1"),
        ("compound", "T@rack or T@machine:m9 or T@nothing", ""),
        ("compound", "M@host2", "dummy:m1 dummy:web1 machine:m3"),
        ("compound", "M@elsewhere", ""),
        ("compound", "M@bastion", "host2"),
        ("compound", "M@controller", "web1 bastion host1 paper"),
        ("compound", "T@machine and M@host1", "machine:m1 machine:m2"),
        ("compound", "T@machine and not G@os:Debian", "machine:m2"),
        ("compound", "T@dummy and I@app:name:*", "dummy:m1"),
        ("compound", "not T@ssh and not I@app:name:*", "dummy:web1 machine:m3 dummy:d1 machine:m2 paper"),
        ("compound", "I@app:name:shop or T@dummy", "dummy:m1 dummy:web1 host1 dummy:d1 machine:m1"),
        ("compound", "* and not ( m* or host* )", "web1 dummy:web1 bastion dummy:d1 paper"),
        ("compound", "not bastion", ALL.replace("bastion ", "")),
        ("compound", "S@10.1.0.1", "machine:m1"),
    ],
)
def test_what_is_selected(make, client, tgt_type, expr, want):
    assert keys(make(nodegroups={"group": "I@app:name:shop"}), expr, tgt_type) == want.split()


@pytest.mark.parametrize(
    "expr, want",
    [
        ("T@machine", "m3 m1 m2"),
        ("T@machine or T@dummy", "dummy:m1 web1 m3 d1 machine:m1 m2"),
        ("web1", "ssh:web1 dummy:web1"),
        ("M@host2", "m1 web1 m3"),
        ("*", "ssh:web1 host2 dummy:m1 dummy:web1 m3 bastion host1 d1 machine:m1 m2 paper"),
    ],
)
def test_names_are_bare_ids_unless_two_share_one(client, expr, want):
    found = client.target(Selection(expr, "compound"))
    assert found == want.split()
    back = [client.project.target(name) for name in found]
    assert [target.key for target in back] == keys(client, expr)
    assert client.project.names(keys(client, expr)) == found


def test_plain_text_is_a_name_too(client):
    target = client.project.target
    assert target("web1").transport == "ssh"
    assert target("ssh:web1").key == "web1"
    assert (target("m3").key, target("m3").manager) == ("machine:m3", "host2")
    assert target("dummy:web1").key == "dummy:web1"
    with pytest.raises(TargetError, match="m1 may be any of dummy:m1, machine:m1"):
        target("m1")
    for gone in ("m9", "machine:m9", "machine:never", "never"):
        with pytest.raises(TargetError):
            target(gone)


def test_a_glob_may_leave_resources_out(make, client):
    client = make(glob_includes_resources=False)
    assert keys(client, "*", "glob") == list(HOSTS)
    assert keys(client, "m3", "glob") == ["machine:m3"]
    assert len(keys(client, "*")) == len(ALL.split())


def test_exclude_and_limit(client):
    assert keys(client, "*", "glob", exclude=("T@dummy", "m*")) == list(HOSTS)
    assert keys(client, "host*", "glob", limit=2) == ["host2", "dummy:m1"]
    assert client.target(Selection("m1", limit=1)) == ["m1"]


def test_one_that_asks_about_others_gets_keys(client):
    assert client.project.find("host1", "glob") == ["host1"]
    assert client.project.find("web1", "compound") == ["web1", "dummy:web1"]
    assert client.project.find("app:name:sh*", "pillar") == []
    assert client.project.find("app:name:shop", "pillar") == ["host1", "machine:m1"]
    assert client.project.find("nothing", "glob") == []
