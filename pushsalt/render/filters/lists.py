"""Filters on lists. Salt: salt.utils.jinja, salt.utils.data."""

from __future__ import annotations

import hashlib
import itertools
import operator
import random
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

from pushsalt.render.filters.undefined import passes_undefined


def unique(values: Any) -> Any:
    """The values without duplicates: in order for a list, as a set for hashable values (a text, a tuple)."""
    if isinstance(values, Hashable):
        return set(values)  # type: ignore[call-overload]
    result: list[Any] = []
    for value in values:
        if value not in result:
            result.append(value)
    return result


def _both_hashable(first: Any, second: Any) -> bool:
    return isinstance(first, Hashable) and isinstance(second, Hashable)


def union(lst1: Any, lst2: Any) -> Any:
    return set(lst1) | set(lst2) if _both_hashable(lst1, lst2) else unique(lst1 + lst2)


def intersect(lst1: Any, lst2: Any) -> Any:
    if _both_hashable(lst1, lst2):
        return set(lst1) & set(lst2)
    return unique([value for value in lst1 if value in lst2])


def difference(lst1: Any, lst2: Any) -> Any:
    if _both_hashable(lst1, lst2):
        return set(lst1) - set(lst2)
    return unique([value for value in lst1 if value not in lst2])


def symmetric_difference(lst1: Any, lst2: Any) -> Any:
    if _both_hashable(lst1, lst2):
        return set(lst1) ^ set(lst2)
    common = intersect(lst1, lst2)
    return unique([value for value in union(lst1, lst2) if value not in common])


def average(values: Any) -> float:
    return float(values) if isinstance(values, Hashable) else float(sum(values) / len(values))  # type: ignore[arg-type]


def as_sequence(value: Any) -> Any:
    """The value in a list, unless it is a collection already."""
    return value if isinstance(value, list | tuple | set | dict) else [value]


def is_iter(value: Any, ignore: Any = (str,)) -> bool:
    if ignore and isinstance(value, tuple(ignore) if isinstance(ignore, list) else ignore):
        return False
    try:
        iter(value)
    except TypeError:
        return False
    return True


def flatten(values: Any, levels: int | None = None, preserve_nulls: bool = False, _ids: Any = None) -> list[Any]:
    """A flat list, or one with ``levels`` fewer levels; nulls are left out. A circular list is an error."""
    return _flatten(values, levels, preserve_nulls, set() if _ids is None else _ids)


def _flatten(values: Any, levels: int | None, preserve_nulls: bool, seen: set[int]) -> list[Any]:
    if id(values) in seen:
        raise RecursionError("Reference cycle detected. Check input list.")
    seen.add(id(values))
    result: list[Any] = []
    for value in values:
        if not preserve_nulls and value in (None, "None", "null"):
            continue
        if is_iter(value) and (levels is None or levels >= 1):
            result.extend(_flatten(value, None if levels is None else int(levels) - 1, preserve_nulls, seen))
        else:
            result.append(value)
    return result


def exactly_n_true(values: Iterable[Any], amount: int = 1) -> bool:
    return sum(1 for value in values if value) == operator.index(amount)


def substring_in_list(string_to_search_for: str, list_to_search: Iterable[str]) -> bool:
    return any(string_to_search_for in value for value in list_to_search)


def random_sample(values: Sequence[Any], size: int, seed: Any = None) -> list[Any]:
    """``size`` random values; the same ones for the same ``seed``."""
    if seed is None:
        return random.sample(values, size)
    data = seed.encode() if isinstance(seed, str) else seed
    return random.Random(hashlib.sha512(data).hexdigest()).sample(values, size)  # noqa: S311 - repeatable


def random_shuffle(values: Sequence[Any], seed: Any = None) -> list[Any]:
    return random_sample(values, len(values), seed=seed)


def compare_lists(old: Any = None, new: Any = None) -> dict[str, list[Any]]:
    """Values that only one of the lists has: ``{"new": […], "old": […]}``, without empty lists."""
    differences = {"new": [item for item in new if item not in old], "old": [item for item in old if item not in new]}
    return {which: items for which, items in differences.items() if items}


FILTERS: dict[str, Callable[..., Any]] = {
    "avg": average,
    "combinations": passes_undefined(itertools.combinations),
    "combinations_with_replacement": passes_undefined(itertools.combinations_with_replacement),
    "compare_lists": compare_lists,
    "compress": passes_undefined(itertools.compress),
    "difference": difference,
    "exactly_n_true": exactly_n_true,
    "exactly_one_true": lambda values: exactly_n_true(values),
    "flatten": flatten,
    "intersect": intersect,
    "is_iter": is_iter,
    "is_list": lambda value: isinstance(value, list),
    "max": lambda values: max(values),
    "min": lambda values: min(values),
    "permutations": passes_undefined(itertools.permutations),
    "product": passes_undefined(itertools.product),
    "random_sample": random_sample,
    "random_shuffle": random_shuffle,
    "sequence": as_sequence,
    "sorted_ignorecase": lambda values: sorted(values, key=lambda value: value.lower()),
    "substring_in_list": substring_in_list,
    "symmetric_difference": symmetric_difference,
    "union": union,
    "unique": unique,
    "zip": passes_undefined(zip),
    "zip_longest": passes_undefined(itertools.zip_longest),
}
