"""YAML with ``!aggregate`` and ``!reset`` into data: see pushsalt.render.yamlex. Nothing at all is an empty mapping."""

from __future__ import annotations

from typing import Any

from pushsalt.render.source import as_text
from pushsalt.render.yamlex import load_yamlex


def render(data: Any, saltenv: str = "base", sls: str = "", **kwargs: Any) -> Any:
    return load_yamlex(as_text(data), str(kwargs.get("tmplpath") or sls or "<text>")) or {}
