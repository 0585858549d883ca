"""YAML into data; empty input gives an empty mapping."""

from __future__ import annotations

from typing import Any

from pushsalt.render.source import as_text
from pushsalt.yamlio import load_yaml


def render(data: Any, saltenv: str = "base", sls: str = "", **kwargs: Any) -> Any:
    return load_yaml(as_text(data), str(kwargs.get("tmplpath") or sls or "<text>")) or {}
