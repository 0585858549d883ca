"""The ids in a group of the inventory: ``N@name`` in an expression, unless a nodegroup has the name."""

from __future__ import annotations

from typing import Any

LETTER = "N"
SOURCE = "subject"


def match(expr: Any, value: Any) -> bool:
    return str(expr) in value.groups
