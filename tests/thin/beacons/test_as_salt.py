"""Validation and events of beacons equal Salt's for the same state of the machine."""

from __future__ import annotations

import copy

import pytest

from tests.beds import beaconfacts

CASES = list(zip(beaconfacts.inputs(), beaconfacts.answers(), strict=True))


@pytest.mark.parametrize(
    "case, expected", CASES, ids=[f"{case['module']}-{number}" for number, (case, _) in enumerate(CASES)]
)
def test_validation_and_events_equal_salts(monkeypatch, load, case, expected):
    salt = {}
    functions = load(salt)
    module = case["module"]
    validate, evaluate = functions[f"{module}.validate"], functions[f"{module}.beacon"]
    valid = validate(copy.deepcopy(case["config"]))
    events = []
    for step in case["steps"] if valid[0] else ():
        beaconfacts.patch_machine(monkeypatch, step)
        salt.update(beaconfacts.functions(step))
        events.append(evaluate([*copy.deepcopy(case["config"]), {"_beacon_name": module}]))
    assert beaconfacts.comparable({"valid": valid, "events": events}) == beaconfacts.comparable(expected)
