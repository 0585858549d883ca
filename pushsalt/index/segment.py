"""A segment of resources: an immutable file with two views of its entries.

The views, by type and by manager, contain all entries each. Damage in one is repaired from the other. Layout::

    header      "psresrc3" ("psresrc4" if there are deleted ones), entries u64, size of the file u64, table of
                types, table of managers, place and length of the postings u64 u64, filter: place, blocks and hashes u64
                each, CRC-32 of the blocks u64 and of its index u64; CRC-32 of all that
    by type     for each type a table of its ids, each with the number of its manager
    types       the table of types, each with the place of the table of its ids
    postings    for each manager: length u32, CRC-32 of length and text u32, text: manager \\1 type \\0 id \\0 … \\1 …
    managers    the table of managers, each with place u64, length u64 and number of entries u64 of its posting
    filter      of the resources in this segment (``filters``)
    header      once more

Segments of the older format ("psresrc1", "psresrc2" with deleted ones) have no filter, nor its fields in the header.

A deleted resource, which older segments may contain, has ff ff ff ff as the number of its manager. The ids of deleted
resources are in the first posting; its manager is \\2, which is not in the table of managers.

A table (``table``) has sorted names and rows of equal size, and is described by nine u64.

Every look-up verifies the checksum of what it reads, each time: a block, or a whole list.
"""

from __future__ import annotations

import struct
from collections.abc import Collection, Iterator, Sequence
from functools import cached_property
from itertools import chain, repeat
from typing import Final
from zlib import crc32

from pushsalt.index import filters
from pushsalt.index.filters import Filter, hash_keys
from pushsalt.index.format import Damage, decode, escape, split
from pushsalt.index.layers import MISSING, ByType, Key, Missing, Recent
from pushsalt.index.table import OWNER, TABLE, File, Place, Table

MAGIC: Final = b"psresrc3"
MAGIC_GONE: Final = b"psresrc4"
#: number and escaped name of the manager of deleted resources
NOBODY: Final = 0xFFFFFFFF
GONE: Final = "\2"
HEADER: Final = struct.Struct(f"<8sQQ{TABLE.size}s{TABLE.size}s7QI")
_HEADER_BEFORE: Final = struct.Struct(f"<8sQQ{TABLE.size}s{TABLE.size}s2QI")
#: header -> its first bytes, without and with deleted entries
_HEADERS: Final = {HEADER: (MAGIC, MAGIC_GONE), _HEADER_BEFORE: (b"psresrc1", b"psresrc2")}
POSTING: Final = struct.Struct("<II")
PLACE: Final = struct.Struct("<3Q")

#: if more than one of so many ids is needed, all names of a table are read at once
_FEW: Final = 16

Triple = tuple[str, str, str]


class Segment:
    """The entries of one file. All methods raise Damage; ``salvage`` reads as much as possible of a damaged file."""

    def __init__(self, path: str, by_type: ByType | None = None) -> None:
        """``by_type``: all its entries, if they are in memory because this process wrote the file."""
        self._file = File(path)
        self._header()
        self.by_type = by_type
        self._tables: dict[str, Table | None] = {}
        #: managers by number, as far as they were looked up
        self._names: dict[int, str] = {}

    def _header(self) -> None:
        file = self._file
        for at, form in ((at, form) for at in (0, -1) for form in _HEADERS):
            at = at and file.size - form.size
            if at < 0 or at + form.size > file.size:
                continue
            data = file.read(at, form.size)
            magic, count, size, types, managers, *places, crc = form.unpack(data)
            if magic in _HEADERS[form] and crc32(data[: -OWNER.size]) == crc:
                break
        else:
            raise Damage("both headers of the segment are damaged")
        self._form = form
        self.gone: bool = magic == _HEADERS[form][1]
        self.count: int = count
        self.size: int = size
        self.postings_place: int = places[0]
        self.postings_length: int = places[1]
        self._types_place: bytes = types
        self._managers_place: bytes = managers
        #: None in the older format
        self.filter = Filter(file, filters.Place(*places[2:])) if form is HEADER else None

    # Made on demand: most segments lack the first resources that a process looks up.

    @cached_property
    def type_table(self) -> Table:
        return Table(self._file, Place(*TABLE.unpack(self._types_place)), TABLE.size)

    @cached_property
    def manager_table(self) -> Table:
        return Table(self._file, Place(*TABLE.unpack(self._managers_place)), PLACE.size)

    @property
    def name(self) -> str:
        return self._file.name

    def table(self, type: str) -> Table | None:
        """The table of a type's ids."""
        try:
            return self._tables[type]
        except KeyError:
            row = self.type_table.find(type)
            table = None if row is None else Table(self._file, Place(*TABLE.unpack(row)), OWNER.size)
            self._tables[type] = table
            return table

    def find(self, type: str, id: str, key_hash: int) -> str | Missing | None:
        """The manager of a resource; None if it is deleted here."""
        if self.by_type is not None:
            owners = self.by_type.get(type)
            return MISSING if owners is None else owners.get(id, MISSING)
        if self.filter is not None and not self.filter.has(key_hash):
            return MISSING
        try:
            table = self._tables[type]
        except KeyError:
            table = self.table(type)
        row = table.find(id) if table is not None else None
        if row is None:
            return MISSING
        (number,) = OWNER.unpack(row)
        try:
            return self._names[number]
        except KeyError:
            if number == NOBODY and self.gone:
                return None
            name = self._names[number] = self.manager_table.name(number)
            return name

    def types(self) -> list[str]:
        return self.type_table.sorted()

    def managers(self) -> list[str]:
        return self.manager_table.sorted()

    def firsts(self, managers: Collection[str]) -> dict[str, Key]:
        """manager -> one of its resources, for those of the managers that have entries."""
        keys: dict[str, Key] = {}
        if managers:
            rows = PLACE.iter_unpack(self.manager_table.rows())
            for name, (place, length, _) in zip(self.manager_table.names(), rows, strict=False):
                if name in managers:
                    _, run, *_ = self._posting(self._file.read(place, length)).split(b"\1", 2)
                    type, id, *_ = split(decode(b"\0".join(run.split(b"\0", 2)[:2])))
                    keys[name] = type, id
        return keys

    def has_living(self, type: str) -> bool:
        """Whether there are resources of the type here that are not deleted."""
        table = self.table(type)
        if table is None or not self.gone:
            return table is not None
        rows = table.rows()
        return rows != OWNER.pack(NOBODY) * table.place.total

    def ids(self, type: str) -> tuple[list[str], set[str]]:
        """The sorted ids of a type, and its deleted ids."""
        table = self.table(type)
        if table is None:
            return [], set()
        owners = table.owners() if self.gone else ()
        if NOBODY not in owners:
            return table.sorted(), set()
        names = table.names()
        gone = {name for name, number in zip(names, owners, strict=False) if number == NOBODY}
        return sorted(name for name in names if name not in gone), gone

    def owners(self, type: str) -> dict[str, str | None]:
        """id -> manager, for a type, from the view by type and the table of managers only."""
        return self._owners(type, self.manager_table.names())

    def by_manager(self, manager: str) -> list[Key]:
        posting = self.posting(manager)
        if posting is None:
            return []
        _, _, runs = decode(posting).partition("\1")
        return _pairs(runs) if "\2" not in runs else sorted(_pairs(runs))

    def among(self, keys: Sequence[Key], hashes: Sequence[int]) -> set[Key]:
        """Those of the resources for which this segment has an entry; ``hashes`` are their hashes."""
        if self.by_type is not None:
            by_type = self.by_type
            return {key for key in keys if key[0] in by_type and key[1] in by_type[key[0]]}
        likely = keys if self.filter is None else self.filter.among(keys, hashes)
        matches: set[Key] = set()
        for type in {type for type, _ in likely}:
            matches.update(zip(repeat(type), self._among(type, [id for of, id in likely if of == type])))
        return matches

    def _among(self, type: str, ids: Sequence[str]) -> set[str]:
        table = self.table(type)
        if table is None:
            return set()
        if table.place.total <= _FEW * len(ids):
            return set(table.names()).intersection(ids)
        self._file.look_ahead(len(ids))
        return {id for id in ids if table.find(id) is not None}

    def entries(self) -> ByType:
        """All entries, from the view by type."""
        if self.by_type is not None:
            return self.by_type
        managers = self.manager_table.names()
        return {type: self._owners(type, managers) for type in self.type_table.names()}

    def _owners(self, type: str, managers: list[str]) -> dict[str, str | None]:
        table = self.table(type)
        return {} if table is None else dict(self._owned(table, managers))

    def _owned(self, table: Table, managers: list[str]) -> Iterator[tuple[str, str | None]]:
        """Yields (id, manager) of a table of ids. The iteration raises Damage."""
        numbers = table.owners()
        try:
            if self.gone:
                owners: list[str | None] = [None if number == NOBODY else managers[number] for number in numbers]
            else:
                owners = list(map(managers.__getitem__, numbers))
            yield from zip(table.names(), owners, strict=True)
        except (IndexError, ValueError):
            raise Damage("a table has too few rows, or a row has an invalid number") from None

    def posting(self, manager: str) -> bytes | None:
        """The raw text of a manager's posting."""
        row = self.manager_table.find(manager)
        if row is None:
            return None
        place, length, _ = PLACE.unpack(row)
        return self._posting(self._file.read(place, length))

    def table_at(self, place: Place) -> Table:
        """The table of ids at this place."""
        return Table(self._file, place, OWNER.size)

    def posting_length(self, place: int) -> int:
        """The length of a posting with its head."""
        length, _ = POSTING.unpack(self._file.read(place, POSTING.size))
        return POSTING.size + int(length)

    def raw_posting(self, place: int, length: int) -> bytes:
        """A posting with its head."""
        data = self._file.read(place, length)
        self._posting(data)
        return data

    def _posting(self, data: bytes) -> bytes:
        if len(data) < POSTING.size:
            raise Damage("a posting is cut off")
        length, crc = POSTING.unpack_from(data)
        text = data[POSTING.size : POSTING.size + length]
        if len(text) != length or posting_crc(text) != crc:
            raise Damage("a posting is damaged")
        return text

    # --- all of it -------------------------------------------------------------------------------------------------

    def by_type_triples(self) -> Iterator[tuple[str, str, str | None]]:
        """All entries, from the view by type and the table of managers only."""
        managers = self.manager_table.names()
        for type in self.type_table.names():
            table = self.table(type)
            assert table is not None
            for id, manager in self._owned(table, managers):
                yield type, id, manager

    def by_manager_triples(self) -> Iterator[tuple[str, str, str | None]]:
        """All entries, from the postings only."""
        at, end = self.postings_place, self.postings_place + self.postings_length
        while at < end:
            length = self.posting_length(at)
            text = decode(self._posting(self._file.read(at, length)))
            name, _, runs = text.partition("\1")
            manager = None if name == GONE else split(name)[0]
            for type, id in _pairs(runs):
                yield type, id, manager
            at += length

    def salvage(self) -> Recent:
        """All entries, from an undamaged view. Raises Damage with both reasons if both are damaged."""
        reasons = []
        for view in (self.by_type_triples, self.by_manager_triples):
            try:
                recent = Recent(view(), self.name)
            except (Damage, IndexError) as exc:
                reasons.append(str(exc))
                continue
            missing = self.count - sum(map(len, recent.by_type.values()))
            if not missing:
                return recent
            reasons.append(f"{missing} entries are missing")
        raise Damage("; ".join(reasons))

    def problems(self) -> list[str]:
        """Damage of the file, as texts: verifies all checksums, and that the views agree."""
        problems = []
        if self._file.size != self.size:
            problems.append(f"the segment has {self._file.size} bytes instead of {self.size}")
        for at in (0, self.size - self._form.size):
            try:
                data = self._file.read(at, self._form.size)
            except Damage:
                continue
            if crc32(data[: -OWNER.size]) != OWNER.unpack(data[-OWNER.size :])[0]:
                problems.append("a header of the segment is damaged")
        sums = set()
        for name, view in (("type", self.by_type_triples), ("manager", self.by_manager_triples)):
            try:
                count = total = 0
                for entry in view():
                    count += 1
                    total += hash(entry)
                sums.add((count, total))
            except (Damage, IndexError) as exc:
                problems.append(f"by {name}: {exc}")
        if len(sums) > 1 or any(count != self.count for count, _ in sums):
            problems.append("the views by type and by manager disagree")
        try:
            self.manager_table.check()
            self.type_table.check()
            for row in TABLE.iter_unpack(self.type_table.rows()):
                self.table_at(Place(*row)).check()
            if not self._is_filter_complete():
                problems.append("the filter lacks entries")
        except Damage as exc:
            problems.append(str(exc))
        return list(dict.fromkeys(problems))

    def _is_filter_complete(self) -> bool:
        if self.filter is None:
            return True
        self.filter.check()
        texts = []
        for name, row in zip(self.type_table.names(), TABLE.iter_unpack(self.type_table.rows()), strict=True):
            texts.append(hash_keys(escape(name), self.table_at(Place(*row)).text()[1:-1]))
        hashes = [key_hash for text in texts for key_hash in text]
        return len(self.filter.among(hashes, hashes)) == len(hashes)


def _pairs(runs: str) -> list[tuple[str, str]]:
    """(type, id) pairs from a posting's runs."""
    pairs: list[tuple[str, str]] = []
    for run in runs.split("\1"):
        type, *ids = split(run)
        pairs += zip(repeat(type), ids)
    return pairs


def posting_crc(text: bytes) -> int:
    """The CRC-32 of length and text, so that zero bytes are not a valid empty posting."""
    return crc32(text, crc32(OWNER.pack(len(text))))


def pairs_text(runs: list[tuple[str, list[str]]]) -> str:
    """The runs of a posting from escaped names; the inverse of ``_pairs``."""
    return "\1".join("\0".join(chain((type,), ids)) for type, ids in runs)
