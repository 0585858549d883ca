"""The recorded truth table of the requisites equals that of real Salt. ``RECORD=1`` writes it again."""

from __future__ import annotations

import os
from pathlib import Path

from tests.differential import truth_table
from tests.differential.both import Both

RECORDED = Path(__file__).parents[1] / "cases" / "requisites" / "truth_table.txt"


def test_recorded_from_salt(both: Both) -> None:
    found = []
    for test in (False, True):
        theirs, _ = both.run(truth_table.tree(test))
        found += truth_table.lines(theirs, test)
    if os.environ.get("RECORD"):
        RECORDED.parent.mkdir(parents=True, exist_ok=True)
        RECORDED.write_text("\n".join(found) + "\n", encoding="utf-8")
    assert found == RECORDED.read_text(encoding="utf-8").splitlines()
