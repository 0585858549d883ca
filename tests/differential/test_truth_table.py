"""The recorded truth table of the requisites equals that of real Salt. ``RECORD=1`` writes it again."""

from __future__ import annotations

import os
from pathlib import Path

from tests.differential import truth_table
from tests.differential.both import Both

RECORDED = Path(__file__).parents[1] / "cases" / "requisites" / "truth_table.txt"


def test_the_recorded_truth_table_is_salts(both: Both) -> None:
    rows = []
    for test in (False, True):
        theirs, _ = both.run(truth_table.tree(test))
        rows += truth_table.lines(theirs, test)
    if os.environ.get("RECORD"):
        RECORDED.parent.mkdir(parents=True, exist_ok=True)
        RECORDED.write_text("\n".join(rows) + "\n", encoding="utf-8")
    assert rows == RECORDED.read_text(encoding="utf-8").splitlines()
