"""Salt's Jinja filters, tests and globals, by topic. ``FILTERS``, ``TESTS`` and ``GLOBALS`` are registered.

Each module has ``FILTERS``, name -> function. Filters that read a machine's state are in ``target``, and call functions
of the target.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from functools import wraps
from typing import Any, Final

import jinja2.filters
import jinja2.utils
from jinja2 import pass_context
from jinja2.runtime import Context

from pushsalt.memo.reads import spoil
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

#: Filters that return another value each time: time and random numbers. Jinja evaluates filters of constants at compile
#: time, except those that get the context, and compiled templates are cached: so these filters get the context.
VOLATILE: Final = (
    "date_format",
    "gen_mac",
    "rand_str",
    "random_hash",
    "random_sample",
    "random_shuffle",
    "random_str",
    "strftime",
)


def _at_run_time(function: Callable[..., Any]) -> Callable[..., Any]:
    @pass_context
    @wraps(function)
    def call(context: Context, *args: Any, **kwargs: Any) -> Any:
        spoil(f"the filter {function.__name__} gives something else each time")
        return function(*args, **kwargs)

    return call


FILTERS.update({name: _at_run_time(FILTERS[name]) for name in VOLATILE})


@pass_context
def _random(context: Context, values: Any) -> Any:
    spoil("the filter random gives something else each time")
    return jinja2.filters.do_random(context, values)


def _lipsum(*args: Any, **kwargs: Any) -> Any:
    spoil("lipsum gives something else each time")
    return jinja2.utils.generate_lorem_ipsum(*args, **kwargs)


FILTERS["random"] = _random

TESTS: dict[str, Callable[..., Any]] = {
    "match": text.matches,
    "equalto": lambda value, other: value == other,
    "list": lambda value: isinstance(value, list),
}

GLOBALS: dict[str, Any] = {
    "odict": OrderedDict,
    "show_full_context": data.show_full_context,
    "ifelse": target.ifelse,
    "lipsum": _lipsum,
}
