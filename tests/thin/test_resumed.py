"""A resumed orchestration takes over everything that succeeded, except reactions to failures."""

from __future__ import annotations

import pytest

from thin.requisites import Graph, tag_of
from thin.resumed import standing


def chunk(id, **requisites):
    return {"state": "test", "__id__": id, "name": id, "fun": "nop", "__sls__": "s", **requisites}


def after(*ids):
    return [{"test": id} for id in ids]


TREE = [
    chunk("a"),
    chunk("b", require=after("a")),
    chunk("undo", onfail=after("b")),
    chunk("tell", require=after("undo")),
    chunk("either", require_any=after("a", "b")),
    chunk("after", require=after("b")),
]


@pytest.mark.parametrize(
    "done, stand",
    [
        ([], []),
        (["a"], ["a"]),
        (["a", "undo", "tell", "either"], ["a", "either"]),
        (["a", "b", "undo", "tell", "either"], ["a", "b", "undo", "tell", "either"]),
        (["a", "gone"], ["a"]),
    ],
)
def test_what_stands(done, stand):
    graph = Graph({tag_of(low): low for low in TREE})
    returns = {tag_of(chunk(id)): {"result": True, "changes": {"id": id}} for id in done}
    found = standing(graph, TREE, returns)
    assert found == {tag_of(chunk(id)): {"result": True, "changes": {"id": id}} for id in stand}
