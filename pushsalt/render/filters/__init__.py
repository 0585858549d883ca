"""Salt's Jinja filters, tests and globals, by theme. ``FILTERS``, ``TESTS`` and ``GLOBALS`` are what is registered.

Each module has ``FILTERS``, a dict of names to functions. Filters that look at a machine look at the target: they are
in ``target`` and call its functions.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from pushsalt.render.filters import data, hashing, lists, network, serialize, target, text

FILTERS: dict[str, Callable[..., Any]] = {
    **text.FILTERS,
    **lists.FILTERS,
    **data.FILTERS,
    **hashing.FILTERS,
    **network.FILTERS,
    **target.FILTERS,
    **serialize.FILTERS,
}

TESTS: dict[str, Callable[..., Any]] = {
    "match": text.matches,
    "equalto": lambda value, other: value == other,
    "list": lambda value: isinstance(value, list),
}

GLOBALS: dict[str, Any] = {
    "odict": OrderedDict,
    "show_full_context": data.show_full_context,
    "ifelse": target.ifelse,
}
