"""Selection from caches: the index, the inventory over it, sealed pillar, and warnings about their age."""

import json
import logging
import os
import random
import time

import pytest

from pushsalt.ages import age_text
from pushsalt.api import Client, Selection, Settings
from pushsalt.errors import NoTargetError, UsageError
from pushsalt.targeting import Subject, matches

HOSTS = {
    "web1": {"grains": {"role": "web", "deep": {"n": 1}}},
    "web2": {"grains": {"ipv4": ["10.0.0.2"]}, "jump": "bastion"},
    "db1": {"pillar": {"app": {"name": "own"}, "list": [1, 2]}},
    "bastion": {},
    "here": {"transport": "local"},
    "paper": {"transport": "offline", "grains": {"os": "Rocky", 5: "five"}},
    "unknown": {},
}
GRAINS = {
    "web1": {"os": "Debian", "role": "old", "ipv4": ["10.0.0.1", "127.0.0.1"], "ipv6": ["::1", "2001:db8::1"]},
    "web2": {"os": "debian", "role": "web", "ipv4": ["10.9.9.9"], "deep": {"n": [1, {"m": True}]}},
    "db1": {"os": "Rocky", "role": "db", "ipv4": ["10.0.1.1"], "roles": ["db", "web"], 5: "five"},
    "here": {"os": "Debian", "n": 5, "none": None},
    "gone": {"os": "Debian", "ipv4": ["10.0.0.1"]},
}
PILLAR = {"db1": {"app": {"name": "kept", "port": 80}, "secret": "x"}, "web1": {"app": {"name": "shop"}}}


@pytest.fixture
def make(tmp_path):
    def client(**config):
        inventory, settings = tmp_path / "inventory.json", tmp_path / "pushsalt.yaml"
        inventory.write_text(json.dumps({"hosts": HOSTS}).replace('"5"', "5"))
        settings.write_text(json.dumps(config))
        return Client(Settings(inventories=[inventory], config=settings, cache_dir=tmp_path / "cache"))

    return client


@pytest.fixture
def client(make):
    made = make()
    made.project.grains.put_many(GRAINS)
    for id, pillar in PILLAR.items():
        made.project.pillar_bank.put(id, pillar)
    return made


def chosen(client, expr, tgt_type="compound", delimiter=":"):
    try:
        return client.target(Selection(expr, tgt_type, delimiter))
    except NoTargetError:
        return []


@pytest.mark.parametrize(
    "expr, ids",
    [
        ("G@os:Debian", "web1 web2 here"),
        ("G@role:old", ""),
        ("G@role:web", "web1 web2"),
        ("not G@role:*", "bastion here paper unknown"),
        ("S@10.0.0.0/24", "web1 web2"),
        ("S@10.9.9.9", ""),
        ("S@10.0.0.1 or S@2001:db8::1", "web1"),
        ("S@::/0", "web1"),
        ("G@*:five", "db1 paper"),
        ("G@5:five", "db1 paper"),
        ("P@os:(deb|roc)", "web1 web2 db1 here paper"),
        ("G@none:None", "here"),
        ("I@app:name:own and I@app:port:80", "db1"),
        ("I@app:name:kept", ""),
        ("I@list:2", "db1"),
        ("J@app:name:^s", "web1"),
        ("T@ssh", "web1 web2 db1 bastion unknown"),
        ("T@ssh:web1 or T@local:web2 or T@offline", "web1 paper"),
        ("M@bastion", "web2"),
        ("M@controller and T@ssh and not bastion", "web1 db1 unknown"),
        ("M@web*", ""),
    ],
)
def test_cached_data_is_overridden_by_the_inventory(client, expr, ids):
    assert chosen(client, expr) == ids.split()


def test_exact_pillar_and_delimiters(client):
    assert chosen(client, "app:name:sh*", "pillar_exact") == []
    assert chosen(client, "app|name|shop", "pillar_exact", "|") == ["web1"]
    assert chosen(client, "deep;n;1", "grain", ";") == ["web1", "web2"]


def test_the_index_answers_as_the_matchers_do(client):
    pick = random.Random(7)
    project = client.project
    for _ in range(150):
        letter = pick.choice("GP")
        key = pick.choice(["os", "role", "deep", "n", "ipv4", "*", "5", "roles", "none", "deep:n", "*:*", "deep:*"])
        value = pick.choice(["*", "web", "Debian", "1", "m", "m:True", "10.0.*", "five", "None", "(", "[a-z]+", "n:1"])
        expr = f"{letter}@{key}:{value}"
        want = [
            id
            for id, target in project.inventory.targets.items()
            if matches(expr, "compound", Subject(id, {**(project.grains.get(id) or {}), **target.grains}))
        ]
        assert chosen(client, expr) == want, expr


def test_without_an_index_each_id_is_looked_at(client, monkeypatch):
    monkeypatch.setattr(client.project.grains, "view", lambda: None)
    assert chosen(client, "G@os:Debian and not S@10.0.0.1") == ["web2", "here"]


def test_old_data_is_reported_once(make, client, caplog):
    entry = client.project.pillar_bank.path
    for path in entry.iterdir():
        os.utime(path, (time.time() - 3 * 86400,) * 2)
    fresh = make()
    assert chosen(fresh, "I@app:name:shop or G@os:nothing") == ["web1"]
    assert caplog.messages == ["cached pillar is old, the oldest from 3 days ago: --refresh collects it first"]
    caplog.clear()
    assert chosen(make(cache_life=0.0), "G@os:Rocky") == ["db1", "paper"]
    assert "grains" in caplog.text
    caplog.clear()
    assert chosen(make(cache_life=0.0), "web*") == ["web1", "web2"]
    assert caplog.text == ""


def test_switched_off_nothing_is_kept_or_looked_at(make, client):
    assert chosen(make(pillar_cache=False), "I@app:port:80") == []
    assert chosen(make(minion_data_cache=False), "I@app:port:80 or G@os:Debian") == []
    off = make(pillar_cache=False)
    off.project.remember_pillar(off.project.inventory.targets["here"], {"a": "b"})
    assert off.project.pillar_bank.get("here") is None


def test_targets_are_selected_by_compiled_pillar(make, tmp_path):
    (tmp_path / "top.sls").write_text("base: {'*': [data]}")
    (tmp_path / "data.sls").write_text("kind: {{ grains.get('os') }}\npassword: canary-{{ opts['id'] }}")
    client = make(pillar_roots={"base": [str(tmp_path)]})
    assert client.run(Selection("paper"), "saltutil.refresh_pillar")["paper"].ret is True
    assert chosen(client, "I@kind:Rocky") == ["paper"]
    client.run(Selection("paper"), "pillar.items", options=None)
    assert chosen(make(), "J@password:canary") == ["paper"]
    assert not [path for path in (tmp_path / "cache").rglob("*") if path.is_file() and b"canary" in path.read_bytes()]


def test_nodegroups_of_lists_of_ids_too(make):
    client = make(nodegroups={"a": "web*"}, ssh_list_nodegroups={"b": ["db1", "here"]})
    assert chosen(client, "N@a or N@b") == ["web1", "web2", "db1", "here"]


def test_a_damaged_entry_matches_nothing_and_is_said_once(client, make, caplog):
    caplog.set_level(logging.WARNING)
    for path in client.project.pillar_bank.path.iterdir():
        data = path.read_bytes()
        path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    assert chosen(make(), "I@app:name:kept or I@app:name:shop") == []
    assert len([text for text in caplog.messages if "damaged" in text]) == 1


def test_exclude_and_limit(client):
    assert client.target(Selection("*", exclude=("G@os:Debian", "T@offline"))) == ["db1", "bastion", "unknown"]
    assert client.target(Selection("*", exclude=("web1",), limit=2)) == ["web2", "db1"]
    with pytest.raises(NoTargetError, match="no target is left: --exclude 'w\\*' and 'db1' matches all"):
        client.target(Selection("L@web1,db1", "compound", exclude=("w*", "db1")))
    with pytest.raises(UsageError):
        client.target(Selection("*", exclude=("web1 and",)))


@pytest.mark.parametrize(
    "expr, words",
    [
        ("G@os:Plan9", "the cache has no grains of 2 targets: --refresh collects first"),
        ("I@a:b", "the cache has no pillar of 4 targets"),
        ("wbe1", "nearest ids: web1"),
        ("monday.plan", "for a plan file: there is no file monday.plan here"),
    ],
)
def test_an_empty_selection_names_the_targets_without_data(client, expr, words):
    with pytest.raises(NoTargetError) as caught:
        client.target(Selection(expr, "compound"))
    assert caught.value.hint.startswith(words)


def test_why_it_matches(client):
    found = client.explain(Selection("G@deep:n:1 and I@app:name:shop or not S@10.0.0.0/8", "compound"), ["web1", "db1"])
    assert {id: why["matches"] for id, why in found.items()} == {"web1": True, "db1": False}
    deep, app, subnet = found["web1"]["terms"]
    assert deep == {
        "term": "G@deep:n:1",
        "holds": True,
        "value": 1,
        "path": "deep:n",
        "source": "inventory",
        "age": None,
    }
    assert (app["holds"], app["value"], app["path"], app["source"]) == (True, "*" * 10, "app:name", "cached pillar")
    assert (subnet["value"], subnet["source"]) == (["10.0.0.1", "127.0.0.1"], "cached grains")
    assert 0 <= subnet["age"] < 60
    [row] = client.explain(Selection("nope:x", "pillar"), ["here"])["here"]["terms"]
    assert (row["holds"], row["value"], row["source"]) == (False, None, "no pillar known")


def test_refreshing_collects_first(make, tmp_path, caplog):
    (tmp_path / "top.sls").write_text("base: {'*': [data]}")
    (tmp_path / "data.sls").write_text("kind: {{ grains['os'] }}-{{ opts['id'] }}")
    hosts = {"paper": {"transport": "offline", "grains": {"os": "Rocky"}}, "poor": {"transport": "offline"}}
    client = make(pillar_roots={"base": [str(tmp_path)]})
    (tmp_path / "inventory.json").write_text(json.dumps({"hosts": hosts}))
    assert chosen(client, "I@kind:Rocky-paper") == []
    failed = client.refresh(Selection("kind:*", "pillar"))
    assert "poor" in failed or "poor: Pillar failed" in caplog.text  # it has no grain of that name
    assert chosen(client, "I@kind:Rocky-paper") == ["paper"]


@pytest.mark.parametrize(
    "seconds, words", [(0, "0 s"), (119, "119 s"), (121, "2 min"), (7300, "2 h"), (172800, "2 days"), (-5, "0 s")]
)
def test_ages(seconds, words):
    assert age_text(seconds) == words


def test_large_inventories_are_read_once(tmp_path, monkeypatch):
    hosts = {f"host{n}": {"jump": "host1" if n == 2 else None, "grains": {"n": n % 3}} for n in range(2100)}
    hosts["host3"]["pillar"] = {"secret": "canary-1"}
    hosts["host4"]["passwd"] = "canary-2"
    inventory = tmp_path / "inventory.json"

    def client():
        return Client(Settings(inventories=[inventory], cache_dir=tmp_path / "cache"))

    def image_alone(client, expr):
        found = chosen(client, expr)
        assert "inventory" not in client.project.__dict__
        return found

    def write(hosts):
        bare = {id: {key: value for key, value in host.items() if value is not None} for id, host in hosts.items()}
        inventory.write_text(json.dumps({"hosts": bare}))

    write(hosts)
    assert len(chosen(client(), "G@n:1")) == 700
    assert len(image_alone(client(), "G@n:1")) == 700
    assert image_alone(client(), "M@host1 and not G@n:1 and T@ssh") == ["host2"]
    assert chosen(client(), "I@secret:canary*") == ["host3"]
    assert not [path for path in (tmp_path / "cache").rglob("*") if path.is_file() and b"canary" in path.read_bytes()]
    for path in (tmp_path / "cache" / "inventory").iterdir():
        path.write_bytes(path.read_bytes()[:-1])
    assert chosen(client(), "M@host1") == ["host2"]
    assert image_alone(client(), "host2?") == [f"host2{n}" for n in range(10)]
    hosts["new"] = {}
    write(hosts)
    assert chosen(client(), "new") == ["new"]
    assert image_alone(client(), "new") == ["new"]


def test_images_of_what_is_run_or_looks_like_a_template(tmp_path):
    inventory, count = tmp_path / "inventory", tmp_path / "count"
    listing = {"_meta": {"hostvars": {f"h{n}": {"v": "{{ jinja }}"} for n in range(2100)}}, "g": {"hosts": ["h1"]}}

    def listed(listing):
        (tmp_path / "listing").write_text(json.dumps(listing))
        inventory.write_text(f"#!/bin/sh\necho >> {count}\ncat {tmp_path}/listing\n")
        inventory.chmod(0o755)

    def read(expr):
        """The matching ids, and whether the inventory was parsed for them."""
        client = Client(Settings(inventories=[inventory], cache_dir=tmp_path / "cache"))
        return chosen(client, expr), "inventory" in client.project.__dict__

    listed(listing)
    assert [read("h77"), read("h77")] == [(["h77"], True), (["h77"], False)]
    assert len(count.read_text()) == 2  # it is run each time, and once
    listing["_meta"]["hostvars"]["new"] = {}
    listed(listing)
    assert [read("new"), read("new")] == [(["new"], True), (["new"], False)]
    inventory.chmod(0o644)
    inventory.write_text("all:\n  vars: {v: '{{ jinja }}'}\n  hosts:\n" + "".join(f"    y{n}:\n" for n in range(2100)))
    assert [read("y7"), read("y7")] == [(["y7"], True), (["y7"], False)]
    inventory.write_text("{% for n in range(2100) %}\nr{{ n }}: {host: h}\n{% endfor %}# long enough" + "." * 9000)
    assert [read("r7"), read("r7")] == [(["r7"], True), (["r7"], False)]  # Jinja ran, with the same result


@pytest.mark.parametrize(
    "expr, tgt_type, ids",
    [
        ("G@id:web1", "compound", []),
        ("id:web1", "grain", []),
        ("id:web*", "grain_pcre", []),
        ("G@id:db1 and G@os:Debian", "compound", []),
        ("web1", "glob", ["web1"]),
    ],
)
def test_a_cache_that_believed_a_target_is_not_believed(make, expr, tgt_type, ids):
    """The cache of an earlier version may contain another id."""
    client = make()
    client.project.grains.put("here", {"id": "web1", "os": "Debian"})
    assert chosen(client, expr, tgt_type) == ids
    assert chosen(client, "here and not G@id:web1") == ["here"]
