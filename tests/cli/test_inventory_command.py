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
    monkeypatch.setattr(api, "Client", CLIENT)  # not the scripted one
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
        "groups", "├── (no group)", "│   ├── gate", "│   └── here", "└── web", "    └── web1",
        "jump hosts", "└── gate", "    └── web1",
    ]  # fmt: skip


def test_check(run, tmp_path):
    assert run("check").out == "3 ids, 0 warnings\n"
    text = INVENTORY + "  extra: {hosts: [nobody]}\n"
    text = text.replace("  here:", "  web2: {host: 192.0.2.1, jump: gate, priv: /no/key, colour: red}\n  here:")
    (tmp_path / "inv.yaml").write_text(text)
    found = run("check")
    assert found.code == 2
    for words in ("unknown setting `colour`", "web2 and web1 are one machine", "/no/key", "matches no host"):
        assert words in found.out
