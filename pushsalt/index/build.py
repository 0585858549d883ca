"""Writes a new segment of resources from an old one and later writes. Unchanged data is copied as bytes.

Deleted resources are left out, or kept as deleted if older segments below may have them.

Names are handled in their escaped form, as in the file; they are sorted by their bytes.
"""

from __future__ import annotations

import struct
import sys
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from itertools import starmap
from pathlib import Path
from typing import Final
from zlib import crc32

from pushsalt.index import files, fresh
from pushsalt.index.filters import Filter, blocks_for, hash_keys
from pushsalt.index.format import Damage, decode, encode, escape
from pushsalt.index.layers import ByType, united
from pushsalt.index.output import Output, posting
from pushsalt.index.segment import GONE, NOBODY, PLACE, POSTING, Segment, pairs_text
from pushsalt.index.table import BLOCK, INDEX, OWNER, TABLE, Place, Table

#: a filter with more than this multiple of the hashes that a new one is sized for is built again
_FULL: Final = 1.25


def merge(path: Path, base: Segment | None, changes: ByType, *, lowest: bool = True) -> None:
    """Write a segment of these entries, synced. ``lowest``: no segment is below it. Raises Damage if ``base`` is
    damaged, and OSError."""
    if base is not None and base.gone and lowest:
        changes = united([base.entries(), changes])
        base = None
    with files.new_file(path) as fd:
        out = Output(fd)
        if base is None:
            fresh.write(out, changes, lowest=lowest)
        else:
            _Merge(out, base, lowest).run(changes)


class _Type:
    """A type that is being merged: sorted ids, each with the number of its manager (index in ``_Merge.names``)."""

    def __init__(self, table: Table | None, gone: int | None) -> None:
        #: None if the ids are those of ``table``, whose bytes are copied then
        self.table = table
        self.ids: list[str] = []
        self.owners = array("I")
        self.rows = table.rows() if table is not None else b""
        #: whether the rows are unchanged, too
        self.same = True
        if table is not None:
            self.owners.frombytes(self.rows)
            if sys.byteorder == "big":
                self.owners.byteswap()
            if gone is not None:
                self.owners = array("I", [gone if number == NOBODY else number for number in self.owners])

    def names(self) -> list[str]:
        """The old ids, sorted."""
        names = decode(self.table.text()[1:-1]).split("\0") if self.table is not None and self.owners else []
        if len(names) != len(self.owners):
            raise Damage("a table has too few names")
        return names


class _Merge:
    def __init__(self, out: Output, base: Segment, lowest: bool) -> None:
        self.out = out
        self.base = base
        self.lowest = lowest
        managers = base.manager_table
        #: managers by number: the old ones, then new ones
        self.names: list[str] = decode(managers.text()[1:-1]).split("\0") if managers.place.total else []
        self.numbers = {name: number for number, name in enumerate(self.names)}
        self.old = list(PLACE.iter_unpack(managers.rows()))
        self.counts = [count for _, _, count in self.old]
        #: deleted resources have a manager number too during the merge, and a posting
        self.gone = self._number(GONE)
        self.old.append((0, 0, 0))
        if base.gone:
            length, count = base.posting_length(base.postings_place), base.count - sum(self.counts)
            self.old[-1] = (base.postings_place, length, count)
            self.counts[-1] = count
        #: number of a manager -> type -> ids
        self.added: dict[int, dict[str, list[str]]] = {}
        self.removed: dict[int, dict[str, set[str]]] = {}

    def run(self, changes: ByType) -> None:
        types = self._types({escape(type): _escaped(owners) for type, owners in changes.items()})
        gone = [(GONE, self.gone)] if self.counts[self.gone] else []
        order = sorted((name, at) for at, name in enumerate(self.names) if self.counts[at] and at != self.gone)
        final = array("I", [NOBODY]) * len(self.names)
        for place, (_, number) in enumerate(order):
            final[number] = place
        same = not gone and list(final[: len(order)]) == list(range(len(order))) and len(order) == len(self.names) - 1
        moved = None if same else final

        rows = b"".join([TABLE.pack(*self._ids(kind, moved)) for _, kind in types])
        types_place = self.out.table([name for name, _ in types], rows, TABLE.size)
        begin = self.out.at
        places = self._postings([*gone, *order])[len(gone) :]
        postings = begin, self.out.at - begin
        managers = [name for name, _ in order]
        managers_place = self.out.table(managers, b"".join(places), PLACE.size)
        sought, old = self._hashes(types)
        count = sum(self.counts)
        self.out.finish(
            count,
            gone=bool(gone),
            types=types_place,
            managers=managers_place,
            postings=postings,
            hashes=sought,
            old=old,
        )

    def _hashes(self, types: list[tuple[str, _Type]]) -> tuple[list[Iterable[int]], Filter | None]:
        """(hashes to add, old filter to add them to); if that would be too full: (all hashes, None)."""
        old = self.base.filter
        added = [run for of_type in self.added.values() for run in of_type.items()]
        if old is not None:
            most = _FULL * min(old.place.blocks, blocks_for(sum(self.counts)))
            if blocks_for(old.place.hashes + sum(len(ids) for _, ids in added)) <= most:
                return [hash_keys(type, encode("\0".join(ids))) for type, ids in added], old
        texts = ((type, kind.table.text()[1:-1] if kind.table else encode("\0".join(kind.ids))) for type, kind in types)
        return list(starmap(hash_keys, texts)), None

    # --- the view by type --------------------------------------------------------------------------------------------

    def _types(self, changes: Mapping[str, Mapping[str, str | None]]) -> list[tuple[str, _Type]]:
        """All types that have entries, sorted, with these changes applied."""
        table = self.base.type_table
        old = decode(table.text()[1:-1]).split("\0") if table.place.total else []
        tables = dict(zip(old, TABLE.iter_unpack(table.rows()), strict=True))
        types = []
        for name in sorted({*old, *changes}):
            kind = _Type(None, None)
            if name in tables:
                kind = _Type(self.base.table_at(Place(*tables[name])), self.gone if self.base.gone else None)
            if name in changes:
                self._change(name, kind, changes[name])
            if kind.owners:
                types.append((name, kind))
        return types

    def _change(self, name: str, kind: _Type, changes: Mapping[str, str | None]) -> None:
        ids, owners = kind.names(), kind.owners
        merged: list[str] = []
        managed = array("I")
        at, moved = 0, not ids
        for id in sorted(changes):
            place = bisect_left(ids, id, at)
            merged += ids[at:place]
            managed += owners[at:place]
            exists = place < len(ids) and ids[place] == id
            at = place + exists
            old = owners[place] if exists else None
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
            return self.out.place(table.text(), kind.rows, table.index(), table.place.total)
        owners = array("I", map(moved.__getitem__, kind.owners)) if moved is not None else kind.owners
        if sys.byteorder == "big":
            owners = array("I", owners)
            owners.byteswap()
        rows = owners.tobytes()
        if kind.table is None:
            return self.out.table(kind.ids, rows, OWNER.size)
        return self._copied(kind.table, rows)

    def _copied(self, table: Table, rows: bytes) -> Place:
        """Write a table whose names are unchanged."""
        text, index = table.text(), bytearray(table.index())
        blocks, _ = INDEX.unpack_from(index)
        places = struct.unpack_from(f"<{blocks + 1}Q", index, INDEX.size)
        for number in range(blocks):
            names = text[places[number] : places[number + 1] + 1]
            block = rows[number * BLOCK * OWNER.size : (number + 1) * BLOCK * OWNER.size]
            OWNER.pack_into(index, INDEX.size + 8 * (blocks + 1) + 4 * number, crc32(block, crc32(names)))
        return self.out.place(text, rows, bytes(index), table.place.total)

    # --- the view by manager -----------------------------------------------------------------------------------------

    def _postings(self, order: Sequence[tuple[str, int]]) -> list[bytes]:
        """Write the postings; returns their rows for the table of managers."""
        rows = []
        base = self.base
        for name, number in order:
            if number < len(self.old) and number not in self.added and number not in self.removed:
                place, length, count = self.old[number]
                data = base.raw_posting(place, length)
            else:
                data = posting(f"{name}\1{pairs_text(self._runs(number))}")
                count = self.counts[number]
            rows.append(PLACE.pack(self.out.add(data), len(data), count))
        return rows

    def _runs(self, number: int) -> list[tuple[str, list[str]]]:
        runs: dict[str, list[str]] = {}
        place, length, _ = self.old[number] if number < len(self.old) else (0, 0, 0)
        if length:
            text = decode(self.base.raw_posting(place, length)[POSTING.size :])
            for run in text.split("\1")[1:]:
                type, *ids = run.split("\0")
                runs[type] = ids
        elif number not in self.removed:
            return sorted(self.added[number].items())  # the ids are sorted already
        for type, gone in self.removed.get(number, {}).items():
            runs[type] = [id for id in runs[type] if id not in gone]
        for type, new in self.added.get(number, {}).items():
            runs[type] = sorted([*runs.get(type, ()), *new])
        return [(type, ids) for type, ids in sorted(runs.items()) if ids]


def _escaped(owners: Mapping[str, str | None]) -> Mapping[str, str | None]:
    """The mapping with escaped ids and managers."""
    owners = fresh.escaped(owners)
    managers = {owner: owner and escape(owner) for owner in owners.values()}
    if all(owner == name for owner, name in managers.items()):
        return owners
    return {id: managers[owner] for id, owner in owners.items()}


__all__ = ["merge"]
