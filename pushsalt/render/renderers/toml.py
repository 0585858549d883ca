"""TOML into data; empty input gives an empty mapping."""

from __future__ import annotations

import re
import sys
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

from pushsalt.render.problems import refused
from pushsalt.render.source import as_text


def render(data: Any, saltenv: str = "base", sls: str = "", **kwargs: Any) -> Any:
    text = as_text(data)
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as exc:
        match = re.search(r"\(at line (\d+), column (\d+)\)", str(exc))
        line, column = map(int, match.groups()) if match else (len(text.rstrip().splitlines()), 1)
        raise refused(data, f"TOML: {exc}", line, column) from None
