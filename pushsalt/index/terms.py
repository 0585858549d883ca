"""Salt's rules for ``grain:pattern``, in a form that can be evaluated for a shape instead of each value.

``matches`` is ``salt.utils.data.subdict_match``: it tries every split of the expression into path and pattern, and one
match is enough. The comparison of texts is an argument (``Same``). The result is a disjunction of comparisons: a caller
may record those that a shape does not decide, and return False for each; the value matches if any of them does.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from thin.utils import data

Same = Callable[[Any, str], bool]


class Manner(NamedTuple):
    """The kind of a pattern: a glob by default."""

    regex: bool = False
    exact: bool = False


def matches(value: Any, expr: str, delimiter: str, same: Same) -> bool:
    """Whether ``path:pattern`` matches a mapping."""
    if expr.split(delimiter)[0] == "*" and delimiter in expr and value and _in_dict(value, expr, same):
        return True
    return matches_below(value, expr, delimiter, same)


def matches_below(value: Any, expr: str, delimiter: str, same: Same) -> bool:
    """As ``matches``, without ``*`` for any key of the first level."""
    parts = expr.split(delimiter)
    for cut in range(len(parts) - 1, 0, -1):
        path, pattern = delimiter.join(parts[:cut]), delimiter.join(parts[cut:])
        if path == "*":
            continue
        at = data.traverse_dict_and_list(value, path, {}, delimiter)
        if isinstance(at, dict):
            if at and _in_dict(at, pattern, same):
                return True
        elif isinstance(at, list | tuple):
            if any((isinstance(item, dict) and _in_dict(item, pattern, same)) or same(item, pattern) for item in at):
                return True
        elif same(at, pattern):
            return True
    return False


def _in_dict(value: Mapping[Any, Any], pattern: str, same: Same) -> bool:
    wildcard, pattern = below_any(pattern)
    if pattern == "*" or pattern in value or any(same(key, pattern) for key in value):
        return True
    if matches(value, pattern, data.DELIMITER, same):
        return True
    return wildcard and any(under_any(item, pattern, same) for item in value.values())


def below_any(pattern: str) -> tuple[bool, str]:
    """Whether the pattern begins with ``*:``, and the rest."""
    return pattern.startswith("*:"), pattern.removeprefix("*:")


def under_any(item: Any, pattern: str, same: Same) -> bool:
    """Whether the value of any key matches the pattern after ``*:``."""
    if isinstance(item, dict):
        return _in_dict(item, pattern, same)
    if isinstance(item, list):
        return any(same(one, pattern) for one in item)
    return same(item, pattern)


def comparison(manner: Manner) -> Same:
    """Salt's comparison of texts, case-insensitive."""
    return lambda value, pattern: bool(compiled(pattern, manner)(str(value).lower()))


@lru_cache(maxsize=512)
def compiled(pattern: str, manner: Manner) -> Callable[[str], object]:
    """A function for lower-case texts; returns a falsy value for no match."""
    pattern = pattern.lower()
    if manner.regex:
        try:
            return re.compile(pattern).match
        except (re.error, OverflowError, RecursionError):
            return lambda text: None
    if manner.exact:
        return pattern.__eq__
    return re.compile(fnmatch.translate(pattern)).match


@lru_cache(maxsize=512)
def scanner(pattern: str) -> re.Pattern[str] | None:
    """A pattern that finds the values that match a glob in a text of values between NULs; None for globs with
    brackets."""
    pattern = pattern.lower()
    if "[" in pattern or "\0" in pattern:
        return None
    pieces = re.split(r"(\*+|\?)", pattern)
    inner = "".join({"*": "[^\0]*", "?": "[^\0]"}.get(piece[:1]) or re.escape(piece) for piece in pieces)
    return re.compile(f"\0{inner}(?=\0)")
