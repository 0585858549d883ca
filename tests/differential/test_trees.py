"""Random state trees: states, their order, results and comments equal those of real Salt."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, event, given, note, settings

from tests.differential.both import EXAMPLES, Both, difference
from tests.differential.trees import Tree, tree_of, trees

SEED = os.environ.get("SEED") or "0"
PARTS = 10  # for parallel test processes


@pytest.mark.timeout(0)
@pytest.mark.parametrize("part", range(PARTS))
def test_random_trees(both: Both, part: int) -> None:
    """The trees of a seed are the same on every machine; those of hypothesis depend on installed and loaded
    packages.
    """
    for number in range(part, EXAMPLES, PARTS):
        tree = tree_of(f"{SEED}.{number}")
        differences = difference(*both.run(tree))
        assert not differences, f"tree {number} of seed {SEED}:\n{tree}\n{differences}"


@pytest.mark.timeout(0)
@pytest.mark.skipif("SHRINK" not in os.environ, reason="for a small tree with a difference: SHRINK=1 make differential")
@settings(max_examples=EXAMPLES, database=None, print_blob=True, suppress_health_check=list(HealthCheck))
@given(tree=trees())
def test_drawn_trees(both: Both, tree: Tree) -> None:
    """``--hypothesis-show-statistics`` shows how many trees ran and how many Salt refused."""
    theirs, ours = both.run(tree)
    event("refused" if isinstance(theirs, list) else "Salt itself fails" if "raised" in theirs else "run")
    differences = difference(theirs, ours)
    if differences:
        note(f"{tree}\n{differences}")
        raise AssertionError(differences)
