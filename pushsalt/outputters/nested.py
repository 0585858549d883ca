"""A function's return as indented text, after Salt's ``nested`` (``pushsalt.display.nested``)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pushsalt.display.nested import lines
from pushsalt.display.style import draw
from pushsalt.display.trim import trimmed


def output(data: Any, *, color: bool = False, **kw: Any) -> str:
    """All of ``data``; target ids are keys like any other."""
    return draw(lines({id: trimmed(ret) for id, ret in data.items()} if isinstance(data, Mapping) else data), color)
