"""JSON into data; empty input gives an empty mapping. A first line with the renderers' names is skipped."""

from __future__ import annotations

import json
from typing import Any

from pushsalt.render.problems import refused
from pushsalt.render.source import as_text


def render(data: Any, saltenv: str = "base", sls: str = "", **kwargs: Any) -> Any:
    text = as_text(data)
    first, _, rest = text.partition("\n")
    skipped = 1 if first.startswith("#!") else 0
    if skipped:
        text = rest
    if not text.strip():
        return {}
    try:
        return json.loads(text)
    except json.JSONDecodeError as exc:
        raise refused(data, f"JSON: {exc.msg} at column {exc.colno}", exc.lineno + skipped, exc.colno) from None
