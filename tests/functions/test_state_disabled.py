"""SLS that state.disable forbids, and which SLS of the file roots a target uses."""

from __future__ import annotations

import pytest

from pushsalt.api import Client, JobOptions, Settings
from pushsalt.minion.minion import Minion
from pushsalt.modules.controller import Lowstate

FILES = {
    "pushsalt.yaml": "file_roots: {base: [salt], dev: [dev]}\npillar_roots: {base: [pillar]}\n",
    "inventory.yaml": "hosts: {it: {transport: local}}\n",
    "salt/top.sls": "base: {'*': [a, b.c]}\n",
    "salt/a.sls": "a: {test.nop: []}\n",
    "salt/b/c.sls": "c: {test.nop: []}\n",
    "salt/d.sls": "d: {test.nop: []}\n",
    "dev/e.sls": "e: {test.nop: []}\n",
}


@pytest.fixture
def call(tmp_path):
    for path, text in FILES.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    client = Client(Settings(config=tmp_path / "pushsalt.yaml", cache_dir=tmp_path / "cache"))
    target = client.project.inventory.targets["it"]

    def call(function, *args, grain="", **kwargs):
        told = []
        grains = {"os": "Debian", **({"state_runs_disabled": grain} if grain else {})}
        minion = Minion(client.project, target, JobOptions(), grains, lambda *call: told.append(call))
        value = minion.call(function, list(args), kwargs)
        if isinstance(value, Lowstate):
            value = [chunk["__id__"] for chunk in value.chunks]
        return (value, told) if function in ("state.disable", "state.enable") else value

    return call


def set_to(*names):
    return [("grains.setval", ["state_runs_disabled", list(names)], {})]


@pytest.mark.parametrize(
    "function, states, grain, said, told",
    [
        ("state.disable", "a,b", ["a"], "Info: a state already disabled.\nInfo: b state disabled.", set_to("a", "b")),
        ("state.disable", ["pkg.*"], "", "Info: pkg.* state disabled.", set_to("pkg.*")),
        ("state.disable", "a", ["a"], "Info: a state already disabled.", []),
        ("state.enable", "a,b", ["a"], "Info: a state enabled.\nInfo: b state already enabled.", set_to()),
        ("state.enable", "a", "", "Info: a state already enabled.", []),
    ],
)
def test_disable_and_enable(call, function, states, grain, said, told):
    assert call(function, states, grain=grain) == ({"res": True, "msg": said}, told)


def test_disabled_states_do_not_run(call):
    assert call("state.list_disabled", grain=["a"]) == ["a"] and call("state.list_disabled") == ""
    why = 'The state file "b.c" is currently disabled, to re-enable, run state.enable b.c.'
    assert call("state.sls", "a,b.c", grain=["b.c"]) == [why]
    why = 'The state file "b.c" is currently disabled by "b.*", to re-enable, run state.enable b.*.'
    assert call("state.apply", ["b.c"], grain=["b.*"]) == [why]
    assert call("state.sls", "a", grain=["b.c", "highstate"]) == ["a"]
    assert call("state.highstate", grain=["highstate"])["comment"] == "Disabled"


def test_a_whitelist_of_a_highstate(call):
    assert call("state.highstate") == ["a", "c"]
    assert call("state.apply", whitelist="b.c, d") == ["c"]


def test_usage(call):
    assert call("state.show_state_usage") == {
        "base": {"used": ["a", "b.c"], "unused": ["d", "top"], "count_all": 4, "count_used": 2, "count_unused": 2},
        "dev": {"used": [], "unused": ["e"], "count_all": 1, "count_used": 0, "count_unused": 1},
    }


def test_another_top_file(call, tmp_path):
    (tmp_path / "salt/other.sls").write_text("base: {'*': [d]}\n")
    assert call("state.top", "other.sls") == ["d"]
    assert call("state.highstate") == ["a", "c"]
