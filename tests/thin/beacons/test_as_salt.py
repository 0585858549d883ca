"""Beacons validate and find what Salt's do, for the same facts about the machine."""

from __future__ import annotations

import copy

import pytest

from tests.beds import beaconfacts

CASES = list(zip(beaconfacts.inputs(), beaconfacts.answers(), strict=True))


@pytest.mark.parametrize(
    "case, salts", CASES, ids=[f"{case['module']}-{number}" for number, (case, _) in enumerate(CASES)]
)
def test_validation_and_events_are_salts(monkeypatch, load, case, salts):
    salt = {}
    functions = load(salt)
    module = case["module"]
    validate, evaluate = functions[f"{module}.validate"], functions[f"{module}.beacon"]
    valid = validate(copy.deepcopy(case["config"]))
    found = []
    for step in case["steps"] if valid[0] else ():
        beaconfacts.patch_machine(monkeypatch, step)
        salt.update(beaconfacts.functions(step))
        found.append(evaluate([*copy.deepcopy(case["config"]), {"_beacon_name": module}]))
    assert beaconfacts.comparable({"valid": valid, "events": found}) == beaconfacts.comparable(salts)
