"""Random state trees: what runs, in which order, with which results and comments, is what real Salt does."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, event, given, note, settings

from tests.differential.both import EXAMPLES, Both, difference
from tests.differential.trees import Tree, trees


@pytest.mark.timeout(0)
@settings(max_examples=EXAMPLES, database=None, print_blob=True, suppress_health_check=list(HealthCheck))
@given(tree=trees())
def test_random_trees(both: Both, tree: Tree) -> None:
    """``--hypothesis-show-statistics`` tells how many trees ran and how many Salt refused."""
    theirs, ours = both.run(tree)
    event("refused" if isinstance(theirs, list) else "Salt itself fails" if "raised" in theirs else "run")
    found = difference(theirs, ours)
    if found:
        note(f"{tree}\n{found}")
        raise AssertionError(found)
