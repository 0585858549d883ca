"""One JSON object a line and target, ``{target id: return}``, written as each target finishes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pushsalt.display.safe import is_heavy, named, plain
from pushsalt.outputters.json import PIECE, VALUES, dumps, heavy

stream = True


def output(data: Any, **kw: Any) -> str:
    """A line for each target. Of a value that is no mapping (``pushsalt target``), a line for each item."""
    return "".join(pieces(data))


def pieces(data: Any, **kw: Any) -> Iterator[str]:
    """The output in pieces."""
    if not isinstance(data, Mapping):
        yield "".join(dumps(item) + "\n" for item in plain(data))
        return
    for id, ret in named(data):
        if is_heavy(ret, PIECE, VALUES):
            yield "{" + dumps(id) + ": "
            yield from heavy(ret)
            yield "}\n"
        else:
            yield dumps({id: plain(ret)}) + "\n"
