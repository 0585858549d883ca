"""Columns: the values of one grain for many ids; equal values, shapes and texts are stored once.

A column has the values of one grain for ``rows`` ids. It has one of two forms, as msgpack on disk::

    ["S", [value, …], codes]           at most 255 different values; codes has a byte a row, 0 for none, else value + 1
    ["O", [[shape, where, [texts, …]], …], [row, …], [value, …]]
                                       where: the rows of this shape as u32, nil for all; last: values without a shape
    texts: [1, [text, …], codes]       at most 255 different ones, a byte each
           [2, [text, …], codes]       at most 65,535, two bytes each
           [0, "\\0text\\0text\\0"]       one text per row, NUL escaped as in ``format``

A query (``Query``) is evaluated once per different value, or once per shape; comparisons of texts that the shape does
not decide are evaluated once per different text, or in one pass if every id has its own text.
"""

from __future__ import annotations

import re
import sys
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import compress, count
from operator import itemgetter
from typing import Any, Final

from pushsalt.index import bits, shapes, terms
from pushsalt.index.format import escape, unescape
from pushsalt.index.terms import Manner, Same

FEW: Final = 255
MANY: Final = 65535


class Query:
    """A predicate on values: ``ask(value, same)``; ``same`` compares texts by ``manner``, or records open comparisons.

    ``test`` replaces Salt's comparison of texts, for other predicates (addresses); ``likely``, a pattern like that of
    ``terms.scanner``, finds all texts that could pass ``test``, and few others.
    """

    def __init__(
        self,
        ask: Callable[[Any, Same], bool],
        manner: Manner,
        test: Callable[[str], bool] | None = None,
        likely: re.Pattern[str] | None = None,
    ) -> None:
        self.likely = likely
        self.ask = ask
        self.manner = manner
        self.test = test
        self.same: Same = (lambda value, _: test(str(value))) if test else terms.comparison(manner)

    def of(self, value: Any) -> bool:
        return self.ask(value, self.same)

    def matcher(self, pattern: str) -> Callable[[str], object]:
        """A function that is called with each text; returns a falsy value for no match."""
        if self.test:
            return self.test
        compiled = terms.compiled(pattern, self.manner)
        return lambda text: compiled(text.lower())


class Texts:
    """The texts at one slot of a shape, for all its values."""

    def __init__(self, different: list[str], codes: Sequence[int], joined: str = "", length: int = 0) -> None:
        self.different = different
        self.codes = codes
        self.joined = joined
        self.length = length if joined else len(codes)

    @classmethod
    def of(cls, texts: list[str]) -> Texts:
        numbers = {text: number for number, text in enumerate(dict.fromkeys(texts))}
        if len(numbers) <= FEW:
            return cls(list(numbers), bytes(map(numbers.__getitem__, texts)))
        if len(numbers) <= min(MANY, len(texts) // 2):
            return cls(list(numbers), array("H", map(numbers.__getitem__, texts)))
        return cls([], b"", "\0" + "\0".join(_escaped(texts)) + "\0", len(texts))

    @classmethod
    def unpacked(cls, data: list[Any]) -> Texts:
        if data[0] == 0:
            return cls([], b"", data[1], data[1].count("\0") - 1)
        if data[0] == 1:
            return cls(data[1], data[2])
        return cls(data[1], numbers_of("H", data[2]))

    def packed(self) -> list[Any]:
        if self.joined:
            return [0, self.joined]
        if isinstance(self.codes, bytes):
            return [1, self.different, self.codes]
        return [2, self.different, to_bytes(self.codes)]

    def all(self) -> list[str]:
        """A list with one text per value."""
        if not self.joined:
            return list(map(self.different.__getitem__, self.codes))
        texts = self.joined[1:-1].split("\0")
        return [unescape(text) for text in texts] if "\2" in self.joined else texts

    def hits(self, query: Query, pattern: str) -> Iterable[int]:
        """The sorted numbers of the values whose text matches."""
        if not self.joined:
            matcher = query.matcher(pattern)
            yes = bytes(bool(matcher(text)) for text in self.different)
            if 1 not in yes:
                return ()
            if isinstance(self.codes, bytes):
                return compress(range(len(self.codes)), self.codes.translate(yes.ljust(256, b"\0")))
            return compress(range(len(self.codes)), map(yes.__getitem__, self.codes))
        if query.test is None:
            scanner = None if query.manner.regex or query.manner.exact else terms.scanner(pattern)
            if scanner is not None and "\2" not in self.joined:
                return _scan(scanner, self.joined.lower())
            return compress(count(), map(terms.compiled(pattern, query.manner), self._lower()))
        if query.likely is not None and "\2" not in self.joined:
            return _scan(query.likely, self.joined, query.test)
        return compress(count(), map(query.test, self.all()))

    def _lower(self) -> list[str]:
        if "\2" in self.joined:
            return [text.lower() for text in self.all()]
        return self.joined.lower()[1:-1].split("\0")


def _scan(scanner: re.Pattern[str], text: str, test: Callable[[str], bool] | None = None) -> Iterator[int]:
    number, last = 0, 0
    for match in scanner.finditer(text):
        if test is not None and not test(match.group()[1:]):
            continue
        at = match.start()
        number += text.count("\0", last, at)
        last = at
        yield number


class Group:
    """The values of one shape: their rows (None for all), and their texts."""

    def __init__(self, shape: shapes.Shape, where: Sequence[int] | None, texts: list[Texts]) -> None:
        self.shape = shape
        self.where = where
        self.texts = texts

    def find(self, query: Query, rows: int) -> int:
        outline = shapes.outline(self.shape)
        noted: dict[tuple[int, str], Any] = {}

        def same(value: Any, pattern: str) -> bool:
            if shapes.open_in(value):
                noted[id(value), pattern] = value
                return False
            return query.same(value, pattern)

        if query.ask(outline, same):
            return bits.everything(rows) if self.where is None else bits.of_rows(self.where, rows)
        marked = bytearray(rows)
        where = self.where
        for (_, pattern), part in noted.items():
            for hit in self._hits(query, part, pattern):
                marked[hit if where is None else where[hit]] = 1
        return bits.of_flags(marked)

    def _hits(self, query: Query, part: Any, pattern: str) -> Iterable[int]:
        if isinstance(part, shapes.Slot):
            return self.texts[part.number].hits(query, pattern)
        if all(len(self.texts[slot.number].different) == 1 for slot in shapes.open_in(part)):
            text = next(iter(shapes.printed(part, [texts.different[:1] for texts in self.texts])))
            return range(self.texts[0].length) if query.matcher(pattern)(text) else ()
        needed = {slot.number for slot in shapes.open_in(part)}
        texts = [column.all() if number in needed else [] for number, column in enumerate(self.texts)]
        return compress(count(), map(query.matcher(pattern), shapes.printed(part, texts)))


class Column:
    """The values of one grain. Either ``values`` and ``codes``, or ``groups`` and ``odd``."""

    def __init__(
        self,
        rows: int,
        values: list[Any] | None = None,
        codes: bytes = b"",
        groups: list[Group] | None = None,
        odd: list[tuple[int, Any]] | None = None,
    ) -> None:
        self.rows = rows
        self.values = values
        self.codes = codes
        self.groups = groups or []
        self.odd = odd or []

    @classmethod
    def unpacked(cls, data: list[Any], rows: int) -> Column:
        if data[0] == "S":
            return cls(rows, data[1], data[2])
        groups = []
        for shape, where, texts in data[1]:
            places = None if where is None else numbers_of("I", where)
            groups.append(Group(shapes.frozen(shape), places, [*map(Texts.unpacked, texts)]))
        return cls(rows, groups=groups, odd=list(zip(data[2], data[3], strict=True)))

    def packed(self) -> list[Any]:
        if self.values is not None:
            return ["S", self.values, self.codes]
        groups = []
        for group in self.groups:
            where = None if group.where is None else to_bytes(group.where)
            groups.append([group.shape, where, [text.packed() for text in group.texts]])
        return ["O", groups, [row for row, _ in self.odd], [value for _, value in self.odd]]

    def find(self, query: Query) -> int:
        """The rows whose value matches."""
        if self.values is not None:
            yes = bytes([0, *(int(query.of(value)) for value in self.values)]).ljust(256, b"\0")
            return bits.of_flags(self.codes.translate(yes)) if 1 in yes else 0
        mask = bits.of_rows((row for row, value in self.odd if query.of(value)), self.rows) if self.odd else 0
        for group in self.groups:
            mask |= group.find(query, self.rows)
        return mask

    def present(self) -> int:
        """The rows that have the grain."""
        if self.values is not None:
            return bits.of_flags(self.codes)
        mask = bits.of_rows((row for row, _ in self.odd), self.rows)
        for group in self.groups:
            mask |= bits.everything(self.rows) if group.where is None else bits.of_rows(group.where, self.rows)
        return mask

    def value(self, row: int) -> Any:
        """The value of one row. Raises KeyError if it has none."""
        if self.values is not None:
            if not self.codes[row]:
                raise KeyError(row)
            return self.values[self.codes[row] - 1]
        for group in self.groups:
            where = group.where if group.where is not None else range(self.rows)
            if row in where:
                at = where.index(row)
                return shapes.put_together(group.shape, [text.all()[at] for text in group.texts])
        return dict(self.odd)[row]

    def each(self) -> Iterator[tuple[int, Any]]:
        """(row, value) for all rows that have one."""
        for shape, where, texts in self.items():
            if shape is None:
                yield from zip(where, texts, strict=True)
            else:
                for at, row in enumerate(where):
                    yield row, shapes.put_together(shape, [column[at] for column in texts])

    def items(self) -> Iterator[tuple[shapes.Shape | None, Sequence[int], Any]]:
        """(shape, rows, texts by slot) for the values with a shape, and (None, rows, values) for those without."""
        if self.values is None:
            for group in self.groups:
                where = group.where if group.where is not None else range(self.rows)
                yield group.shape, where, [text.all() for text in group.texts]
            if self.odd:
                yield None, [row for row, _ in self.odd], [value for _, value in self.odd]
            return
        places: list[list[int]] = [[] for _ in range(256)]
        for row, code in enumerate(self.codes):
            places[code].append(row)
        for value, where in zip(self.values, places[1:], strict=False):
            try:
                shape, texts = shapes.take_apart(value)
                yield shape, where, [[text] * len(where) for text in texts]
            except shapes.Odd:
                yield None, where, [value] * len(where)


def _escaped(texts: list[str]) -> list[str]:
    joined = "".join(texts)
    return [escape(text) for text in texts] if any(separator in joined for separator in "\0\1\2") else texts


def numbers_of(kind: str, data: bytes) -> array[int]:
    numbers = array(kind, data)
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers


def to_bytes(numbers: Sequence[int]) -> bytes:
    kept = array(numbers.typecode if isinstance(numbers, array) else "I", numbers)
    if sys.byteorder == "big":
        kept.byteswap()
    return kept.tobytes()


def picked(values: Sequence[Any], places: Sequence[int]) -> tuple[Any, ...]:
    """The values at these places."""
    if len(places) < 2:
        return tuple(values[place] for place in places)
    return itemgetter(*places)(values)  # type: ignore[no-any-return]
