"""A glob over the value of a pillar key: ``role:web*``. Salt: salt.matchers.pillar_match."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pushsalt.targeting.nested import subdict_match

LETTER = "I"
SOURCE = "pillar"


def match(expr: Any, value: Mapping[str, Any], delimiter: str = ":") -> bool:
    return subdict_match(value, expr, delimiter)
