"""Makes the result of a filter undefined if its input contains undefined values.

Salt: salt.utils.jinja._handle_strict_undefined.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any

from jinja2 import StrictUndefined


def passes_undefined(function: Callable[..., Any]) -> Callable[..., Any]:
    """``function``, but its result is undefined when its first argument has undefined values in it."""

    @wraps(function)
    def checked(value: Any, *args: Any, **kwargs: Any) -> Any:
        undefined: list[StrictUndefined] = []
        _collect(value, undefined, set())
        if undefined:
            return StrictUndefined("\n".join(str(item._undefined_message) for item in undefined))
        return function(value, *args, **kwargs)

    return checked


def _collect(value: Any, undefined: list[StrictUndefined], seen: set[int]) -> None:
    if isinstance(value, StrictUndefined):
        undefined.append(value)
    elif isinstance(value, Mapping):
        if id(value) not in seen:
            seen.add(id(value))
            for item in value.values():
                _collect(item, undefined, seen)
    elif isinstance(value, Sequence) and not isinstance(value, str | bytes) and id(value) not in seen:
        seen.add(id(value))
        for item in value:
            _collect(item, undefined, seen)
