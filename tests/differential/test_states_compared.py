"""The page of compared states equals its record, and every state function has a case or a reason to have none."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from tests.differential.casefiles import load_all

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "states_compared.py"
_spec = importlib.util.spec_from_file_location("states_compared", SCRIPT)
assert _spec is not None and _spec.loader is not None
compared = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(compared)


def test_the_page_equals_the_record():
    assert compared.PAGE.read_text(encoding="utf-8") == compared.page(compared._read()), (
        "docs/states-compared.md is not what scripts/states_compared.py makes of tests/differential/record.json"
    )


def test_every_state_function_is_in_some_case_file():
    missing = set(compared.shipped()) - compared.named(load_all())
    assert not missing, f"no case in tests/differential/cases, nor under `not_comparable`: {sorted(missing)}"


def test_no_frequently_used_function_differs():
    record = compared._read()
    standings = {function: compared.standing(function, record)[0] for function in compared.top(record)}
    assert not [function for function, standing in standings.items() if standing == "different"]
