"""``pushsalt inventory``."""

import json

import pytest

from pushsalt import api

CLIENT = api.Client

INVENTORY = """
defaults: {user: deploy}
hosts:
  gate: {host: gate.example.org, passwd: hunter22}
  web1: {host: 192.0.2.1, jump: gate, pillar: {db_password: hunter33, port: 80}}
  here: {transport: local}
groups:
  web: {hosts: ['web*'], grains: {tier: front}}
"""


@pytest.fixture
def run(invoke, tmp_path, monkeypatch):
    monkeypatch.setattr(api, "Client", CLIENT)  # not the scripted client
    (tmp_path / "inv.yaml").write_text(INVENTORY)
    return lambda *words: invoke(
        "-i", str(tmp_path / "inv.yaml"), "--cache-dir", str(tmp_path / "c"), "inventory", *words
    )


def test_list(run):
    lines = run("list").out.splitlines()
    assert lines[0].split() == ["ID", "TRANSPORT", "ADDRESS", "GROUPS"]
    assert "web1  ssh        gate > deploy@192.0.2.1  web" in lines
    assert json.loads(run("list", "-G", "tier:front", "--out", "json").out) == {
        "web1": {
            "transport": "ssh",
            "host": "192.0.2.1",
            "port": None,
            "user": "deploy",
            "groups": ["web"],
            "jump": ["gate"],
        }
    }


def test_show_and_explain(run, tmp_path):
    shown = run("show", "web1", "--explain").out
    assert "user           deploy\n                 from " in shown
    assert "inv.yaml:2 (defaults)" in shown
    assert "inv.yaml:8 (group web)" in shown
    assert "hunter" not in shown + run("show", "gate").out + run("show", "gate", "--out", "json").out
    wrong = run("show", "web2")
    assert (wrong.code, "web1" in wrong.err) == (1, True)


def test_graph(run):
    assert run("graph").out.splitlines() == [
        "groups",
        "├── (no group)",
        "│   ├── gate",
        "│   └── here",
        "└── web",
        "    └── web1",
        "jump hosts",
        "└── gate",
        "    └── web1",
    ]


def test_check(run, tmp_path):
    assert run("check").out == "3 ids, 0 warnings\n"
    text = INVENTORY + "  extra: {hosts: [nobody]}\n"
    text = text.replace("  here:", "  web2: {host: 192.0.2.1, jump: gate, priv: /no/key, colour: red}\n  here:")
    (tmp_path / "inv.yaml").write_text(text)
    found = run("check")
    assert found.code == 2
    for words in ("unknown setting `colour`", "web2 and web1 are the same machine", "/no/key", "matches no host"):
        assert words in found.out


def test_where_each_key_is_from(run, tmp_path):
    (tmp_path / "inv.yaml").write_text(
        "defaults: {grains: {dc: a, gone: 1}}\n"
        "hosts:\n  web1:\n    pillar:\n      port: 80\n    grains:\n      rack: 7\n"
        "  web2: {grains: null}\n"
        "groups:\n  web: {hosts: ['web*'], grains: {tier: front}}\n"
    )
    shown = run("show", "web1", "--explain").out.replace(str(tmp_path) + "/", "")
    assert [line.split(None, 1) for line in shown.splitlines() if " from " in line] == [
        ["dc", "from inv.yaml:1 (defaults)"],
        ["gone", "from inv.yaml:1 (defaults)"],
        ["tier", "from inv.yaml:10 (group web)"],
        ["rack", "from inv.yaml:7 (host web1)"],
        ["from", "inv.yaml:5 (host web1)"],
    ]
    origin = json.loads(run("show", "web1", "--explain", "--out", "json").out)["web1"]["origin"]
    assert origin["grains.tier"].endswith("inv.yaml:10 (group web)")
    assert "grains" not in run("show", "web2", "--explain").out


def test_where_variables_of_ansible_are_from(run, tmp_path):
    for name, text in {
        "inv.yaml": "all:\n  vars:\n    ansible_connection: local\n  children:\n    web:\n      hosts:\n        w1:\n"
        "          own: 1\n      vars:\n        of_group: 2\n",
        "group_vars/web.yml": "# about\nport: 80\n",
        "host_vars/w1/a.yml": "ansible_user: deploy\nown: 3\n",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "ini").write_text("[web]\nw1 own=1 ansible_port=22\n[web:vars]\nof_group=2\n")

    def origin(*more):
        found = json.loads(run(*more, "show", "w1", "--explain", "--out", "json").out)["w1"]["origin"]
        return {name: place.removeprefix(f"{tmp_path}/").partition(" ")[0] for name, place in found.items()}

    own, group = "host_vars/w1/a.yml", "group_vars/web.yml"
    files = {"user": f"{own}:1", "pillar.own": f"{own}:2", "pillar.port": f"{group}:2"}
    found = origin()
    assert found.items() >= {**files, "transport": "inv.yaml:3", "pillar.of_group": "inv.yaml:10"}.items()
    (tmp_path / "ini").replace(tmp_path / "inv.yaml")
    assert origin().items() >= {**files, "port": "inv.yaml:2", "pillar.of_group": "inv.yaml:4"}.items()
