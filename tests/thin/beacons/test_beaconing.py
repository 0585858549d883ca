"""Which beacons are evaluated when, and what becomes of their events and errors."""

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
def made(load, clock):
    """Makes ``Beacons`` of a configuration; ``texts``: users' own beacons."""

    def make(config, **texts):
        own = MemoryRuntime({f"thin.beacons.{name}": text for name, text in texts.items()})
        modules = load(overlays=[own])
        found = beaconing.Beacons(modules, config, "web1")
        found.modules = modules
        return found

    return make


def calls(found, name="counts"):
    return found.modules[f"{name}.beacon"].__globals__["calls"]


def test_events_have_the_name_the_tag_and_the_id(made):
    found = made({"counts": [{"a": 1}]}, counts=COUNTS)
    assert found.poll(0, "") == [{"name": "counts", "tag": "x/y", "data": {"n": 1, "id": "web1"}}]


def test_each_second_or_at_its_interval(made, clock):
    found = made({"counts": [{}], "slow": [{"beacon_module": "counts"}, {"interval": 5}]}, counts=COUNTS)
    names = []
    while clock[0] < 1010:
        names += [event["name"] for event in found.poll(30, "")]
    assert names.count("counts") == 11 and names.count("slow") == 2


def test_a_poll_without_events_ends_in_time(made, clock):
    found = made({"quiet": [{"interval": 3}]}, quiet="def beacon(config): return []\n")
    assert found.poll(10, "") == [] and clock[0] == pytest.approx(1010)


def test_options_of_all_beacons_are_not_passed_on(made, clock):
    given = [{"interval": 1, "a": 1}, {"disable_during_state_run": True}, {"enabled": True}, {"run_once": False}]
    found = made({"counts": given}, counts=COUNTS)
    found.poll(5, "")
    assert calls(found)[0] == [{"a": 1}, {"run_once": False}, {"_beacon_name": "counts"}]


def test_disabled_beacons_are_not_evaluated(made):
    assert made({"counts": [{"enabled": False}]}, counts=COUNTS).active == []
    assert made({"enabled": False, "counts": [{}]}, counts=COUNTS).active == []
    assert made(["counts"]).active == []


def test_run_once(made):
    found = made({"counts": [{"run_once": True}]}, counts=COUNTS)
    assert len(found.poll(0, "")) == 1 and found.active == [] and found.poll(0, "") == []
    assert calls(found)[-1] == "closed"


@pytest.mark.parametrize(
    "given, text",
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
def test_a_wrong_configuration_is_said_once_and_the_others_go_on(made, lines, given, text):
    given = {**given, "good": [{"beacon_module": "counts"}]}
    raises = "def validate(config): raise KeyError('odd')\ndef beacon(config): return []\n"
    found = made(given, counts=COUNTS, plain="def beacon(config): return []\n", raises=raises)
    assert [beacon.name for beacon in found.active] == ["good"]
    [said] = [line for level, line in lines if level == "ERROR"]
    assert "configuration is invalid" in said and text in said


def test_an_error_is_an_event_once_for_each_text(made, clock, lines):
    text = "words = ['a', 'a', 'b', '', 'b']\ndef beacon(config):\n    word = words.pop(0)\n"
    found = made({"fails": [{}]}, fails=text + "    if word: raise ValueError(word)\n    return []\n")
    errors = []
    for _ in range(5):
        errors += [event["data"]["error"] for event in found.poll(0, "")]
        clock[0] += 1
    assert errors == ["ValueError: a", "ValueError: b", "ValueError: b"]
    assert len([line for level, line in lines if level == "ERROR"]) == 3


@pytest.mark.parametrize(
    "value, shown",
    [
        ("b'\\xff'", "\ufffd"),
        ("{1, 2}", [1, 2]),
        ("object", "<class 'object'>"),
        ("(1, None)", [1, None]),
        ("{3: 4}", {3: 4}),
    ],
)
def test_data_is_plain(made, value, shown):
    found = made({"odd": [{}]}, odd=f"def beacon(config): return [{{'v': {value}}}]\n")
    assert found.poll(0, "")[0]["data"]["v"] == shown


@pytest.mark.parametrize("value", ["'x' * 300000", "['x' * 9000] * 30", "5", "[]"])
def test_too_large_and_shapeless_events_are_errors(made, value):
    data = f"{{'v': {value}}}" if "x" in value else value
    found = made({"large": [{}]}, large=f"def beacon(config): return [{data}]\n")
    [event] = found.poll(0, "")
    assert "ValueError" in event["data"]["error"]


def test_too_many_events_are_left_out(made, lines):
    found = made({"many": [{}]}, many="def beacon(config): return [{'n': n} for n in range(1200)]\n")
    assert len(found.poll(0, "")) == 1000
    assert any("200 of its events were dropped" in line for _, line in lines)


def test_data_that_contains_itself_ends(made):
    found = made({"loop": [{}]}, loop="def beacon(config):\n    data = {}\n    data['x'] = data\n    return [data]\n")
    assert found.poll(0, "")[0]["name"] == "loop"


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's table of locks is Linux's")
def test_off_while_states_run(made, clock, tmp_path):
    lock = tmp_path / "lock"
    lock.touch()
    found = made({"counts": [{"disable_during_state_run": True}]}, counts=COUNTS)
    with open(lock) as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert beaconing.is_locked(str(lock))
        assert found.poll(3, str(lock)) == [] and set(calls(found)) == {"closed"}
    clock[0] += 1
    assert len(found.poll(0, str(lock))) == 1
    assert not beaconing.is_locked(str(tmp_path / "none"))


def test_the_module(make_loaders, lines, clock):
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
    found = functions["beacons.poll"](beacons={"memusage": [{"percent": 0}]})
    assert found["beacons"] == ["memusage", "load", "ps"]
    assert {event["name"] for event in found["events"]} == {"memusage", "load", "ps"}


def test_a_target_without_beacons_says_so(make_loaders):
    assert make_loaders().modules["beacons.poll"](10) == {"beacons": [], "events": []}
