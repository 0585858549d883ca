"""Shipped runner functions, by the command line."""

from __future__ import annotations

import json

import pytest

from tests.beds.project import Project

pytestmark = pytest.mark.slow


@pytest.fixture
def project(tmp_path):
    hosts = {
        "web1": {"transport": "local", "grains": {"role": "web"}, "pillar": {"color": "red"}},
        "web2": {"transport": "local", "grains": {"role": "web"}},
    }
    made = Project(tmp_path, hosts, mine_functions={"test.echo": ["mined"]})
    made.files({"salt/one.sls": "one:\n  test.nop: []\n", "salt/sub/file": "x"})
    return made


def runner(project, *arguments, code=0):
    done = project.run("runner", *arguments, "--out", "json")
    assert done.code == code, done.err
    return json.loads(done.out)


def failed(project, *arguments):
    done = project.run("runner", *arguments, "--out", "json")
    assert done.code == 2, done.err
    return done.err


def test_jobs(project, tmp_path):
    jids = []
    for number, words in enumerate((["run", "web*", "test.echo", "hi"], ["apply", "web1", "one"])):
        path = tmp_path / f"jid{number}"
        assert project.run(*words, "--jid-file", str(path)).code == 0
        jids.append(path.read_text().strip())
    first, second = jids
    listed = runner(project, "jobs.list_jobs")
    assert list(listed) == jids
    about = {"Function": "test.echo", "Arguments": ["hi"], "Target": "web*", "Target-type": "glob"}
    assert about.items() <= listed[first].items()
    assert listed[first]["StartTime"].startswith(f"{first[:4]}, ")
    assert list(runner(project, "jobs.list_jobs", "search_function=test.*")) == [first]
    assert list(runner(project, "jobs.list_jobs", "search_target=web1")) == [second]
    assert runner(project, "jobs.list_jobs_filter", "1") == [{"JID": second, **listed[second]}]
    assert runner(project, "jobs.lookup_jid", first) == {"web1": "hi", "web2": "hi"}
    assert runner(project, "jobs.lookup_jid", second)["outputter"] == "highstate"
    printed = runner(project, "jobs.print_job", first)[first]
    assert printed["Result"]["web1"] == {"return": "hi", "retcode": 0, "success": True}
    assert printed["Minions"] == ["web1", "web2"] and "jid" not in printed
    assert runner(project, "jobs.list_job", first) == {"jid": first, **printed}
    assert runner(project, "jobs.exit_success", second) == {"web1": True}
    assert list(runner(project, "jobs.last_run", "function=test.echo")) == [first]
    assert runner(project, "jobs.active") == {}
    assert "Error" in runner(project, "jobs.list_job", "20260101000000000000")


def test_cached_data_of_targets(project):
    assert runner(project, "cache.grains", "*") == {}
    assert project.run("grains", "*", "--out", "quiet").code == 0
    grains = runner(project, "cache.grains", "*")
    assert set(grains) == {"web1", "web2"} and grains["web1"]["id"] == "web1"
    assert runner(project, "mine.get", "*", "test.echo") == {"web1": "mined", "web2": "mined"}
    assert runner(project, "match.compound_matches", "web1 and G@role:web", "web1") == {"res": "web1"}
    assert runner(project, "match.compound_matches", "not web1", "web1") == {"res": False}
    assert runner(project, "cache.clear_mine_func", "web1", "clear_mine_func_flag=test.echo") is True
    assert runner(project, "cache.clear_mine_func", "web1", "clear_mine_func_flag=test.echo") is False
    assert runner(project, "mine.get", "*", "test.echo") == {"web2": "mined"}
    assert runner(project, "cache.clear_grains", "web1") is True
    assert runner(project, "cache.clear_grains", "web1") is False
    assert runner(project, "cache.clear_grains", "nobody") is True
    assert set(runner(project, "cache.grains", "*")) == {"web2"}


def test_files_pillar_and_surveys(project):
    assert runner(project, "fileserver.envs") == ["base"]
    assert runner(project, "fileserver.envs", "sources=true") == ["roots"]
    assert runner(project, "fileserver.file_list") == ["one.sls", "sub/file"]
    assert "sub" in runner(project, "fileserver.dir_list")
    (project.folder / "salt" / "empty").mkdir()
    assert runner(project, "fileserver.empty_dir_list") == ["empty"]
    assert runner(project, "fileserver.update") is True
    assert runner(project, "pillar.show_pillar", "web1")["color"] == "red"
    pools = runner(project, "survey.hash", "*", "test.echo", "same")
    assert pools == [{"pool": ["web1", "web2"], "result": "same"}]
    rows = runner(project, "survey.diff", "*", "grains.get", "id")
    assert rows[1] == {"pool": ["web2"], "result": "web2", "diff": "--- web1\n+++ web2\n@@ -1 +1 @@\n-web1\n+web2"}
    docs = runner(project, "doc.runner")
    assert "jobs.list_jobs" in docs and "survey.hash" in docs and "cache.grains" in docs
    assert "pillar.cached" not in docs


def test_graphs_of_requisites(project):
    """In Salt's form: of the controller, or with ``tgt`` of targets."""
    project.write(
        "salt/two.sls",
        "two:\n  test.nop:\n    - name: {{ grains.id }}\n    - require: [test: 'on\"e']\n'on\"e':\n  test.nop: []\n",
    )
    found = runner(project, "state.graph", "two", "tgt=web1")
    assert found == {
        "web1": "\n".join(
            [
                "digraph G {",
                '  "test_|-two_|-web1_|-nop" [label="test.nop\\ntwo\\n(web1)"];',
                '  "test_|-on\\"e_|-on\\"e_|-nop" [label="test.nop\\non\\"e"];',
                '  "test_|-on\\"e_|-on\\"e_|-nop" -> "test_|-two_|-web1_|-nop" [label="require"];',
                "}",
            ]
        )
    }
    assert '[label="test.nop\\none"];' in runner(project, "state.graph", "one")
    project.write("salt/top.sls", "base:\n  '*': [one]\n")
    assert '[label="test.nop\\none"];' in runner(project, "state.graph_highstate", "tgt=web1")["web1"]
    project.write("salt/one.sls", "one: 3\n")
    [text] = runner(project, "state.graph_highstate")
    assert "one" in text


def test_manage(project):
    assert runner(project, "manage.present") == ["web1", "web2"]
    assert runner(project, "manage.joined", "subset=web1") == ["web1"]
    assert runner(project, "manage.not_alived") == []
    assert runner(project, "manage.alived", "show_ip=true") == {"web1": "127.0.0.1", "web2": "127.0.0.1"}
    hosts = {"web1": {"transport": "local"}, "gone": {"host": "127.0.0.1", "port": 1}}
    project.write("inventory.yaml", json.dumps({"hosts": hosts}))
    version = runner(project, "salt.cmd", "test.version")
    found = {"Master": version, "Minion offline": {"gone": False}, "Up to date": {"web1": version}}
    assert runner(project, "manage.versions") == found


def test_the_reactor_and_the_configuration(project):
    assert "Reactor system is not running" in failed(project, "reactor.list")
    opts = {"file_roots": {"base": ["salt"]}, "reactor": [{"app/*": "salt://app.sls"}, {"b": ["c.sls", "d.sls"]}]}
    project.write("pushsalt.yaml", json.dumps({**opts, "app": {"port": 8080}}))
    assert runner(project, "reactor.list") == [{"app/*": ["salt://app.sls"]}, {"b": ["c.sls", "d.sls"]}]
    assert runner(project, "reactor.is_leader") is True
    assert "restart `pushsalt react`" in failed(project, "reactor.add", "a", "reactors=b.sls")
    assert "restart `pushsalt react`" in failed(project, "reactor.delete", "a")
    assert runner(project, "config.get", "reactor:0") == {"app/*": "salt://app.sls"}
    assert runner(project, "config.get", "nosuch", "default=5") == 5
    assert runner(project, "sdb.get", "plain") == "plain"


def test_synchronizing_and_errors_on_demand(project):
    synchronized = runner(project, "saltutil.sync_all")
    assert synchronized["modules"] == [] and len(synchronized) == 24
    assert runner(project, "saltutil.sync_runners") == []
    assert "it broke" in failed(project, "error.error", "name=ValueError", "message=it broke")
    assert runner(project, "error.error") == {}


def test_progress_is_an_event(project, tmp_path):
    path = tmp_path / "jid"
    assert project.run("run", "web*", "test.ping", "--jid-file", str(path)).code == 0
    assert runner(project, "jobs.lookup_jid", path.read_text().strip(), "display_progress=true")
    done = project.run("events", "salt/run/*/progress", "--out", "ndjson")
    said = [json.loads(line)["data"]["message"] for line in done.out.splitlines()]
    assert sorted(said) == ["web1", "web2"]


@pytest.mark.parametrize(
    "name, hint",
    [
        ("job.list_jobs", "did you mean jobs.list_jobs?"),
        ("jobs.list_job_filter", "did you mean jobs.list_jobs_filter?"),
        ("auth.mk_token", "hint: runner functions are"),
    ],
)
def test_a_hint_names_a_function_that_exists(project, name, hint):
    assert hint in failed(project, name)


def test_net_finds_interfaces(project):
    """By grains; and by mine functions in the shape of NAPALM."""
    ports = {"xe-0": {"description": "To the core", "is_up": True, "speed": 1000, "mac_address": "00:11:22:33:44:55"}}
    addresses = {"xe-0.0": {"ipv4": {"10.1.0.1": {"prefix_length": 16}}}}
    arp = [{"interface": "xe-0", "mac": "0011.2233.4466", "ip": "10.1.0.9", "age": 1.0}]
    neighbours = {"xe-0": [{"remote_system_name": "core1", "remote_chassis_id": "001122334477"}]}
    tables = {"interfaces": ports, "ipaddrs": addresses, "arp": arp, "mac": [{**arp[0], "vlan": 7}], "lldp": neighbours}
    text = "".join(f"def {name}(): return {{'result': True, 'out': {value!r}}}\n" for name, value in tables.items())
    project.write("salt/_modules/netdata.py", text)
    mine = {f"net.{name}": [{"mine_function": f"netdata.{name}"}] for name in tables}
    about = {"hwaddr_interfaces": {"eth0": "00:11:22:33:44:66"}, "ip_interfaces": {"eth0": ["10.1.0.9", "fe80::1"]}}
    hosts = {
        "sw1": {"transport": "local", "pillar": {"mine_functions": mine}},
        "web1": {"transport": "local", "grains": about},
    }
    project.write("inventory.yaml", json.dumps({"hosts": hosts}))
    assert project.run("grains", "*", "--out", "quiet").code == 0
    assert project.run("run", "sw1", "mine.update", "--out", "quiet").code == 0
    row = {
        "device": "sw1",
        "interface": "xe-0",
        "interface_description": "To the core",
        "is_up": True,
        "is_enabled": "",
    }
    row.update(speed=1000, mac="00:11:22:33:44:55", ips=["10.1.0.1/16"])
    found = runner(project, "net.find", "core")
    assert found["int_descr"] == [row] and [each["remote_system_name"] for each in found["lldp_descr"]] == ["core1"]
    assert runner(project, "net.find", "xe-0")["int_name"] == [row]
    found = runner(project, "net.find", "10.1.0.9")
    assert [(each["device"], each["interface"]) for each in found["int_ip"]] == [("web1", "eth0")]
    assert found["arp_ip"][0]["mac"] == "00:11:22:33:44:66" and found["int_net"][0]["device"] == "web1"
    assert runner(project, "net.find", "10.1.77.0/24")["int_net"] == [row]
    found = runner(project, "net.find", "00-11-22-33-44-66")
    assert found["int_mac"][0]["device"] == "web1" and found["arp_mac"][0]["device"] == "sw1"
    assert found["int_descr"][0]["vlan"] == 7 and runner(project, "net.find", "7")["mac"] == found["int_descr"]
    assert runner(project, "net.find", "nowhere")["int_name"] == []
    assert set(runner(project, "net.multi_find", "core", "xe-0")) == {"core", "xe-0"}
    assert runner(project, "net.findmac", "vlan=7")[0]["interface"] == "xe-0"
    assert runner(project, "net.lldp", "chassis=00:11:22:33:44:77")[0]["device"] == "sw1"
    assert len(runner(project, "net.interfaces", "device=web1", "interface=eth0")) == 1


def test_the_top_file_of_pillar(project):
    project.write(
        "pillar/top.sls", "base:\n  '*': [all]\n  'os:{{ grains['role'] }}':\n    - match: grain\n    - one\n"
    )
    assert runner(project, "pillar.show_top", "web1") == {"base": {"*": ["all"], "os:web": [{"match": "grain"}, "one"]}}
    assert runner(project, "pillar.show_top")["base"]["*"] == ["all"]
    assert project.run("runner", "pillar.show_top", "nobody").code == 2
    project.write("pillar/top.sls", "base: [a\n")
    [text] = runner(project, "pillar.show_top", "web1")
    assert "top.sls failed" in text


def test_banks_of_ones_own(project):
    assert runner(project, "cache.fetch", "app/releases", "now") == {}
    assert runner(project, "cache.store", "app/releases", "now", "{version: 2, word: s3cr3t}") is None
    runner(project, "cache.store", "app", "name", "shop")
    assert runner(project, "cache.fetch", "app/releases", "now") == {"version": 2, "word": "s3cr3t"}
    assert runner(project, "cache.list", "app") == ["name", "releases"]
    assert runner(project, "cache.list", "app/releases/") == ["now"] and runner(project, "cache.list", "") == ["app"]
    assert runner(project, "cache.contains", "app", "name") and not runner(project, "cache.contains", "app", "now")
    assert runner(project, "cache.contains", "app/releases") and not runner(project, "cache.contains", "apps")
    assert runner(project, "cache.updated", "app", "name") > 1_600_000_000
    assert runner(project, "cache.updated", "app", "none") is None
    assert all(b"s3cr3t" not in path.read_bytes() for path in (project.cache / "store").iterdir())
    assert runner(project, "cache.flush", "app", "name") and not runner(project, "cache.flush", "app", "name")
    assert runner(project, "cache.flush", "app") is True
    assert runner(project, "cache.list", "app") == [] and runner(project, "cache.flush", "app") is False
    assert project.run("grains", "web1", "--out", "quiet").code == 0
    assert runner(project, "cache.list", "grains") == ["web1"]
    assert runner(project, "cache.fetch", "grains", "web1")["id"] == "web1"
    done = project.run("runner", "cache.flush", "grains")
    assert done.code == 2 and "data of targets" in done.err


def test_single_states_on_the_controller(project):
    [[id, returns]] = runner(project, "state.orchestrate_single", "fun=test.nop", "name=x").items()
    assert id.endswith("_master") and returns["test_|-x_|-x_|-nop"]["result"] is True
    data = {"one": {"salt.function": [{"tgt": "web*"}, {"name": "test.ping"}]}, "two": {"test.nop": []}}
    [returns] = runner(project, "state.orchestrate_high", json.dumps(data)).values()
    assert returns["salt_|-one_|-test.ping_|-function"]["changes"]["ret"] == {"web1": True, "web2": True}
    [shown] = runner(project, "state.orchestrate_show_sls", "one").values()
    assert "nop" in shown["one"]["test"]
    done = project.run("runner", "state.event")
    assert done.code == 2 and "pushsalt events" in done.err
