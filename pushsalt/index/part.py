"""A segment of grains: sorted ids, the time of each, and a column for each grain. Columns are read on demand.

Layout::

    header      "psgrain2", size of the file u64, place of the directory u64, its length u64, CRC-32 of the directory
                u32, CRC-32 of the header u32
    blocks      the ids, joined by NUL; their offsets in that text, in characters (u32, and the end offset); the times
                (f64 each); one block for each column, as msgpack (``columns``)
    directory   msgpack: count of ids, [place, length, CRC-32] of ids, places and times,
                [[grain, place, length, CRC-32], …]
"""

from __future__ import annotations

import mmap
import os
import struct
import sys
from array import array
from collections.abc import Iterable, Sequence
from itertools import chain
from operator import attrgetter
from pathlib import Path
from typing import Any, Final, NamedTuple
from zlib import crc32

import msgpack

from pushsalt.index import shapes
from pushsalt.index.columns import FEW, Column, Group, Texts, numbers_of, picked, to_bytes
from pushsalt.index.files import FLAGS, write_segment
from pushsalt.index.format import Damage, decode, encode
from pushsalt.index.ids import Ids

MAGIC: Final = b"psgrain2"
HEADER: Final = struct.Struct("<8sQQQII")
_MOST_DEEP: Final = 100


class Entry(NamedTuple):
    """An id with its grains, packed."""

    id: str
    seen: float
    grains: bytes


def pack(value: Any) -> bytes:
    """The value as msgpack; tuples and sets become lists, other types that msgpack lacks become text."""
    try:
        return _packb(value)
    except (OverflowError, ValueError, RecursionError):  # integers over 64 bits, circular or too deep nesting
        return _packb(_packable(value, 0))


def _packb(value: Any) -> bytes:
    packed: bytes = msgpack.packb(value, use_bin_type=True, default=_plain, unicode_errors="surrogatepass")
    return packed


def _plain(value: Any) -> Any:
    return sorted(value, key=repr) if isinstance(value, set | frozenset) else str(value)


def _packable(value: Any, depth: int) -> Any:
    if depth > _MOST_DEEP:
        return "..."
    if isinstance(value, dict):
        return {_packable(key, depth + 1): _packable(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_packable(item, depth + 1) for item in value]
    return str(value) if type(value) is int and not -(1 << 63) <= value < 1 << 64 else value


def unpack(data: bytes) -> Any:
    """Decode msgpack. Raises Damage."""
    try:
        return msgpack.unpackb(data, raw=False, strict_map_key=False, unicode_errors="surrogatepass", use_list=True)
    except Exception as exc:  # the exception classes of msgpack's two implementations differ
        raise Damage(f"invalid msgpack: {exc}") from None


class Part:
    """Grains of some ids, in memory or in a file; one row per sorted id. Methods raise Damage."""

    def __init__(self, ids: list[str], seen: Sequence[float], columns: dict[Any, Column]) -> None:
        self.name = ""
        self.rows = len(ids)
        self._ids: Ids | None = Ids(ids)
        self._seen: Sequence[float] | None = seen
        self._columns = columns
        self._file: File | None = None
        self.size = 0

    @classmethod
    def open(cls, path: Path) -> Part:
        part = cls([], (), {})
        part.name = path.name
        part._file = file = File(path)
        part.size = file.size
        part.rows = file.rows
        part._ids = None
        part._seen = None
        return part

    @property
    def ids(self) -> Ids:
        if self._ids is None:
            assert self._file is not None
            text = decode(self._file.block(self._file.ids))
            self._ids = Ids.read(text, numbers_of("I", self._file.block(self._file.places)), self.rows)
        return self._ids

    @property
    def seen(self) -> Sequence[float]:
        if self._seen is None:
            assert self._file is not None
            seen = array("d", self._file.block(self._file.seen))
            if sys.byteorder == "big":
                seen.byteswap()
            self._seen = seen
        return self._seen

    @property
    def grains(self) -> list[Any]:
        """The names of all columns."""
        return list(self._columns if self._file is None else self._file.columns)

    def column(self, grain: Any) -> Column | None:
        column = self._columns.get(grain)
        if column is None and self._file is not None and grain in self._file.columns:
            column = Column.unpacked(unpack(self._file.block(self._file.columns[grain])), self.rows)
            self._columns[grain] = column
        return column

    def row(self, id: str) -> int | None:
        """The row of an id."""
        return self.ids.row(id)

    def write(self, path: Path) -> None:
        """Write to a new file, synced. Raises OSError."""
        blocks: list[bytes] = []
        at = HEADER.size

        def add(data: bytes) -> tuple[int, int, int]:
            nonlocal at
            blocks.append(data)
            at += len(data)
            return at - len(data), len(data), crc32(data)

        seen = array("d", self.seen)
        if sys.byteorder == "big":
            seen.byteswap()
        text, starts = self.ids.written()
        places = [add(encode(text)), add(to_bytes(starts)), add(seen.tobytes())]
        columns = []
        for grain in self.grains:
            column = self.column(grain)
            assert column is not None
            columns.append((grain, *add(pack(column.packed()))))
        directory = pack([self.rows, *places, columns])
        size = at + len(directory)
        header = HEADER.pack(MAGIC, size, at, len(directory), crc32(directory), 0)[:-4]
        write_segment(path, [header + struct.pack("<I", crc32(header)), *blocks, directory])

    def problems(self) -> list[str]:
        """Damage of the file, as texts."""
        problems = []
        for grain in self.grains:
            try:
                self.column(grain)
                if self._file is not None:
                    self._file.block(self._file.columns[grain])
            except Damage as exc:
                problems.append(f"grain {grain}: {exc}")
        try:
            if self._file is not None:
                self._file.block(self._file.ids)
                self._file.block(self._file.places)
                self._file.block(self._file.seen)
        except Damage as exc:
            problems.append(str(exc))
        return problems


class File:
    """The mapped file of a part."""

    def __init__(self, path: Path) -> None:
        fd = os.open(path, os.O_RDONLY | FLAGS)
        self._fd = fd
        self.size = os.fstat(fd).st_size
        if self.size < HEADER.size:
            raise Damage("a segment is cut off")
        self._map = mmap.mmap(fd, self.size, prot=mmap.PROT_READ)
        header = self._map[: HEADER.size]
        magic, size, place, length, crc, own = HEADER.unpack(header)
        if magic != MAGIC or crc32(header[:-4]) != own:
            raise Damage("the header of a segment is damaged")
        if size != self.size:
            raise Damage("a segment is cut off")
        self.rows, self.ids, self.places, self.seen, columns = unpack(self.block([place, length, crc]))
        self.columns: dict[Any, list[int]] = {grain: where for grain, *where in columns}

    def block(self, where: list[int]) -> bytes:
        """The verified bytes of a block [offset, length, CRC-32]."""
        place, length, crc = where
        if os.lseek(self._fd, 0, os.SEEK_END) < self.size:
            raise Damage("a segment is cut off")
        data = self._map[place : place + length]
        if crc32(data) != crc:
            raise Damage("a block of a segment is damaged")
        return data

    def __del__(self) -> None:
        try:
            os.close(self._fd)
        except (AttributeError, OSError):
            pass


# --- making parts ----------------------------------------------------------------------------------------------------


def build(entries: Iterable[Entry]) -> Part:
    """A part of these entries; the last one for an id wins."""
    kept = {entry.id: entry for entry in sorted(entries, key=attrgetter("id"))}  # stable, so the last one stays
    values: dict[Any, tuple[list[int], list[Any]]] = {}
    for row, entry in enumerate(kept.values()):
        grains = unpack(entry.grains)
        for grain, value in grains.items():
            column = values.get(grain)
            if column is None:
                column = values[grain] = ([], [])
            column[0].append(row)
            column[1].append(value)
    rows = len(kept)
    columns = {grain: _column(rows, where, what) for grain, (where, what) in values.items()}
    return Part(list(kept), array("d", [entry.seen for entry in kept.values()]), columns)


def _column(rows: int, where: list[int], values: list[Any]) -> Column:
    keys = list(map(_packb, values))
    different = dict(zip(keys, values, strict=True))
    if len(different) <= FEW:
        numbers = {key: number for number, key in enumerate(different, 1)}
        codes = bytearray(rows)
        for row, key in zip(where, keys, strict=True):
            codes[row] = numbers[key]
        return Column(rows, list(different.values()), bytes(codes))
    gathered = _Gathered()
    for row, value in zip(where, values, strict=True):
        try:
            shape, texts = shapes.take_apart(value)
            gathered.add(shape, [row], [[text] for text in texts])
        except shapes.Odd:
            gathered.add(None, [row], [value])
    return gathered.column(rows)


class _Gathered:
    """Collects the values of a column by shape."""

    def __init__(self) -> None:
        self.shapes: dict[shapes.Shape | None, tuple[list[int], list[list[Any]]]] = {}

    def add(self, shape: shapes.Shape | None, where: Sequence[int], texts: Sequence[Sequence[Any]]) -> None:
        """Add rows; ``texts`` are by slot of the shape, or the values if there is no shape."""
        group = self.shapes.get(shape)
        if group is None:
            group = self.shapes[shape] = ([], [[] for _ in (texts if shape is not None else (0,))])
        group[0].extend(where)
        for mine, more in zip(group[1], texts if shape is not None else (texts,), strict=True):
            mine.extend(more)

    def column(self, rows: int) -> Column:
        groups, odd = [], []
        for shape, (where, texts) in self.shapes.items():
            order = sorted(range(len(where)), key=where.__getitem__)
            if any(at != place for at, place in enumerate(order)):
                where = list(picked(where, order))
                texts = [list(picked(one, order)) for one in texts]
            if shape is None:
                odd = list(zip(where, texts[0], strict=True))
            elif where:
                places = None if len(where) == rows else array("I", where)
                groups.append(Group(shape, places, list(map(Texts.of, texts))))
        return Column(rows, groups=groups, odd=odd)


class Merged(NamedTuple):
    """A merged part; ``rows`` has, for each source part, the new number of each row, or -1 for a dead one."""

    part: Part
    rows: list[array[int]]


def merge(parts: Sequence[Part], dead: Sequence[bytes]) -> Merged:
    """Merge parts without common live ids; ``dead`` has a byte for each row of each part, not 0 for dead rows."""
    alive = [[row for row in range(part.rows) if not gone[row]] for part, gone in zip(parts, dead, strict=True)]
    ids = [id for part, rows in zip(parts, alive, strict=True) for id in picked(part.ids.all(), rows)]
    seen = [at for part, rows in zip(parts, alive, strict=True) for at in picked(part.seen, rows)]
    order = sorted(range(len(ids)), key=ids.__getitem__)
    new = array("i", bytes(4 * len(ids)))
    for place, at in enumerate(order):
        new[at] = place
    maps, start = [], 0
    for part, rows in zip(parts, alive, strict=True):
        numbers = array("i", [-1]) * part.rows
        for at, row in enumerate(rows, start):
            numbers[row] = new[at]
        maps.append(numbers)
        start += len(rows)
    columns = {}
    for grain in dict.fromkeys(chain.from_iterable(part.grains for part in parts)):
        column = _merged([part.column(grain) for part in parts], maps, alive, order)
        if column is not None:
            columns[grain] = column
    return Merged(Part(list(picked(ids, order)), array("d", picked(seen, order)), columns), maps)


def _merged(
    columns: list[Column | None], maps: list[array[int]], alive: list[list[int]], order: list[int]
) -> Column | None:
    positions: dict[bytes, int] = {}
    values: list[Any] = []
    codes: list[bytes] = []
    for column, rows in zip(columns, alive, strict=True):
        if column is None:
            codes.append(bytes(len(rows)))
            continue
        if column.values is None:
            break
        kept = bytes(picked(column.codes, rows))
        table = bytearray(256)
        for code in sorted(set(kept) - {0}):
            value = column.values[code - 1]
            key = _packb(value)
            if key not in positions:
                values.append(value)
                positions[key] = len(values)
            if len(values) > FEW:
                break
            table[code] = positions[key]
        if len(values) > FEW:
            break
        codes.append(kept.translate(table))
    else:
        return Column(len(order), values, bytes(picked(b"".join(codes), order))) if values else None
    gathered = _Gathered()
    for column, numbers in zip(columns, maps, strict=True):
        for shape, where, texts in column.items() if column is not None else ():
            places = picked(numbers, where)
            keep = [at for at, place in enumerate(places) if place >= 0]
            new = picked(places, keep)
            if shape is None:
                gathered.add(None, new, picked(texts, keep))
            else:
                gathered.add(shape, new, [picked(one, keep) for one in texts])
    return gathered.column(len(order))
