"""Selection of resources: managed ones of targets in an inventory, from the caches."""

import json
import os
import shutil
import time

import pytest

from pushsalt.api import Client, Selection, Settings
from pushsalt.cache import pillarimage
from pushsalt.errors import NoTargetError, TargetError, UsageError
from pushsalt.select import lookup, managed
from pushsalt.targeting import fleet, key_of
from tests.differential.test_matchers import EXPRESSIONS_PER_TARGET, Fleet, matches_subject, selected_keys

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


def opened(folder, **config):
    inventory, settings = folder / "inventory.json", folder / "pushsalt.yaml"
    inventory.write_text(json.dumps({"hosts": HOSTS}))
    settings.write_text(json.dumps(config))
    return Client(Settings(inventories=[inventory], config=settings, cache_dir=folder / "cache"))


@pytest.fixture
def make(tmp_path):
    return lambda **config: opened(tmp_path, **config)


@pytest.fixture(scope="module")
def stocked(tmp_path_factory):
    """A cache with all of these."""
    folder = tmp_path_factory.mktemp("stocked")
    project = opened(folder).project
    for manager, types in FOUND.items():
        found = {type: {id: {"grains": grains} for id, grains in ids.items()} for type, ids in types.items()}
        project.managed.register(manager, found, declared={type: list(ids) for type, ids in found.items()})
    for key, pillar in PILLAR.items():
        project.pillar_bank.put(key, pillar)
    project.grains.put_many({"web1": {"os": "Debian"}, "host1": {"os": "Fedora"}})
    return folder / "cache"


@pytest.fixture
def client(make, stocked, tmp_path):
    shutil.copytree(stocked, tmp_path / "cache")
    return make()


def keys(client, expr, tgt_type="compound", **kwargs):
    """The keys of the selection."""
    try:
        found = client.target(Selection(expr, tgt_type, **kwargs))
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
def test_selected_resources(make, client, tgt_type, expr, want):
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


@pytest.mark.parametrize(
    "tgt_type, expr, hint",
    [
        ("glob", "m*", "does not match names of resources; -C 'm*' selects dummy:m1, machine:m1, machine:m2 ..."),
        ("glob", "m33", "nearest resources: machine:m3"),
        ("list", "d11,zzz", "nearest resources: dummy:d1"),
        ("compound", "T@machine:m9", "machine:m9 is managed by elsewhere, which is not in the inventory"),
        ("glob", "r1", "rack:r1 is managed by elsewhere, which is not in the inventory"),
        ("glob", "bastoin", "nearest ids: bastion"),
        ("grain", "os:Plan9", "the cache has no grains of 2 targets: --refresh collects first"),
    ],
)
def test_an_empty_selection_has_suggestions(client, tgt_type, expr, hint):
    with pytest.raises(NoTargetError) as caught:
        client.target(Selection(expr, tgt_type))
    assert hint in caught.value.hint


def test_a_list_with_an_unknown_name_is_an_error(client):
    with pytest.raises(NoTargetError, match="no such id in the inventory, and no such resource: m9"):
        client.target(Selection("m3,m9,web1", "list"))


def explained(client, expr, names, tgt_type="compound"):
    return client.explain(Selection(expr, tgt_type), names)


def test_why_a_resource_matches(client):
    expr = "T@machine and M@host1 and G@os:Debian and I@app:name:shop and not E@web"
    found = explained(client, expr, ["machine:m1", "m3", "host1"])
    assert {name: why["matches"] for name, why in found.items()} == {"machine:m1": True, "m3": False, "host1": False}
    type, manager, os, app, id = found["machine:m1"]["terms"]
    assert (type["value"], type["source"]) == ("machine:m1, managed by host1", "resources of host1")
    assert manager["holds"] and 0 <= manager["age"] < 60
    assert (os["value"], os["source"]) == ("Debian", "cached grains") and 0 <= os["age"] < 60
    assert (app["value"], app["source"]) == ("*" * 10, "cached pillar")
    assert (id["holds"], id["value"]) == (False, "m1")
    assert [row["holds"] for row in found["m3"]["terms"]] == [True, False, True, False, False]
    assert found["m3"]["terms"][3]["source"] == "no pillar known"


def test_why_a_plain_glob_or_list_does(client):
    [row] = explained(client, "host*", ["m3"], "glob")["m3"]["terms"]
    assert (row["holds"], row["value"], row["source"]) == (True, "host2", "its manager")
    [row] = explained(client, "host1", ["m2"], "glob")["m2"]["terms"]
    assert (row["holds"], row["value"], row["source"]) == (False, "machine:m2", "resources of host1")
    both = explained(client, "m1,m2", ["m1"], "list")
    assert {name: why["matches"] for name, why in both.items()} == {"dummy:m1": True, "machine:m1": True}
    selected_keys = client.target(Selection("*"))
    assert all(why["matches"] for why in explained(client, "*", selected_keys, "glob").values())
    assert list(explained(client, "*", selected_keys, "glob")) == selected_keys


def test_only_existing_targets_can_be_explained(client):
    with pytest.raises(UsageError, match="there is no 'm9' in the inventory, and no target of it manages") as caught:
        explained(client, "*", ["m9"])
    assert caught.value.hint == "machine:m9 is managed by elsewhere, which is not in the inventory"


def old(folder):
    for path in folder.iterdir():
        os.utime(path, (time.time() - 3 * 86400,) * 2)


@pytest.mark.parametrize(
    "expr, words",
    [
        ("T@machine", "managed resources were last discovered 3 days ago"),
        ("M@host1", "managed resources"),
        ("T@machine:m1 or T@ssh:nobody", "managed resources"),
        ("M@host1 and T@machine", "managed resources"),
        ("G@os:Debian and T@machine", "managed resources"),
        ("m1 or not web1", ""),
        ("M@bastion", ""),
        ("G@os:Plan9 or G@os:Rocky", ""),
        ("I@app:port:1 and not T@ssh", ""),
    ],
)
def test_old_registrations_are_said(make, client, caplog, expr, words):
    old(client.project.managed.bank.path)
    fresh = make()
    assert keys(fresh, expr)
    assert words in caplog.text and bool(words) == bool(caplog.text)


def test_old_grains_of_resources_are_said(make, client, caplog):
    project = client.project
    project.resource_grains.clear()
    project.resource_grains._open().put_many([("machine:m1", {"os": "Debian"})], seen=time.time() - 3 * 86400)
    assert keys(make(), "T@machine and G@os:Debian") == ["machine:m1"]
    [text] = caplog.messages
    assert text.startswith("cached grains of resources are old, the oldest from 3 days ago: --refresh collects")


def test_where_nothing_is_managed_no_index_of_resources_is_opened(make):
    client = make()
    client.project.grains.put_many({"web1": {"os": "Debian"}})
    for expr in ("*", "not web1", "T@ssh or M@controller", "T@machine:m1 or web1", "G@os:Debian", "I@a:b or L@web1,m1"):
        assert keys(client, expr)
    assert keys(client, "m1", "glob") == []
    assert not {"resource_grains", "managed"} & client.project.__dict__.keys()
    assert not (client.project.cache_dir / "resources").exists()


def test_a_resource_never_stands_for_an_inventory_id(make, tmp_path, client):
    """Whatever keys and ids a manager reports, no two targets share a name."""
    hosts = {**HOSTS, "machine:m1": {}}
    client.project.managed.register("bastion", {"dummy": {"ssh:web1": {}, "ssh:paper": {}, "machine:m2": {}}})
    client = make()
    (tmp_path / "inventory.json").write_text(json.dumps({"hosts": hosts}))
    found = client.target(Selection("*"))
    assert len(set(found)) == len(found) == len(ALL.split()) + 3
    back = {name: client.project.target(name) for name in found}
    assert [target.key for target in back.values()] == keys(client, "*", "glob")
    assert (back["ssh:web1"].key, back["dummy:ssh:web1"].manager) == ("web1", "bastion")
    assert keys(client, "ssh:web1", "glob") == ["web1"]
    assert keys(client, "machine:m2", "glob") == ["machine:m2"]
    found = client.target(Selection("T@dummy and M@bastion", "compound"))
    assert found == ["machine:m2", "ssh:paper", "dummy:ssh:web1"]
    assert client.project.target("machine:m1").transport == "ssh"


@pytest.mark.parametrize("way", ["few", "many"])
def test_selecting_is_asking_the_matchers_about_each(way, tmp_path, monkeypatch, caplog):
    """Random expressions over random fleets; another test compares the matchers with Salt's."""
    caplog.set_level("CRITICAL")
    if way == "many":  # the code paths of large fleets
        for place, name in (
            (lookup, "MANY"),
            (managed, "_MANY"),
            (fleet, "_FEW"),
            (fleet, "_MANAGERS"),
            (fleet, "_TOKENS"),
            (pillarimage, "_CHANGED"),
        ):
            monkeypatch.setattr(place, name, 0)
    for seed in range(100, 106):
        made = Fleet(seed)
        client = made.client(tmp_path / str(seed))
        for expression in [made.compound() for _ in range(EXPRESSIONS_PER_TARGET)]:
            want = {key for key, subject in made.subjects.items() if matches_subject(subject, made, expression)}
            assert selected_keys(client, made, expression) == want, (seed, expression)
