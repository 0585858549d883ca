"""mine.*: collected with the grains or separately, answered from the cache, for allowed targets only."""

import json
import os
import time

import pytest

from pushsalt.api import Client, Selection, Settings
from pushsalt.job import JobOptions
from pushsalt.minion import mine
from pushsalt.minion.mine import definitions, unwrap

pytestmark = pytest.mark.slow


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
        "role": {"db1": "db"},
        "test.echo": {"db1": "x"},
    }
    assert call(client, "mine.delete", "role", on="db1") is True
    assert client.project.mine.get("db1") == {"test.echo": "x"}
    assert call(client, "mine.flush", on="db1") is True
    assert call(client, "mine.get", "*", "test.echo") == {}


def test_only_permitted_targets_get_a_value(client):
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
    host = {
        "transport": "local",
        "thin_dir": str(tmp_path / "thin"),
        "pillar": {"mine_functions": {"said": [{"mine_function": "test.echo"}, "pillar"]}},
        "minion_opts": {"mine_functions": {"test.echo": ["roster"], "no.such": []}},
    }
    client = make({"here": host}, mine_functions={"test.ping": [{"allow_tgt": "else*"}]})
    result = client.grains(Selection("here"))["here"]
    assert result.exit_code == 0
    assert result.ret["kernel"] == "Linux"
    kept = client.project.mine.get("here")
    assert {name: unwrap(value) for name, value in kept.items()} == {
        "said": ("pillar", None),
        "test.echo": ("roster", None),
        "test.ping": (True, ("else*", "glob")),
    }
    again = client.grains(Selection("here"))["here"]
    assert (
        again.round_trips
        == make({"here": {**host, "pillar": {}, "minion_opts": {}}}).grains(Selection("here"))["here"].round_trips
    )


@pytest.fixture
def machine(make, tmp_path):
    """A reachable machine with states; its client is set by configuration, minion_opts and pillar."""
    (tmp_path / "salt").mkdir()
    (tmp_path / "pillar").mkdir()
    (tmp_path / "salt/site.sls").write_text(f"{tmp_path}/written:\n  file.managed:\n    - contents: new\n")
    (tmp_path / "salt/broken.sls").write_text("{{ nope.nope }}\n")
    (tmp_path / "salt/failing.sls").write_text("it:\n  test.fail_without_changes: []\n")
    asking = "{{ salt['mine.get']('here', 'test.echo') }}"
    (tmp_path / "salt/asks.sls").write_text(f'it:\n  test.nop:\n    - name: "was {asking}"\n')
    (tmp_path / "pillar/top.sls").write_text("base:\n  '*': [mine]\n")
    (tmp_path / "pillar/mine.sls").write_text(f"mine_functions:\n  file.file_exists: [{tmp_path / 'written'}]\n")

    def client(minion_opts=None, **config):
        host = {"transport": "local", "thin_dir": str(tmp_path / "thin"), "minion_opts": minion_opts or {}}
        roots = {"file_roots": {"base": ["salt"]}, "pillar_roots": {"base": ["pillar"]}}
        return make({"here": host}, **roots, **config)

    return client


def applied(client, *sls, **options):
    return client.apply(Selection("here"), list(sls), JobOptions(**options))["here"]


def test_a_run_of_states_collects_due_values(machine):
    client = machine(mine_functions={"test.echo": ["one"]})
    assert applied(client, "site").exit_code == 0
    # the files of the states exist by then
    assert client.project.mine.get("here") == {"test.echo": "one", "file.file_exists": True}
    _, seen = client.project.mine.with_times("here")
    second = applied(client, "site")
    assert client.project.mine.with_times("here")[1] == seen
    assert second.round_trips == applied(machine(mine_interval=0), "site").round_trips


def test_each_value_has_an_age_of_its_own(machine):
    client = machine(mine_functions={"test.echo": ["one"]})
    applied(client, "site")
    bank = client.project.mine
    os.utime(bank._file("here"), (time.time() - 3000,) * 2)
    assert call(client, "mine.send", "sent", 5, mine_function="test.echo", on="here")
    os.utime(bank._file("here"), (time.time() - 1000,) * 2)
    ages = {name: round(time.time() - when, -2) for name, when in bank.with_times("here")[1].items()}
    assert ages == {"test.echo": 3000, "file.file_exists": 3000, "sent": 1000}
    applied(machine({"mine_interval": 40}, mine_functions={"test.echo": ["two"]}), "site")
    values, seen = bank.with_times("here")
    assert values == {"test.echo": "two", "file.file_exists": True, "sent": 5}
    assert time.time() - seen["test.echo"] < 900 < time.time() - seen["sent"]


@pytest.mark.parametrize(
    "minion_opts, config, sls, options, kept",
    [
        ({}, {"mine_enabled": False}, "site", {}, None),
        ({"mine_enabled": False}, {}, "site", {}, None),
        ({}, {"minion_data_cache": False}, "site", {}, None),
        ({}, {"minion_data_cache": False, "enforce_mine_cache": True}, "site", {}, {"file.file_exists": True}),
        ({}, {}, "site", {"test": True}, None),
        ({}, {}, "broken", {}, None),
        ({}, {}, "failing", {}, {"file.file_exists": False}),
        ({}, {"mine_functions": {"no.such": []}}, "failing", {}, {"file.file_exists": False}),
        ({"mine_interval": "soon"}, {}, "failing", {}, {"file.file_exists": False}),
    ],
)
def test_when_a_run_collects(machine, minion_opts, config, sls, options, kept):
    client = machine(minion_opts, **config)
    result = applied(client, sls, **options)
    assert client.project.mine.get("here") == kept
    assert result.exit_code == (0 if sls == "site" else 2)


def test_a_function_that_hangs_does_not_hold_up_the_return(machine, monkeypatch, caplog):
    monkeypatch.setattr(mine, "PATIENCE", 0.5)
    client = machine(mine_functions={"slow": [{"mine_function": "test.sleep"}, 60], "test.ping": []})
    result = applied(client, "site")
    assert result.exit_code == 0
    assert client.grains(Selection("here"))["here"].exit_code == 0
    assert sum("test.sleep took over 0.5 s: not stored" in text for text in caplog.messages) == 2
    assert "slow" not in client.project.mine.get("here")


def test_controller_s_functions_can_be_mine_functions(machine):
    pillar = [{"mine_function": "pillar.get"}, "mine_functions"]
    client = machine(mine_functions={"states": {"mine_function": "cp.list_states"}, "pillar": pillar})
    assert client.grains(Selection("here"))["here"].exit_code == 0
    kept = client.project.mine.get("here")
    assert kept["states"] == ["asks", "broken", "failing", "site"]
    assert list(kept["pillar"]) == ["file.file_exists"]


def test_the_runner_that_pillar_uses_in_salt(machine, tmp_path):
    asked = "salt['saltutil.runner']('mine.get', tgt='*', fun='test.echo', tgt_type='glob')"
    (tmp_path / "pillar/mine.sls").write_text("told: {{ " + asked + " | json }}\n")
    client = machine()
    client.project.mine.put("here", {"test.echo": "x"})
    assert call(client, "pillar.get", "told", unmask=True, on="here") == {"here": "x"}
    assert call(client, "saltutil.runner", "manage.up", on="here")["error"]["exception"] == "CommandExecutionError"


def test_states_on_the_target_tell_of_it_alone(machine, tmp_path):
    calls = {
        "mine.send": ["said", {"mine_function": "test.echo"}, {"allow_tgt": "lb*"}, "x"],
        "mine.update": [{"mine_functions": {"test.ping": [], "no.such": []}}],
        "mine.delete": ["old"],
        "mine.get": ["*", "old"],
    }
    chunks = {name: {"module.run": [{name: args}]} for name, args in calls.items()}
    (tmp_path / "salt/tells.sls").write_text(json.dumps(chunks))
    client = machine({"use_superseded": ["module.run"]}, mine_enabled=False)
    client.project.mine.put("here", {"old": 1, "older": 2})
    rets = {ret["__id__"]: ret for ret in applied(client, "tells").ret.values()}
    assert {name: ret["result"] for name, ret in rets.items()} == {**dict.fromkeys(calls, True), "mine.get": False}
    assert "mine.get is answered where templates are rendered" in rets["mine.get"]["comment"]
    kept = client.project.mine.get("here")
    assert {name: unwrap(value) for name, value in kept.items()} == {
        "older": (2, None),
        "said": ("x", ("lb*", "glob")),
        "test.ping": (True, None),
    }


@pytest.mark.parametrize("kind", ["pcre", "grain_pcre", "compound"])
def test_no_regular_expression_of_a_target_is_kept(machine, tmp_path, kind):
    whom = {"allow_tgt": "(a+)+$", "allow_tgt_type": kind}
    tells = {"mine.send": ["said", {"mine_function": "test.echo"}, whom, "x"]}
    (tmp_path / "salt/tells.sls").write_text(json.dumps({"tells": {"module.run": [tells]}}))
    client = machine()
    [ret] = applied(client, "tells").ret.values()
    assert ret["result"] is False and f"not to {kind}" in ret["comment"]
    assert "said" not in client.project.mine.get("here")


def test_a_value_that_looks_wrapped_is_a_value(machine):
    said = {"__saltmine_acl__": 1, "allow_tgt": "(a+)+$", "allow_tgt_type": "pcre", "__data__": "x"}
    client = machine(mine_functions={"odd": [{"mine_function": "test.echo"}, {"text": said}]})
    client.grains(Selection("here"))
    assert unwrap(client.project.mine.get("here")["odd"]) == (said, None)


def test_a_template_reads_values_from_before_the_run(machine):
    client = machine(mine_functions={"test.echo": ["said"]})
    for want in ("was {}", "was {'here': 'said'}"):
        [ret] = applied(client, "asks").ret.values()
        assert ret["name"] == want


def test_old_values_are_reported_once(client, caplog):
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


def test_values_of_resources(machine, tmp_path):
    (tmp_path / "pillar/top.sls").write_text("base:\n  'here': [mine, behind]\n")
    (tmp_path / "pillar/behind.sls").write_text("resources:\n  dummy:\n    resource_ids: [d1, here]\n")
    client = machine()
    assert client.grains(Selection("here"))["here"].exit_code == 0

    def on(tgt, fun, *args, **kwargs):
        tgt_type = "compound" if "@" in tgt else "glob"
        return [result.ret for result in client.run(Selection(tgt, tgt_type), fun, list(args), kwargs).values()]

    assert on("here", "mine.send", "who", mine_function="test.ping", allow_tgt="here") == [True]
    assert on("T@dummy", "mine.send", "who", mine_function="test.ping", allow_tgt="d1,here", allow_tgt_type="list")
    assert sorted(client.project.mine.keys()) == ["dummy:d1", "dummy:here", "here"]
    assert on("here", "mine.get", "*", "who") == [{"local:here": True, "dummy:here": True, "d1": True}]
    assert on("here", "mine.get", "T@dummy", "who", "compound") == [{"here": True, "d1": True}]
    # "here" is the machine, not the resource of that name
    assert on("T@dummy:here", "mine.get", "here", "who") == [{}]
    assert on("T@dummy:d1", "mine.get", "T@dummy", "who", "compound", exclude_minion=True) == [{"here": True}]
    assert on("T@dummy:d1", "mine.get", "dummy:here", "who") == [{"here": True}]
    assert on("T@dummy:here", "mine.get", "d1", "who") == [{}]


def test_pillar_is_matched_exactly_except_for_permissions(make):
    client = make()
    allowed = {"allow_tgt": "app:web*", "allow_tgt_type": "pillar"}
    call(client, "mine.send", "x", "v", mine_function="test.echo", on="db1", **allowed)
    assert call(client, "mine.get", "db1", "x", on="web1") == {"db1": "v"}
    assert call(client, "mine.get", "db1", "x", on="db1") == {}
    assert call(client, "mine.get", "app:db*", "x", tgt_type="pillar", on="web1") == {}
    call(client, "mine.send", "y", "v", mine_function="test.echo", allow_tgt="*", allow_tgt_type="nonsense", on="db1")
    assert call(client, "mine.get", "db1", "y", on="web1") == {}


def test_valid_and_invalid_functions(make):
    client = make(
        mine_functions={
            "test.echo": ["x"],
            "said": [{"mine_function": "test.echo"}, "x", {"allow_tgt": "*"}],
            "net": {"mine_function": "network.ip_addrs", "interface": "eth0"},
            "no.such": [],
        }
    )
    assert call(client, "mine.valid") == {
        "test.echo": ["x"],
        "said": {"test.echo": ["x"]},
        "net": {"network.ip_addrs": [{"interface": "eth0"}]},
    }
    assert call(make(), "mine.valid") is None


def test_ports_of_containers(client):
    def container(id, *ports):
        named = [dict(zip(("IP", "PrivatePort", "PublicPort"), port, strict=False)) for port in ports]
        return {"Image": "web:1", "Info": {"Id": id}, "Ports": named}

    cards = {"eth0": {"inet": [{"address": "10.0.0.5"}]}, "eth1": {"inet": [{"address": "192.168.1.5"}]}, "sit0": {}}
    told = {"host": {"interfaces": cards}, "c1": container("c1", ("0.0.0.0", 80, 8080), ("127.0.0.1", 81, 8081))}
    client.project.mine.put("web1", {"docker.ps": {**told, "c2": container("c2", (None, 90))}})
    both, local = ["10.0.0.5:8080", "192.168.1.5:8080"], ["127.0.0.1:8081"]
    for kwargs, want in [
        ({}, both),
        ({"interfaces": "eth0"}, both[:1]),
        ({"interfaces": ["eth1", "eth7"]}, both[1:]),
        ({"cidrs": ["192.168.0.0/16"]}, both[1:]),
    ]:
        assert call(client, "mine.get_docker", **kwargs) == {"web:1": {"ipv4": {80: want, 81: local}}}
    pairs = call(client, "mine.get_docker", cidrs="10.0.0.0/8", with_container_id=True)
    assert [list(pair) for pair in pairs["web:1"]["ipv4"][80]] == [["10.0.0.5:8080", "c1"]]
