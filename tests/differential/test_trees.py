"""Random state trees: what runs, in which order, with which results and comments, is what real Salt does."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, note, settings

from tests.differential.both import Both, difference
from tests.differential.trees import Tree, trees


@pytest.mark.timeout(0)
def test_random_trees(both: Both, examples: int) -> None:
    @settings(
        max_examples=examples, deadline=None, database=None, print_blob=True, suppress_health_check=list(HealthCheck)
    )
    @given(trees())
    def same(tree: Tree) -> None:
        found = difference(*both.run(tree))
        if found:
            note(f"{tree}\n{found}")
            raise AssertionError(found)

    same()
