"""``pushsalt target``: how --explain finds its id, and the output."""

import json

import pytest
import yaml

from pushsalt import api
from pushsalt.cli.target import explain_alone

VALUES = {"--out", "-i"}
CLIENT = api.Client


@pytest.mark.parametrize(
    "line, same",
    [
        ("web* --explain web1", True),
        ("--explain web1 web*", True),
        ("-i inv --explain web1 -G os:x", True),
        ("web* --explain", False),
        ("--explain web*", False),
        ("web* --explain --out json", False),
        ("--explain -i inv web*", False),
        ("--explain -- web*", False),
        ("web*", True),
    ],
)
def test_explain_takes_an_id_only_together_with_an_expression(line, same):
    args = line.split()
    found = explain_alone(args, VALUES)
    assert found == (args if same else [word if word != "--explain" else "--explain=" for word in args])


@pytest.fixture
def run(invoke, tmp_path, monkeypatch):
    monkeypatch.setattr(api, "Client", CLIENT)  # not the scripted client
    inventory, cache = tmp_path / "inv.yaml", tmp_path / "cache"
    inventory.write_text("hosts: {host1: {transport: local}, web1: {}}")
    found = {"machine": {"m1": {"grains": {"os": "Debian"}}, "\x1bm2": {}, "m2": {}}, "dummy": {"m1": {}}}
    CLIENT(api.Settings(inventories=[inventory], cache_dir=cache)).project.managed.register("host1", found)
    return lambda *words: invoke("-i", str(inventory), "--cache-dir", str(cache), *words)


def test_names_are_printed(run):
    assert run("target", "*").out == "host1\ndummy:m1\nmachine:m1\nm2\nweb1\n"
    assert run("target", "-C", "T@machine").out == "m1\nm2\n"
    assert json.loads(run("target", "*", "--out", "json").out) == ["dummy:m1", "host1", "m2", "machine:m1", "web1"]
    assert yaml.safe_load(run("target", "-C", "T@dummy", "--out", "yaml").out) == ["m1"]
    assert run("inventory", "list", "host*").out.splitlines()[1:] == ["host1  local      -"]


def test_resources_are_explained(run):
    first, type, os = run("target", "-C", "T@machine and G@os:Debian", "--explain", "machine:m1").out.splitlines()
    assert first == "machine:m1: matches"
    assert type.split(None, 2)[:2] == ["T@machine", "yes"] and '"machine:m1, managed by host1"' in type
    assert 'os = "Debian"  (cached grains' in os
    both = json.loads(run("target", "host*", "--explain", "m1", "--out", "json").out)
    assert {name: why["matches"] for name, why in both.items()} == {"dummy:m1": True, "machine:m1": True}
    wrong = run("target", "*", "--explain", "m9")
    assert wrong.code == 1 and "no target of it manages" in wrong.err and "nearest resources: machine:m" in wrong.err


def test_a_glob_that_resources_would_match(run):
    wrong = run("target", "m*")
    assert (wrong.code, wrong.out) == (1, "")
    assert "-C 'm*' selects dummy:m1, machine:m1, machine:m2" in wrong.err


def test_a_wildcard_that_the_shell_took_is_recognised(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = run("target", "inv.yaml")
    assert done.code == 1
    assert "inv.yaml is a file in this folder: quote wildcards" in done.err
