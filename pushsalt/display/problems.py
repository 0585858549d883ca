"""Problems of a target's states as styled lines; reason, places and excerpts have different styles."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from pushsalt.display.style import Line, block, line

#: A line of an excerpt: the mark of the line with the error, line number, text.
_SOURCE: Final = re.compile(r"^(> |  )( *\d+ \|)(.*)$", re.DOTALL)
#: Lines that follow the reason.
_DETAIL: Final = re.compile(r"^(  (in|from) |hint: |rendered: |$)")


def problem_lines(texts: Sequence[str], indent: int = 0) -> Iterator[Line]:
    """The lines of the texts; an empty line separates texts of several lines."""
    previous: list[Line] = []
    for text in texts:
        rows = list(_lines(text, indent))
        if previous and max(len(previous), len(rows)) > 1:
            yield ()
        yield from rows
        previous = rows


def _lines(text: str, indent: int) -> Iterator[Line]:
    reason, behind_empty = True, True  # the reason is the text before the first place or excerpt
    for spans in block(text, indent=indent):
        piece = spans[-1].text
        source = _SOURCE.match(piece)
        reason = (reason or behind_empty) and source is None and not _DETAIL.match(piece)
        behind_empty = not piece
        if source is not None:
            mark, number, code = source.groups()
            style = "title" if mark.strip() else "dim"
            yield line((mark, "bad_title"), (number, "dim"), (code, style), indent=indent)
        elif piece.startswith("hint: "):
            yield line(("hint:", "title"), piece.removeprefix("hint:"), indent=indent)
        else:
            yield line((piece, "bad" if reason else ""), indent=indent)
