"""One JSON object, ``{target id: return}``: strict, UTF-8, one line a target; indented when a person looks at it."""

from __future__ import annotations

from json import JSONEncoder
from typing import Any

from pushsalt.display.safe import plain, unicode_escape

_COMPACT = JSONEncoder(ensure_ascii=False, allow_nan=False, check_circular=False)
_INDENTED = JSONEncoder(ensure_ascii=False, allow_nan=False, check_circular=False, indent=4)


def output(data: Any, *, terminal: bool = False, **kw: Any) -> str:
    """The object as text. A value that is no mapping is written as it is (``pushsalt target``: a list)."""
    value = plain(data)
    if terminal:
        return unicode_escape(_INDENTED.encode(value)) + "\n"
    if not isinstance(value, dict) or not value:
        return dumps(value) + "\n"
    rows = (f"{dumps(id)}: {dumps(ret)}" for id, ret in value.items())
    return "{\n" + ",\n".join(rows) + "\n}\n"


def dumps(value: Any) -> str:
    """A value that ``plain`` made, on one line."""
    return unicode_escape(_COMPACT.encode(value))
