"""A regular expression over the value of a pillar key. Salt: salt.matchers.pillar_pcre_match."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pushsalt.targeting.nested import subdict_match

LETTER = "J"
SOURCE = "pillar"


def match(expr: Any, value: Mapping[str, Any], delimiter: str = ":") -> bool:
    return subdict_match(value, expr, delimiter, regex=True)
