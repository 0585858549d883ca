"""The exact value of a pillar key, without wildcards. Salt: salt.matchers.pillar_exact_match."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pushsalt.targeting.nested import subdict_match

LETTER = ""
SOURCE = "pillar"


def match(expr: Any, value: Mapping[str, Any], delimiter: str = ":") -> bool:
    return subdict_match(value, expr, delimiter, exact=True)
