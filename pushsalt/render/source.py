"""Rendered text that remembers which source line each part of it came from."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

from pushsalt.errors import Position


@dataclass(frozen=True)
class Origin:
    """A line of a source text."""

    path: str
    line: int
    text: str

    @property
    def position(self) -> Position:
        return Position(self.path, self.line)


class StageText(str):
    """Text between two renderers. A renderer may treat it as text or read it like a file: Salt's do both."""

    __slots__ = ("origin",)

    #: (line, column) of this text, from 1 -> where that was written, or None
    origin: Callable[[int, int], Origin | None] | None

    def __new__(cls, text: str, origin: Callable[[int, int], Origin | None] | None = None) -> StageText:
        self = super().__new__(cls, text)
        self.origin = origin
        return self

    def read(self) -> str:
        return str(self)


def as_text(data: object) -> str:
    """The text of what a renderer was given: a text, or something to read it from."""
    if isinstance(data, str):
        return str(data)
    read = getattr(data, "read", None)
    if read is None:
        raise TypeError(f"expected text, not {type(data).__name__}")
    content = read()
    return content if isinstance(content, str) else bytes(content).decode()


class OutputMap:
    """Finds the source behind a place of the output, given its pieces and what tells where one was written.

    Cheap to make: all work is put off until a place is asked for.
    """

    def __init__(self, pieces: Sequence[str], origin_of: Callable[[str], Origin | None]) -> None:
        self._pieces = pieces
        self._origin_of = origin_of

    @cached_property
    def _lines(self) -> list[int]:
        """Offset of each line's beginning."""
        starts = [0]
        for line in "".join(self._pieces).splitlines(keepends=True):
            starts.append(starts[-1] + len(line))
        return starts

    @cached_property
    def _starts(self) -> list[int]:
        """Offset of each piece's beginning."""
        return list(accumulate((len(piece) for piece in self._pieces), initial=0))

    def __call__(self, line: int, column: int) -> Origin | None:
        if not 1 <= line < len(self._lines):
            return None
        offset = min(self._lines[line - 1] + column, self._lines[line]) - 1
        index = bisect_right(self._starts, offset) - 1
        piece = self._pieces[index]
        origin = self._origin_of(piece)
        if origin is None:
            return None
        # literal text has the lines of its source; the value of an expression is all on the expression's line
        inside = piece.count("\n", 0, offset - self._starts[index])
        source = origin.text.splitlines()
        at = origin.line + inside
        if inside and at <= len(source) and piece.splitlines()[inside].strip() in source[at - 1]:
            return Origin(origin.path, at, origin.text)
        return origin
