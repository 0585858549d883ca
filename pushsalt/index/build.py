"""New segments of resources: an old one and what was written since, merged. What did not change is copied as it is.

What is gone is left out, or kept as such where there are older segments below that may name it.

Names are handled as they stand in the file, that is escaped; their order as text is that of their bytes.
"""

from __future__ import annotations

import os
import struct
import sys
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Final
from zlib import crc32

from pushsalt.index import files
from pushsalt.index.format import Damage, decode, encode, escape
from pushsalt.index.segment import (
    GONE,
    HEADER,
    MAGIC,
    MAGIC_GONE,
    NOBODY,
    PLACE,
    POSTING,
    Segment,
    pairs_text,
    posting_crc,
)
from pushsalt.index.table import BLOCK, CHUNK, INDEX, OWNER, TABLE, Place, Table

#: (type, id) -> manager, or None for what was deleted
Changes = Mapping[tuple[str, str], str | None]
_BUFFER: Final = 1 << 20


def merge(path: Path, base: Segment | None, changes: Changes, *, lowest: bool = True) -> None:
    """Write a segment of these entries, synced. ``lowest``: none will be below it. Raises Damage when the old one is;

    OSError.
    """
    if base is not None and base.gone and lowest:
        changes = {**base.entries(), **changes}
        base = None
    with files.new_file(path) as fd:
        _Merge(fd, base, lowest).run(changes)


class _Out:
    """Bytes written one after the other, and where they are."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._parts: list[bytes] = []
        self._pending = 0
        self.at = 0

    def add(self, data: bytes) -> int:
        """The place that they will have."""
        place = self.at
        self.at += len(data)
        self._parts.append(data)
        self._pending += len(data)
        if self._pending >= _BUFFER:
            self.flush()
        return place

    def flush(self) -> None:
        files.write(self._fd, b"".join(self._parts))
        self._parts.clear()
        self._pending = 0


class _Type:
    """A type on its way: its ids in order, and of each the number of its manager (by ``_Merge.names``)."""

    def __init__(self, table: Table | None, gone: int | None) -> None:
        #: None when the ids are those of the table, so that its bytes serve as they are
        self.table = table
        self.ids: list[str] = []
        self.owners = array("I")
        self.rows = table.rows() if table is not None else b""
        #: whether the rows serve as they are, too
        self.same = True
        if table is not None:
            self.owners.frombytes(self.rows)
            if sys.byteorder == "big":
                self.owners.byteswap()
            if gone is not None:
                self.owners = array("I", [gone if number == NOBODY else number for number in self.owners])

    def names(self) -> list[str]:
        """The old ids, in order."""
        names = decode(self.table.text()[1:-1]).split("\0") if self.table is not None and self.owners else []
        if len(names) != len(self.owners):
            raise Damage("a table has too few names")
        return names


class _Merge:
    def __init__(self, fd: int, base: Segment | None, lowest: bool) -> None:
        self.fd = fd
        self.base = base
        self.lowest = lowest
        self.out = _Out(fd)
        managers = base.manager_table if base is not None else None
        #: managers by number: the old ones, then those that are new
        self.names: list[str] = decode(managers.text()[1:-1]).split("\0") if managers and managers.place.total else []
        self.numbers = {name: number for number, name in enumerate(self.names)}
        rows = managers.rows() if managers else b""
        self.old = list(PLACE.iter_unpack(rows))
        self.counts = [count for _, _, count in self.old]
        #: what is gone has a number too, as long as it is merged, and a posting
        self.gone = self._number(GONE)
        self.old.append((0, 0, 0))
        if base is not None and base.gone:
            length, count = base.posting_length(base.postings_place), base.count - sum(self.counts)
            self.old[-1] = (base.postings_place, length, count)
            self.counts[-1] = count
        #: number of a manager -> type -> ids
        self.added: dict[int, dict[str, list[str]]] = {}
        self.removed: dict[int, dict[str, set[str]]] = {}

    def run(self, changes: Changes) -> None:
        self.out.add(bytes(HEADER.size))
        types = self._types(_by_type(changes))
        gone = [(GONE, self.gone)] if self.counts[self.gone] else []
        order = sorted((name, at) for at, name in enumerate(self.names) if self.counts[at] and at != self.gone)
        final = array("I", [NOBODY]) * len(self.names)
        for place, (_, number) in enumerate(order):
            final[number] = place
        same = not gone and list(final[: len(order)]) == list(range(len(order))) and len(order) == len(self.names) - 1
        moved = None if same else final

        rows = b"".join([TABLE.pack(*self._ids(kind, moved)) for _, kind in types])
        types_place = self._table([name for name, _ in types], rows, TABLE.size)
        postings = self.out.at
        places = self._postings([*gone, *order])[len(gone) :]
        length = self.out.at - postings
        managers_place = self._table([name for name, _ in order], b"".join(places), PLACE.size)
        size = self.out.at + HEADER.size
        fields = (sum(self.counts), size, TABLE.pack(*types_place), TABLE.pack(*managers_place), postings, length)
        header = HEADER.pack(MAGIC_GONE if gone else MAGIC, *fields, 0)[: -OWNER.size]
        header += OWNER.pack(crc32(header))
        self.out.add(header)
        self.out.flush()
        os.pwrite(self.fd, header, 0)

    # --- the view by type --------------------------------------------------------------------------------------------

    def _types(self, changes: dict[str, dict[str, str | None]]) -> list[tuple[str, _Type]]:
        """All types that have entries, in order, with these changes made."""
        table = self.base.type_table if self.base is not None else None
        old = decode(table.text()[1:-1]).split("\0") if table is not None and table.place.total else []
        rows = table.rows() if table is not None else b""
        tables = dict(zip(old, TABLE.iter_unpack(rows), strict=True))
        found = []
        for name in sorted({*old, *changes}):
            kind = _Type(None, None)
            if self.base is not None and name in tables:
                kind = _Type(self.base.table_at(Place(*tables[name])), self.gone if self.base.gone else None)
            if name in changes:
                self._change(name, kind, changes[name])
            if kind.owners:
                found.append((name, kind))
        return found

    def _change(self, name: str, kind: _Type, changes: dict[str, str | None]) -> None:
        ids, owners = kind.names(), kind.owners
        merged: list[str] = []
        managed = array("I")
        at, moved = 0, not ids
        for id in sorted(changes):
            place = bisect_left(ids, id, at)
            merged += ids[at:place]
            managed += owners[at:place]
            there = place < len(ids) and ids[place] == id
            at = place + there
            old = owners[place] if there else None
            manager = changes[id]
            new = self._number(manager) if manager is not None else None if self.lowest else self.gone
            if new is not None:
                merged.append(id)
                managed.append(new)
            if new == old:
                continue
            moved = moved or new is None or old is None
            kind.same = False
            if new is not None:
                self.counts[new] += 1
                self.added.setdefault(new, {}).setdefault(name, []).append(id)
            if old is not None:
                self.counts[old] -= 1
                self.removed.setdefault(old, {}).setdefault(name, set()).add(id)
        kind.owners = managed + owners[at:]
        if moved:
            kind.table = None
            kind.ids = merged + ids[at:]

    def _number(self, manager: str) -> int:
        number = self.numbers.get(manager)
        if number is None:
            number = self.numbers[manager] = len(self.names)
            self.names.append(manager)
            self.counts.append(0)
        return number

    def _ids(self, kind: _Type, moved: array[int] | None) -> Place:
        if kind.same and moved is None and kind.table is not None:
            table = kind.table
            return self._place(table.text(), kind.rows, table.index(), table.place.total)
        owners = array("I", map(moved.__getitem__, kind.owners)) if moved is not None else kind.owners
        if sys.byteorder == "big":
            owners = array("I", owners)
            owners.byteswap()
        rows = owners.tobytes()
        if kind.table is None:
            return self._table(kind.ids, rows, OWNER.size)
        return self._copied(kind.table, rows)

    def _copied(self, table: Table, rows: bytes) -> Place:
        """A table whose names stay."""
        text, index = table.text(), bytearray(table.index())
        blocks, _ = INDEX.unpack_from(index)
        places = struct.unpack_from(f"<{blocks + 1}Q", index, INDEX.size)
        for number in range(blocks):
            names = text[places[number] : places[number + 1] + 1]
            block = rows[number * BLOCK * OWNER.size : (number + 1) * BLOCK * OWNER.size]
            OWNER.pack_into(index, INDEX.size + 8 * (blocks + 1) + 4 * number, crc32(block, crc32(names)))
        return self._place(text, rows, bytes(index), table.place.total)

    # --- the view by manager -----------------------------------------------------------------------------------------

    def _postings(self, order: Sequence[tuple[str, int]]) -> list[bytes]:
        """Write the postings; their rows."""
        rows = []
        base = self.base
        for name, number in order:
            if number < len(self.old) and number not in self.added and number not in self.removed:
                assert base is not None
                place, length, count = self.old[number]
                data = base.raw_posting(place, length)
            else:
                text = encode(f"{name}\1{pairs_text(self._runs(number))}")
                data = POSTING.pack(len(text), posting_crc(text)) + text
                count = self.counts[number]
            rows.append(PLACE.pack(self.out.add(data), len(data), count))
        return rows

    def _runs(self, number: int) -> list[tuple[str, list[str]]]:
        runs: dict[str, list[str]] = {}
        place, length, _ = self.old[number] if number < len(self.old) else (0, 0, 0)
        if length:
            assert self.base is not None
            text = decode(self.base.raw_posting(place, length)[POSTING.size :])
            for run in text.split("\1")[1:]:
                type, *ids = run.split("\0")
                runs[type] = ids
        elif number not in self.removed:
            return sorted(self.added[number].items())  # ids came in order
        for type, gone in self.removed.get(number, {}).items():
            runs[type] = [id for id in runs[type] if id not in gone]
        for type, new in self.added.get(number, {}).items():
            runs[type] = sorted([*runs.get(type, ()), *new])
        return [(type, ids) for type, ids in sorted(runs.items()) if ids]

    # --- tables ------------------------------------------------------------------------------------------------------

    def _table(self, names: Sequence[str], rows: bytes, row: int) -> Place:
        join = "\0".join
        texts = [encode("\0" + join(names[at : at + BLOCK])) for at in range(0, len(names), BLOCK)]
        size = BLOCK * row
        blocks = (rows[at : at + size] for at in range(0, len(rows), size))
        crcs = [crc32(block, crc32(b"\0", crc32(text))) for block, text in zip(blocks, texts, strict=True)]
        return self._place(b"".join([*texts, b"\0"]), rows, _index(texts, crcs, names[::BLOCK]), len(names))

    def _place(self, text: bytes, rows: bytes, index: bytes, count: int) -> Place:
        crcs = crc32(text), crc32(rows), crc32(index)
        return Place(self.out.add(text), len(text), self.out.add(rows), self.out.add(index), len(index), count, *crcs)


def _index(texts: Sequence[bytes], crcs: Sequence[int], firsts: Sequence[str]) -> bytes:
    count = len(crcs)
    places = accumulate(map(len, texts), initial=0)
    chunks = [encode("\0" + "\0\1\0".join(firsts[at : at + CHUNK]) + "\0") for at in range(0, count, CHUNK)]
    starts = [*accumulate((len(chunk) + 1 for chunk in chunks), initial=0)][: len(chunks)]
    names = b"\1".join(chunks)
    numbers = struct.pack(f"<{count + 1}Q{count}I{len(starts)}I", *places, *crcs, *starts)
    return INDEX.pack(count, len(names)) + numbers + names


def _by_type(changes: Changes) -> dict[str, dict[str, str | None]]:
    """The changes, escaped and in order, by type."""
    found: dict[str, dict[str, str | None]] = {}
    for (type, id), manager in changes.items():
        found.setdefault(type, {})[id] = manager
    return {escape(type): _escaped(of_type) for type, of_type in found.items()}


def _escaped(entries: dict[str, str | None]) -> dict[str, str | None]:
    if _plain(entries) and _plain(manager for manager in entries.values() if manager is not None):
        return entries
    return {escape(id): None if manager is None else escape(manager) for id, manager in entries.items()}


def _plain(names: Iterable[str]) -> bool:
    text = "".join(names)
    return not any(mark in text for mark in "\0\1\2")


__all__ = ["Changes", "merge"]
