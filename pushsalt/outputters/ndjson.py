"""One JSON object a line and target, ``{target id: return}``, written as each target finishes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pushsalt.display.safe import plain
from pushsalt.outputters.json import dumps

stream = True


def output(data: Any, **kw: Any) -> str:
    """A line for each target. A value that is no mapping (``pushsalt target``) is a line an item."""
    value = plain(data)
    items = [{id: ret} for id, ret in value.items()] if isinstance(data, Mapping) else value
    return "".join(dumps(item) + "\n" for item in items)
