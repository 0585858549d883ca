"""Common code of the matchers for grains and pillar."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pushsalt.errors import UsageError
from thin.utils import data


def subdict_match(
    value: Mapping[str, Any], expr: Any, delimiter: str, *, regex: bool = False, exact: bool = False
) -> bool:
    """Whether ``key:value`` matches a mapping. Raises UsageError for an expression without value."""
    if delimiter not in str(expr):
        raise UsageError(f"{expr!r} has no {delimiter!r}", hint=f"write it like os{delimiter}Debian, key and value")
    return bool(data.subdict_match(value, str(expr), delimiter, regex_match=regex, exact_match=exact))
