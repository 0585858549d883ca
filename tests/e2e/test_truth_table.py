"""Each requisite with every outcome of the states that it names: results equal those recorded from real Salt."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.beds.project import Project
from tests.differential import truth_table

RECORDED = Path(__file__).parents[1] / "cases" / "requisites" / "truth_table.txt"


@pytest.mark.parametrize("test", [False, True], ids=["run", "test"])
def test_results_equal_the_recorded_ones(tmp_path: Path, test: bool) -> None:
    project = Project(tmp_path, {"it": {"transport": "local"}})
    tree = truth_table.tree(test)
    project.files({f"salt/{path}": text for path, text in tree.texts().items()})
    done = project.json("apply", "it", "table", *(["--test"] if test else []))

    mode = "test " if test else "run "
    expected = [line for line in RECORDED.read_text(encoding="utf-8").splitlines() if line.startswith(mode)]
    assert len(expected) == len(list(truth_table.cells()))
    assert truth_table.lines(done.data["it"], test) == expected
