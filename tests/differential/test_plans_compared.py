"""The page of compared plans equals its record; every case that applies states is in it, and every plan was right."""

from __future__ import annotations

import importlib.util
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "plans_compared.py"
_spec = importlib.util.spec_from_file_location("plans_compared", SCRIPT)
assert _spec is not None and _spec.loader is not None
compared = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(compared)


def test_the_page_equals_the_record() -> None:
    assert compared.PAGE.read_text(encoding="utf-8") == compared.page(compared.read()), (
        "docs/plans-compared.md is not what scripts/plans_compared.py makes of tests/differential/plans.json"
    )


def test_every_plan_was_right() -> None:
    assert not [name for name, case in compared.read()["cases"].items() if not case["right"]]


def test_the_record_has_the_cases() -> None:
    cases = compared.cases()
    assert not set(compared.read()["cases"]) - set(cases), "cases that are gone: PLAN=1 make differential-states"
