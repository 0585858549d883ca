"""Lines of styled text, drawn with colours on a terminal and as plain text elsewhere.

Outputters build lines of spans from *raw* text. ``draw`` is the only function that converts text for a terminal, so
only this function must escape it. Spans have no markup syntax that data could imitate.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from pushsalt.display.safe import escape

#: style -> SGR parameters. The names describe the meaning of a text, not its appearance.
STYLES = {
    "": "",
    "title": "1",
    "dim": "2",
    "key": "36",
    "good": "32",
    "changed": "33",
    "pending": "36",
    "bad": "31",
    "bad_title": "1;31",
    "added": "32",
    "removed": "31",
    "hunk": "36",
}


class Span(NamedTuple):
    """A part of a line. ``text`` is raw; newlines in it are shown as escape sequences."""

    text: str
    style: str = ""


Line = tuple[Span, ...]


def line(*parts: str | tuple[str, str] | Span, indent: int = 0) -> Line:
    """One line of spans; a bare text has no style."""
    spans = tuple(Span(part) if isinstance(part, str) else Span(*part) for part in parts)
    return (Span(" " * indent), *spans) if indent else spans


def block(text: str, style: str = "", indent: int = 0) -> list[Line]:
    """Raw text of several lines as lines of one style."""
    return [line((piece, style), indent=indent) for piece in _split(text)]


def _split(text: str) -> list[str]:
    # Not splitlines(): a form feed or U+2028 in data does not end a line, but is escaped.
    pieces = text.replace("\r\n", "\n").split("\n")
    while len(pieces) > 1 and not pieces[-1].strip():
        pieces.pop()
    return pieces


def draw(lines: Iterable[Line], color: bool = False) -> str:
    """The text to write, one ``\\n`` after each line."""
    return "".join(_draw_line(spans, color) + "\n" for spans in lines)


def _draw_line(spans: Line, color: bool) -> str:
    parts = []
    for text, style in spans:
        shown = escape(text).replace("\n", "\\n")
        sgr = STYLES[style] if color else ""
        parts.append(f"\x1b[{sgr}m{shown}\x1b[0m" if sgr and shown.strip() else shown)
    return "".join(parts).rstrip()
