"""JSON into data; nothing at all is an empty mapping. A first line with the renderers' names is skipped."""

from __future__ import annotations

import json
from typing import Any

from pushsalt.render.problems import SourceError
from pushsalt.render.source import Origin, as_text


def render(data: Any, saltenv: str = "base", sls: str = "", **kwargs: Any) -> Any:
    text = as_text(data)
    first, newline, rest = text.partition("\n")
    skipped = 1 if first.startswith("#!") else 0
    if skipped:
        text = rest
    if not text.strip():
        return {}
    try:
        return json.loads(text)
    except json.JSONDecodeError as exc:
        path = str(kwargs.get("tmplpath") or sls or "<text>")
        place = Origin(path, exc.lineno + skipped, first + newline + text if skipped else text)
        raise SourceError(f"JSON: {exc.msg} at column {exc.colno}", [place]) from None
