"""A function's return as indented text, like that of Salt's outputter ``nested``.

It consists of ``key: value``, ``- item`` and blocks of lines, with sorted keys.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import Any

from pushsalt.display.safe import DEPTH_LIMIT, plain
from pushsalt.display.style import Line, Span, block, line

STEP = 4


def lines(value: Any, indent: int = 0) -> list[Line]:
    """The lines for ``value``, indented by ``indent`` columns."""
    short = inline(value)
    if short is not None:
        return [line(short, indent=indent)]
    match value:
        case str():
            return block(_from_source(value), indent=indent)
        case bytes():
            return block(value.decode("utf-8", "backslashreplace"), indent=indent)
        case _ if indent > DEPTH_LIMIT * STEP:
            return [line(("...", "dim"), indent=indent)]
        case Mapping():
            return [row for key in sorted(value, key=str) for row in _entry(key, value[key], indent)]
        case _:
            return [row for item in value for row in _item(item, indent)]


def _from_source(text: str) -> str:
    """A docstring without its indentation; other texts unchanged."""
    if not text.startswith("\n") or text.startswith("\n\n") or not text.strip():
        return text
    inner = [row for row in text.split("\n") if row.strip()]
    return textwrap.dedent(text).strip("\n").rstrip() if all(row.startswith("    ") for row in inner) else text


def inline(value: Any) -> Span | None:
    """``value`` in one line, or None if it needs several."""
    match value:
        case str():
            return None if "\n" in value.rstrip("\n") else Span(value.rstrip("\n"))
        case bytes():
            return inline(value.decode("utf-8", "backslashreplace"))
        case Mapping() | list() | tuple() | set() | frozenset() if not value:
            return Span("{}" if isinstance(value, Mapping) else "[]", "dim")
        case Mapping() | list() | tuple() | set() | frozenset():
            return None
        case None:
            return Span("None", "dim")
        case int() if not isinstance(value, bool):
            return Span(str(plain(value)))
        case _:
            return Span(str(value))


def _entry(key: Any, value: Any, indent: int) -> list[Line]:
    name = inline(key) or Span(str(key))
    short = inline(value)
    if short is not None:
        return [line((f"{name.text}:", "key"), " " if short.text else "", short, indent=indent)]
    return [line((f"{name.text}:", "key"), indent=indent), *lines(value, indent + STEP)]


def _item(value: Any, indent: int) -> list[Line]:
    first, *rest = lines(value, indent + 2)
    pad = Span(" " * indent) if indent else Span("")
    return [(pad, Span("- ", "dim"), *first[1:]), *rest]
