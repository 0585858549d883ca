"""TOML into data; nothing at all is an empty mapping."""

from __future__ import annotations

import re
import sys
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

from pushsalt.render.problems import SourceError
from pushsalt.render.source import Origin, as_text


def render(data: Any, saltenv: str = "base", sls: str = "", **kwargs: Any) -> Any:
    text = as_text(data)
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as exc:
        found = re.search(r"\(at line (\d+), column \d+\)", str(exc))
        line = int(found.group(1)) if found else text.count("\n") + 1
        path = str(kwargs.get("tmplpath") or sls or "<text>")
        raise SourceError(f"TOML: {exc}", [Origin(path, line, text)]) from None
