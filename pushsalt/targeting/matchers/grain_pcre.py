"""A regular expression over the value of a grain: ``os:(Debian|Ubuntu)``. Salt: salt.matchers.grain_pcre_match."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pushsalt.targeting.nested import subdict_match

LETTER = "P"
SOURCE = "grains"


def match(expr: Any, value: Mapping[str, Any], delimiter: str = ":") -> bool:
    return subdict_match(value, expr, delimiter, regex=True)
