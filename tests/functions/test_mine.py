"""mine.*: collected with the grains or by itself, answered from the cache, for whom it is meant."""

import json
import os

import pytest

from pushsalt.api import Client, Selection, Settings
from pushsalt.run.mine import definitions, unwrap


@pytest.fixture
def make(tmp_path):
    def client(hosts=None, **config):
        usual = {
            id: {"transport": "offline", "grains": {"role": id[:-1]}, "pillar": {"app": id}}
            for id in ("web1", "web2", "db1")
        }
        (tmp_path / "inventory.json").write_text(json.dumps({"hosts": hosts or usual}))
        (tmp_path / "pushsalt.yaml").write_text(json.dumps({"nodegroups": {"two": "web2 or db1"}, **config}))
        return Client(
            Settings(
                inventories=[tmp_path / "inventory.json"],
                config=tmp_path / "pushsalt.yaml",
                cache_dir=tmp_path / "cache",
            )
        )

    return client


@pytest.fixture
def client(make):
    made = make()
    for id in ("web1", "web2"):
        made.project.mine.put(id, {"network.ip_addrs": [id], "test.ping": True})
    return made


def call(client, fun, *args, on="web1", **kwargs):
    return client.run(Selection(on), fun, list(args), kwargs)[on].ret


@pytest.mark.parametrize(
    "args, kwargs, want",
    [
        (["*", "network.ip_addrs"], {}, {"web1": ["web1"], "web2": ["web2"]}),
        (["web2", "network.ip_addrs"], {}, {"web2": ["web2"]}),
        (["*", "network.ip_addrs"], {"exclude_minion": True}, {"web2": ["web2"]}),
        (["role:web", "test.ping"], {"tgt_type": "grain"}, {"web1": True, "web2": True}),
        (["role:^w", "test.ping"], {"tgt_type": "grain_pcre"}, {"web1": True, "web2": True}),
        (["web2,db1", "test.ping"], {"tgt_type": "list"}, {"web2": True}),
        ([".*2", "test.ping"], {"tgt_type": "pcre"}, {"web2": True}),
        (["two", "test.ping"], {"tgt_type": "nodegroup"}, {"web2": True}),
        (["app:web1", "test.ping"], {"tgt_type": "pillar"}, {"web1": True}),
        (["app:web*", "test.ping"], {"tgt_type": "pillar"}, {}),
        (["I@app:web2 or G@role:db", "test.ping"], {"tgt_type": "compound"}, {"web2": True}),
        (["J@app:web.*", "test.ping"], {"tgt_type": "compound"}, {}),
        (["T@offline and M@controller and web*", "test.ping"], {"tgt_type": "compound"}, {"web1": True, "web2": True}),
        (["web1 and", "test.ping"], {"tgt_type": "compound"}, {}),
        (["web1", "test.ping,nothing"], {}, {"test.ping": {"web1": True}}),
        (["web1", ["test.ping"]], {}, {"test.ping": {"web1": True}}),
        (["web1", 5], {}, {}),
        (["nobody*", "test.ping"], {}, {}),
        (["db1", "test.ping"], {}, {}),
    ],
)
def test_what_was_kept_is_the_answer(client, args, kwargs, want):
    assert call(client, "mine.get", *args, **kwargs) == want


def test_sending_deleting_and_flushing(client):
    assert call(client, "mine.send", "role", "role", mine_function="grains.get", on="db1") is True
    assert call(client, "mine.send", "test.echo", "x", on="db1") is True
    assert call(client, "mine.send", "no.such", on="db1") is False
    assert call(client, "mine.get", "db1", "role,test.echo,no.such") == {
        "role": {"db1": "db"}, "test.echo": {"db1": "x"}
    }  # fmt: skip
    assert call(client, "mine.delete", "role", on="db1") is True
    assert client.project.mine.get("db1") == {"test.echo": "x"}
    assert call(client, "mine.flush", on="db1") is True
    assert call(client, "mine.get", "*", "test.echo") == {}


def test_only_those_who_may_get_it(client):
    for name, allowed in [("one", {"allow_tgt": "web2"}), ("no", {"allow_tgt": "nobody"}), ("all", {})]:
        assert call(client, "mine.send", name, "v", mine_function="test.echo", on="db1", **allowed)
    compound = {"allow_tgt": "G@role:web", "allow_tgt_type": "compound"}
    assert call(client, "mine.send", "webs", "v", mine_function="test.echo", on="db1", **compound)
    get = ("mine.get", "db1", "one,no,all,webs")
    assert set(call(client, *get, on="web1")) == {"all", "webs"}
    assert set(call(client, *get, on="web2")) == {"one", "all", "webs"}
    assert set(call(client, *get, on="db1")) == {"all"}


def test_the_master_s_own_rules(make, client):
    assert call(make(mine_get={"web.*": ["test.*"]}), "mine.get", "web2", "test.ping,network.ip_addrs") == {
        "test.ping": {"web2": True}
    }
    assert call(make(mine_get={"db.*": ["test.*"]}), "mine.get", "web2", "test.ping") == {}


def test_updating_by_configuration_and_pillar(make):
    client = make(mine_functions={"who": {"mine_function": "grains.get", "key": "role"}, "no.such": []})
    assert call(client, "mine.update") is True
    assert client.project.mine.get("web1") == {"who": "web"}
    assert call(client, "mine.update", mine_functions={"test.echo": ["x"]}) is True
    assert client.project.mine.get("web1") == {"who": "web", "test.echo": "x"}
    assert call(client, "mine.update", clear=True) is True
    assert client.project.mine.get("web1") == {"who": "web"}
    assert call(make(), "mine.update") is None


def test_collected_in_the_exchange_of_the_grains(make, tmp_path):
    here = {
        "transport": "local",
        "thin_dir": str(tmp_path / "thin"),
        "pillar": {"mine_functions": {"said": [{"mine_function": "test.echo"}, "pillar"]}},
        "minion_opts": {"mine_functions": {"test.echo": ["roster"], "no.such": []}},
    }
    client = make({"here": here}, mine_functions={"test.ping": [{"allow_tgt": "else*"}]})
    result = client.grains(Selection("here"))["here"]
    assert result.exit_code == 0
    assert result.ret["kernel"] == "Linux"
    kept = client.project.mine.get("here")
    assert {name: unwrap(value) for name, value in kept.items()} == {
        "said": ("pillar", None), "test.echo": ("roster", None), "test.ping": (True, ("else*", "glob")),
    }  # fmt: skip
    again = client.grains(Selection("here"))["here"]
    assert (
        again.round_trips
        == make({"here": {**here, "pillar": {}, "minion_opts": {}}}).grains(Selection("here"))["here"].round_trips
    )


def test_what_is_old_is_said_once(client, caplog):
    for path in client.project.mine.path.iterdir():
        os.utime(path, (1, 1))
    client.run(Selection("web*"), "mine.get", ["web2", "test.ping"])
    assert [text.partition(" is ")[0] for text in caplog.messages] == ["the mine of web2"]


@pytest.mark.parametrize(
    "given, want",
    [
        (["a.b", "c.d"], [("a.b", "a.b", [], {}), ("c.d", "c.d", [], {})]),
        ({"a.b": []}, [("a.b", "a.b", [], {})]),
        ({"a.b": None}, [("a.b", "a.b", [], {})]),
        ({"x": {"mine_function": "a.b", "k": 1}}, [("x", "a.b", [], {"k": 1})]),
        ({"x": [{"mine_function": "a.b"}, 5, {"k": 1, "l": 2}]}, [("x", "a.b", [5], {"k": 1, "l": 2})]),
        ("a.b", []),
        (None, []),
    ],
)
def test_definitions(given, want):
    assert [(each.alias, each.function, each.args, each.kwargs) for each in definitions(given)] == want
