"""One JSON object, ``{target id: return}``: strict, UTF-8, one line per target; indented on a terminal.

Large values are written in pieces, so that the text of a target's 16 MiB is never in memory as a whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from json import JSONEncoder
from typing import Any, Final

from pushsalt.display.safe import DEPTH_LIMIT, is_heavy, named, plain, slices, unicode_escape

_COMPACT = JSONEncoder(ensure_ascii=False, allow_nan=False, check_circular=False)
_INDENTED = JSONEncoder(ensure_ascii=False, allow_nan=False, check_circular=False, indent=4)
_STEP: Final = 4
#: Limit for the characters of a piece; larger values are split.
PIECE: Final = 128 * 1024
VALUES: Final = 20_000


def output(data: Any, *, terminal: bool = False, **kw: Any) -> str:
    """The object as text. A value that is no mapping is written as it is (``pushsalt target``: a list)."""
    return "".join(pieces(data, terminal=terminal))


def pieces(data: Any, *, terminal: bool = False, **kw: Any) -> Iterator[str]:
    """The output in pieces."""
    if not isinstance(data, Mapping) or not data:
        value = plain(data)
        yield (unicode_escape(_INDENTED.encode(value)) if terminal else dumps(value)) + "\n"
        return
    before = "{\n"
    for id, ret in named(data):
        if is_heavy(ret, PIECE, VALUES):
            yield f"{before}{' ' * _STEP if terminal else ''}{dumps(id)}: "
            yield from heavy(ret, 1 if terminal else None)
        elif terminal:
            yield before + unicode_escape(_INDENTED.encode({id: plain(ret)}))[2:-2]
        else:
            yield f"{before}{dumps(id)}: {dumps(plain(ret))}"
        before = ",\n"
    yield "\n}\n"


def heavy(value: Any, level: int | None = None, depth: int = 0) -> Iterator[str]:
    """A large value in pieces; ``level`` of indentation, or None for one line."""
    if isinstance(value, str | bytes) and len(value) > PIECE:
        yield '"'
        for piece in slices(value, PIECE):
            yield dumps(piece)[1:-1]
        yield '"'
    elif _is_light(value, level, depth):
        yield dumps(plain(value, depth))
    else:
        inner = None if level is None else level + 1
        begin = "" if inner is None else "\n" + " " * _STEP * inner
        separator = begin
        opening, closing = "{}" if isinstance(value, Mapping) else "[]"
        yield opening
        for key, item in named(value) if isinstance(value, Mapping) else ((None, item) for item in value):
            yield separator if key is None else f"{separator}{dumps(key)}: "
            yield from heavy(item, inner, depth + 1)
            separator = f",{begin}" if begin else ", "
        yield f"{begin[:-_STEP]}{closing}" if begin else closing


def _is_light(value: Any, level: int | None, depth: int) -> bool:
    if depth > DEPTH_LIMIT or not isinstance(value, Mapping | list | tuple) or not value:
        return True
    return level is None and not is_heavy(value, PIECE, VALUES)


def dumps(value: Any) -> str:
    """A value that ``plain`` made, on one line."""
    return unicode_escape(_COMPACT.encode(value))
