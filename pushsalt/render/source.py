"""Rendered text that remembers which source line each part of it came from."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass

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


@dataclass(frozen=True)
class Piece:
    """One piece of a template's output, and the source line of the node that wrote it."""

    text: str
    origin: Callable[[], Origin]


class OutputMap:
    """Finds the source behind a place of the output. Cheap to make: all work is put off until a place is asked for."""

    def __init__(self, pieces: Sequence[Piece]) -> None:
        self._pieces = pieces
        self._starts: list[int] | None = None

    def __call__(self, line: int, column: int) -> Origin | None:
        text = "".join(piece.text for piece in self._pieces)
        lines = text.splitlines(keepends=True)
        if not 1 <= line <= len(lines):
            return None
        if self._starts is None:
            self._starts = []
            total = 0
            for piece in self._pieces:
                self._starts.append(total)
                total += len(piece.text)
        offset = sum(len(before) for before in lines[: line - 1]) + min(column, len(lines[line - 1])) - 1
        index = max(0, bisect_right(self._starts, max(0, offset)) - 1)
        piece = self._pieces[index]
        origin = piece.origin()
        # literal text keeps its lines; the value of an expression is all on the expression's line
        inside = piece.text[: offset - self._starts[index]].count("\n")
        piece_lines = piece.text.splitlines()
        source = origin.text.splitlines()
        at = origin.line + inside
        if inside and inside < len(piece_lines) and at <= len(source) and piece_lines[inside].strip() in source[at - 1]:
            return Origin(origin.path, at, origin.text)
        return origin
