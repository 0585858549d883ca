"""thin.utils.dictupdate: strategies case by case, and properties for any data."""

from __future__ import annotations

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thin.utils.dictupdate import AggregatedSequence, aggregate, copy_containers, merge, update

A = {"k": {"a": 1, "l": [1, 1]}, "x": 1, "only": 0}
B = {"k": {"b": 2, "l": [2, 2, 1]}, "x": None}


@pytest.mark.parametrize(
    "strategy, renderer, lists, want",
    [
        ("smart", "jinja|yaml", False, {"k": {"a": 1, "l": [2, 2, 1], "b": 2}, "x": None, "only": 0}),
        ("recurse", "yaml", True, {"k": {"a": 1, "l": [1, 1, 2, 2], "b": 2}, "x": None, "only": 0}),
        ("none", "yaml", True, {"k": {"a": 1, "l": [2, 2, 1], "b": 2}, "x": None, "only": 0}),
        ("unknown", "yaml", True, {"k": {"a": 1, "l": [2, 2, 1], "b": 2}, "x": None, "only": 0}),
        ("overwrite", "yaml", True, {"k": {"b": 2, "l": [2, 2, 1]}, "x": None, "only": 0}),
        ("aggregate", "yaml", False, {"k": {"b": 2, "l": [2, 2, 1]}, "x": None, "only": 0}),
        ("smart", "jinja|yamlex", False, {"k": {"b": 2, "l": [2, 2, 1]}, "x": None, "only": 0}),
        ("smart", "yamlex_jinja", False, {"k": {"b": 2, "l": [2, 2, 1]}, "x": None, "only": 0}),
        ("list", "yaml", False, {"k": [A["k"], B["k"]], "x": [1, None], "only": 0}),
    ],
)
def test_strategies(strategy, renderer, lists, want):
    before = copy.deepcopy((A, B))
    assert merge(A, B, strategy, renderer, lists) == want
    assert before == (A, B)


def test_aggregate_joins_marked_values():
    assert merge({"l": AggregatedSequence([1, 2])}, {"l": AggregatedSequence([2, 3])}, "aggregate") == {"l": [1, 2, 3]}
    assert merge({"l": AggregatedSequence([1, 2])}, {"l": [2, 3]}, "aggregate") == {"l": [2, 3]}
    assert aggregate("first", "second", True) == ["first", "second"]
    assert aggregate({"a": {"b": [1]}}, {"a": {"b": [2]}}, True) == {"a": {"b": [1, 2]}}


def test_update_changes_its_first_argument_and_refuses_others():
    dest = {"a": {"b": 1}}
    assert update(dest, {"a": {"c": 2}}) is dest
    assert dest == {"a": {"b": 1, "c": 2}}
    assert update({"a": {"b": 1}}, {"a": {"c": 2}}, recursive_update=False) == {"a": {"c": 2}}
    with pytest.raises(TypeError, match="non-dict"):
        update([], {})
    with pytest.raises(TypeError, match="into the list 'a'"):
        update({"a": [1]}, {"a": {"b": 1}}, merge_lists=True, strict=True)


VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=2)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.sampled_from("abc"), inner, max_size=3)),
    max_leaves=12,
)
MAPS = st.dictionaries(st.sampled_from("abc"), VALUES, max_size=3)


@given(MAPS, MAPS, st.sampled_from(["recurse", "overwrite", "aggregate"]), st.booleans())
def test_merging_twice_is_merging_once(a, b, strategy, lists):
    before = copy.deepcopy((a, b))
    once = merge(a, b, strategy, merge_lists=lists)
    assert merge(once, b, strategy, merge_lists=lists) == once
    assert set(once) == set(a) | set(b)
    assert merge(a, {}, strategy) == a
    assert (a, b) == before


@given(VALUES)
def test_copies_are_equal_and_apart(value):
    copied = copy_containers(value)
    assert copied == value
    assert isinstance(value, (dict, list)) <= (copied is not value)
