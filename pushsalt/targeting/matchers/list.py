"""Ids separated by commas, or a list of them. Salt: salt.matchers.list_match."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

LETTER = "L"
SOURCE = "id"


def split(expr: Any) -> frozenset[str]:
    """The ids of a list expression."""
    return _split(expr) if isinstance(expr, str) else frozenset(str(item) for item in expr or ())


@lru_cache(maxsize=64)
def _split(expr: str) -> frozenset[str]:
    return frozenset(expr.split(","))


def match(expr: Any, value: Any) -> bool:
    if isinstance(expr, str) and "," in value:  # the id itself contains a comma
        return f",{value}," in f",{expr},"
    return bool(value) and value in split(expr)
