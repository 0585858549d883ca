"""The sorted ids of a part: sliced from the text one by one if few are needed, else all at once."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate, compress
from typing import Final, overload

from pushsalt.index.format import Damage, join, split, unescape

#: if more than one in this number of ids is needed, all are decoded
_FEW: Final = 3


class Ids(Sequence[str]):
    """Either the ids, or their text (joined as in ``format``) and the offset of each, and the end offset."""

    def __init__(self, ids: list[str] | None, text: str = "", places: Sequence[int] = ()) -> None:
        self._all = ids
        self._text = text
        self._places = places

    @classmethod
    def read(cls, text: str, places: Sequence[int], rows: int) -> Ids:
        """Raises Damage if the text does not match the offsets."""
        if len(places) != rows + 1 or (rows and places[rows] != len(text) + 1):
            raise Damage("a segment has too few ids")
        return cls(None if rows else [], text, places)

    def written(self) -> tuple[str, array[int]]:
        """Text and offsets."""
        text = join(self.all())
        lengths = (len(name) + 1 for name in (text.split("\0") if len(self) else ()))
        return text, array("I", accumulate(lengths, initial=0))

    def all(self) -> list[str]:
        if self._all is None:
            self._all = split(self._text)
        return self._all

    def pick(self, flags: bytes) -> list[str]:
        """The ids whose byte in ``flags`` is 1."""
        if self._all is not None or flags.count(1) * _FEW > len(flags):
            return list(compress(self.all(), flags))
        text, places = self._text, self._places
        picked = [text[places[row] : places[row + 1] - 1] for row in compress(range(len(flags)), flags)]
        return [unescape(id) for id in picked] if "\2" in text else picked

    def row(self, id: str) -> int | None:
        """The row of an id, or None."""
        row = bisect_left(self if self._all is None else self._all, id)
        return row if row < len(self) and self[row] == id else None

    def __len__(self) -> int:
        return len(self._all) if self._all is not None else len(self._places) - 1

    @overload
    def __getitem__(self, row: int) -> str: ...
    @overload
    def __getitem__(self, row: slice) -> list[str]: ...
    def __getitem__(self, row: int | slice) -> str | list[str]:
        if self._all is not None:
            return self._all[row]
        if isinstance(row, slice):
            return self.all()[row]
        return unescape(self._text[self._places[row] : self._places[row + 1] - 1])


__all__ = ["Ids"]
