"""When beacons are evaluated, and how their events and errors are reported."""

from __future__ import annotations

import fcntl
import sys

import pytest

from tests.thin.memory_runtime import MemoryRuntime
from thin.utils.system import beaconing

COUNTS = """
calls = []
def validate(config):
    return isinstance(config, list), "no list"
def beacon(config):
    calls.append(config)
    return [{"n": len(calls), "tag": "x/y"}]
def close(config):
    calls.append("closed")
"""


@pytest.fixture
def make_beacons(load, clock):
    """A function that creates ``Beacons`` of a configuration; ``texts``: users' own beacons."""

    def make(config, **texts):
        own = MemoryRuntime({f"thin.beacons.{name}": text for name, text in texts.items()})
        modules = load(overlays=[own])
        beacons = beaconing.Beacons(modules, config, "web1")
        beacons.modules = modules
        return beacons

    return make


def calls(beacons, name="counts"):
    return beacons.modules[f"{name}.beacon"].__globals__["calls"]


def test_events_have_the_name_and_tag_of_the_beacon_and_the_id(make_beacons):
    beacons = make_beacons({"counts": [{"a": 1}]}, counts=COUNTS)
    assert beacons.poll(0, "") == [{"name": "counts", "tag": "x/y", "data": {"n": 1, "id": "web1"}}]


def test_a_beacon_is_evaluated_each_second_or_at_its_interval(make_beacons, clock):
    beacons = make_beacons({"counts": [{}], "slow": [{"beacon_module": "counts"}, {"interval": 5}]}, counts=COUNTS)
    names = []
    while clock[0] < 1010:
        names += [event["name"] for event in beacons.poll(30, "")]
    assert names.count("counts") == 11 and names.count("slow") == 2


def test_a_poll_without_events_ends_in_time(make_beacons, clock):
    beacons = make_beacons({"quiet": [{"interval": 3}]}, quiet="def beacon(config): return []\n")
    assert beacons.poll(10, "") == [] and clock[0] == pytest.approx(1010)


def test_options_of_all_beacons_are_not_passed_on(make_beacons, clock):
    config = [{"interval": 1, "a": 1}, {"disable_during_state_run": True}, {"enabled": True}, {"run_once": False}]
    beacons = make_beacons({"counts": config}, counts=COUNTS)
    beacons.poll(5, "")
    assert calls(beacons)[0] == [{"a": 1}, {"run_once": False}, {"_beacon_name": "counts"}]


def test_disabled_beacons_are_not_evaluated(make_beacons):
    assert make_beacons({"counts": [{"enabled": False}]}, counts=COUNTS).active == []
    assert make_beacons({"enabled": False, "counts": [{}]}, counts=COUNTS).active == []
    assert make_beacons(["counts"]).active == []


def test_a_beacon_with_run_once_is_evaluated_once(make_beacons):
    beacons = make_beacons({"counts": [{"run_once": True}]}, counts=COUNTS)
    assert len(beacons.poll(0, "")) == 1 and beacons.active == [] and beacons.poll(0, "") == []
    assert calls(beacons)[-1] == "closed"


@pytest.mark.parametrize(
    "config, text",
    [
        ({"counts": {"a": 1}}, "no list"),
        ({"counts": "x"}, "no list"),
        ({"counts": ["x"]}, "list of dictionaries"),
        ({"plain": {"a": 1}}, "must be a list"),
        ({"nowhere": [{}]}, "nowhere"),
        ({"raises": [{}]}, "odd"),
        ({"counts": [{"interval": "soon"}]}, "soon"),
        ({"load": [{}]}, "Averages configuration is required"),
    ],
)
def test_an_invalid_configuration_is_logged_once_and_other_beacons_go_on(make_beacons, lines, config, text):
    config = {**config, "good": [{"beacon_module": "counts"}]}
    raises = "def validate(config): raise KeyError('odd')\ndef beacon(config): return []\n"
    beacons = make_beacons(config, counts=COUNTS, plain="def beacon(config): return []\n", raises=raises)
    assert [beacon.name for beacon in beacons.active] == ["good"]
    [error] = [line for level, line in lines if level == "ERROR"]
    assert "configuration is invalid" in error and text in error


def test_an_error_is_an_event_once_per_text(make_beacons, clock, lines):
    text = "words = ['a', 'a', 'b', '', 'b']\ndef beacon(config):\n    word = words.pop(0)\n"
    beacons = make_beacons({"fails": [{}]}, fails=text + "    if word: raise ValueError(word)\n    return []\n")
    errors = []
    for _ in range(5):
        errors += [event["data"]["error"] for event in beacons.poll(0, "")]
        clock[0] += 1
    assert errors == ["ValueError: a", "ValueError: b", "ValueError: b"]
    assert len([line for level, line in lines if level == "ERROR"]) == 3


@pytest.mark.parametrize(
    "value, plain",
    [
        ("b'\\xff'", "\ufffd"),
        ("{1, 2}", [1, 2]),
        ("object", "<class 'object'>"),
        ("(1, None)", [1, None]),
        ("{3: 4}", {3: 4}),
    ],
)
def test_data_is_converted_to_plain_types(make_beacons, value, plain):
    beacons = make_beacons({"odd": [{}]}, odd=f"def beacon(config): return [{{'v': {value}}}]\n")
    assert beacons.poll(0, "")[0]["data"]["v"] == plain


@pytest.mark.parametrize("value", ["'x' * 300000", "['x' * 9000] * 30", "5", "[]"])
def test_events_that_are_too_large_or_no_dict_are_errors(make_beacons, value):
    data = f"{{'v': {value}}}" if "x" in value else value
    beacons = make_beacons({"large": [{}]}, large=f"def beacon(config): return [{data}]\n")
    [event] = beacons.poll(0, "")
    assert "ValueError" in event["data"]["error"]


def test_events_above_the_limit_are_dropped(make_beacons, lines):
    beacons = make_beacons({"many": [{}]}, many="def beacon(config): return [{'n': n} for n in range(1200)]\n")
    assert len(beacons.poll(0, "")) == 1000
    assert any("200 of its events were dropped" in line for _, line in lines)


def test_recursive_data_does_not_loop(make_beacons):
    beacons = make_beacons(
        {"loop": [{}]}, loop="def beacon(config):\n    data = {}\n    data['x'] = data\n    return [data]\n"
    )
    assert beacons.poll(0, "")[0]["name"] == "loop"


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's table of locks is Linux's")
def test_a_beacon_can_be_disabled_while_states_run(make_beacons, clock, tmp_path):
    lock = tmp_path / "lock"
    lock.touch()
    beacons = make_beacons({"counts": [{"disable_during_state_run": True}]}, counts=COUNTS)
    with open(lock) as locked:
        fcntl.flock(locked, fcntl.LOCK_EX)
        assert beaconing.is_locked(str(lock))
        assert beacons.poll(3, str(lock)) == [] and set(calls(beacons)) == {"closed"}
    clock[0] += 1
    assert len(beacons.poll(0, str(lock))) == 1
    assert not beaconing.is_locked(str(tmp_path / "none"))


def test_the_beacons_module_lists_and_polls(make_loaders, lines, clock):
    opts = {"beacons": {"load": [{"averages": {"1m": [1e6, 2e6]}}]}}
    functions = make_loaders(
        opts=opts, pillar={"beacons": {"load": [], "ps": [{"processes": {"none": "stopped"}}]}}
    ).modules
    assert functions["beacons.list"](return_yaml=False) == {
        "ps": [{"processes": {"none": "stopped"}}],
        **opts["beacons"],
    }
    assert functions["beacons.list"](include_pillar=False).startswith("beacons:\n  load:\n")
    names = functions["beacons.list_available"](return_yaml=False)
    assert {"load", "ps", "inotify", "status", "service"} <= set(names)
    ret = functions["beacons.poll"](beacons={"memusage": [{"percent": 0}]})
    assert ret["beacons"] == ["memusage", "load", "ps"]
    assert {event["name"] for event in ret["events"]} == {"memusage", "load", "ps"}


def test_a_target_without_beacons_returns_empty_lists(make_loaders):
    assert make_loaders().modules["beacons.poll"](10) == {"beacons": [], "events": []}
