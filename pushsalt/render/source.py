"""Rendered text with the source line of each part."""

from __future__ import annotations

import io
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import accumulate
from typing import Any

from pushsalt.errors import Position


@dataclass(frozen=True)
class Origin:
    """A line of a source text; ``via``: its callers (of a macro), innermost first."""

    path: str
    line: int
    text: str
    via: tuple[Origin, ...] = ()

    @property
    def position(self) -> Position:
        return Position(self.path, self.line)


class StageText(str):
    """Text between two renderers. It can be used as text and read like a file: Salt's renderers do both.

    Iterating over it yields lines, as with a file.
    """

    __slots__ = ("_file", "origin")

    #: (line, column) of this text, counted from 1 -> its origin, or None
    origin: Callable[[int, int], Origin | None] | None
    _file: io.StringIO | None

    def __new__(cls, text: str, origin: Callable[[int, int], Origin | None] | None = None) -> StageText:
        self = super().__new__(cls, text)
        self.origin = origin
        self._file = None
        return self

    @property
    def _stream(self) -> io.StringIO:
        if self._file is None:
            self._file = io.StringIO(str(self))
        return self._file

    def __iter__(self) -> Iterator[str]:
        return iter(self._stream)

    def read(self, size: int = -1) -> str:
        return self._stream.read(size)

    def readline(self, size: int = -1) -> str:
        return self._stream.readline(size)

    def readlines(self, hint: int = -1) -> list[str]:
        return self._stream.readlines(hint)

    def seek(self, offset: int, whence: int = 0) -> int:
        return self._stream.seek(offset, whence)

    def tell(self) -> int:
        return self._stream.tell()

    def getvalue(self) -> str:
        return str(self)

    def close(self) -> None:
        """Does nothing: part of the file interface."""


class WrongInput(TypeError):
    """A renderer got input of a wrong type. ``needs`` describes the right type."""

    def __init__(self, needs: str, data: object) -> None:
        self.needs = needs
        self.given = "text" if isinstance(data, str) else f"data ({type(data).__name__})"
        super().__init__(f"expected {needs}, not {self.given}")


def as_text(data: object) -> str:
    """The text of a renderer's input, which may be a file object. Raises WrongInput."""
    content = as_content(data)
    return content if isinstance(content, str) else content.decode()


def as_content(data: object) -> str | bytes:
    """As ``as_text``, but bytes are unchanged."""
    if isinstance(data, str):
        return str(data)
    if isinstance(data, bytes | bytearray):
        return bytes(data)
    read = getattr(data, "read", None)
    if read is None:
        raise WrongInput("text", data)
    if hasattr(data, "seek"):
        data.seek(0)
    content = read()
    return str(content) if isinstance(content, str) else bytes(content)


class Written(str):
    """A piece of output with its place in compiled code, which is only looked up for errors."""

    __slots__ = ("by",)

    by: Any

    def __new__(cls, text: str, by: Any) -> Written:
        self = super().__new__(cls, text)
        self.by = by
        return self


class OutputMap:
    """Finds the source of a place in the output, from its pieces and a function that returns the origin of a piece.

    Everything is computed on demand.
    """

    def __init__(self, pieces: Sequence[str], origin_at: Callable[[str, int], Origin | None]) -> None:
        self._pieces = pieces
        self._origin_at = origin_at

    @cached_property
    def _lines(self) -> list[int]:
        """The offset of each line."""
        starts = [0]
        for line in "".join(self._pieces).splitlines(keepends=True):
            starts.append(starts[-1] + len(line))
        return starts

    @cached_property
    def _starts(self) -> list[int]:
        """The offset of each piece."""
        return list(accumulate((len(piece) for piece in self._pieces), initial=0))

    def __call__(self, line: int, column: int) -> Origin | None:
        if not 1 <= line < len(self._lines):
            return None
        offset = min(self._lines[line - 1] + column, self._lines[line]) - 1
        index = bisect_right(self._starts, offset) - 1
        return self._origin_at(self._pieces[index], offset - self._starts[index])


def line_within(origin: Origin, piece: str, offset: int) -> Origin:
    """The origin of the character at ``offset`` of a piece that begins at ``origin``.

    Lines of literal text are those of its source; all lines of an expression's value have the expression's line.
    """
    return literal_line(origin, piece, offset) or origin


def literal_line(origin: Origin, piece: str, offset: int) -> Origin | None:
    """As ``line_within``, if the character is literal text of the source; else None."""
    line = origin.line + piece.count("\n", 0, offset)
    source = source_lines(origin.text)
    written = line_around(piece, offset)
    if line > len(source) or not written or written not in source[line - 1]:
        return None
    return origin if line == origin.line else replace(origin, line=line)


def line_around(text: str, offset: int) -> str:
    """The stripped line of a text that contains this character."""
    end = text.find("\n", offset)
    return text[text.rfind("\n", 0, offset) + 1 : end if end >= 0 else None].strip()


@lru_cache(maxsize=64)
def source_lines(text: str) -> list[str]:
    """The lines of a source; cached, since an error report needs them many times."""
    return text.splitlines()
