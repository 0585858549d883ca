"""A resumed orchestration takes over everything that succeeded, except reactions to failures."""

from __future__ import annotations

import pytest

from thin.requisites import Graph, tag_of
from thin.resumed import standing


def chunk(id, **requisites):
    return {"state": "test", "__id__": id, "name": id, "fun": "nop", "__sls__": "s", **requisites}


def references(*ids):
    return [{"test": id} for id in ids]


TREE = [
    chunk("a"),
    chunk("b", require=references("a")),
    chunk("undo", onfail=references("b")),
    chunk("tell", require=references("undo")),
    chunk("either", require_any=references("a", "b")),
    chunk("after", require=references("b")),
]


@pytest.mark.parametrize(
    "succeeded, standing_ids",
    [
        ([], []),
        (["a"], ["a"]),
        (["a", "undo", "tell", "either"], ["a", "either"]),
        (["a", "b", "undo", "tell", "either"], ["a", "b", "undo", "tell", "either"]),
        (["a", "gone"], ["a"]),
    ],
)
def test_states_that_a_resumed_run_takes_over(succeeded, standing_ids):
    graph = Graph({tag_of(low): low for low in TREE})
    returns = {tag_of(chunk(id)): {"result": True, "changes": {"id": id}} for id in succeeded}
    standing_returns = standing(graph, TREE, returns)
    assert standing_returns == {tag_of(chunk(id)): {"result": True, "changes": {"id": id}} for id in standing_ids}
