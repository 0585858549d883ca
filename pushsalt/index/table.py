"""Tables of a segment of resources, and its file.

A table has sorted names and rows of equal size, in blocks of 16. It is described by nine u64: place and length of the
names, place of the rows, place and length of the index, number of names, CRC-32 of names, of rows and of the index::

    names       \\0 name \\0 name … \\0        (the names of a block, or all names, are one slice)
    rows        one per name
    index       count of blocks u32, length of the first names u32; for each block: offset of its names u64 (and the end
                offset), CRC-32 of its names and rows u32; the offset of every 256th first name u32; then the blocks'
                first names, \\0 name \\0, joined by \\1

Every look-up verifies the checksum of what it reads, each time: a block, or a whole list.
"""

from __future__ import annotations

import mmap
import os
import struct
import sys
from bisect import bisect_right
from collections.abc import Sequence
from typing import Final, NamedTuple
from zlib import crc32

from pushsalt.index.files import FLAGS
from pushsalt.index.format import Damage, decode, escape, split

BLOCK: Final = 16
CHUNK: Final = 256
TABLE: Final = struct.Struct("<9Q")
OWNER: Final = struct.Struct("<I")
INDEX: Final = struct.Struct("<II")
#: after this number of look-ups a file is mapped
_UNMAPPED: Final = 16


class Place(NamedTuple):
    """A table's description, as stored in the file."""

    names: int
    names_length: int
    rows: int
    index_at: int
    index_length: int
    total: int
    names_crc: int
    rows_crc: int
    index_crc: int


class Table:
    """Sorted names, each with a row. All methods raise Damage."""

    __slots__ = (
        "_cache",
        "_chunks",
        "_crcs",
        "_file",
        "_firsts",
        "_names",
        "_places",
        "_row",
        "_rows",
        "_rows_end",
        "_starts",
        "_tops",
        "place",
    )

    def __init__(self, file: File, place: Place, row: int) -> None:
        self.place = place
        self._file = file
        self._row = row
        self._names = place.names
        self._rows = place.rows
        self._rows_end = place.rows + place.total * row
        #: the raw first names; every CHUNKth of them (empty until they are read); decoded ones by chunk
        self._firsts = b""
        self._tops: list[bytes] = []
        self._starts: Sequence[int] = ()
        self._chunks: list[list[bytes] | None] = []
        self._places: Sequence[int] = ()
        self._crcs: Sequence[int] = ()
        self._cache: dict[int, list[str]] = {}

    def _load(self) -> None:
        data = self.index()
        blocks, length = INDEX.unpack_from(data)
        self._places = numbers("Q", data, INDEX.size, blocks + 1)
        self._crcs = numbers("I", data, INDEX.size + 8 * blocks + 8, blocks)
        if max(self._names + self._places[blocks], self._rows_end - 1) >= self._file.size:
            raise Damage("the segment is cut off")
        self._firsts = data[len(data) - length :]
        chunks = (blocks + CHUNK - 1) // CHUNK
        self._starts = numbers("I", data, len(data) - length - 4 * chunks, chunks)
        self._chunks = [None] * chunks
        self._tops = [self._firsts[at : self._firsts.find(b"\0", at + 1) + 1] for at in self._starts]

    def _chunk(self, number: int) -> list[bytes]:
        """The first names of the blocks of a chunk."""
        end = self._starts[number + 1] - 1 if number + 1 < len(self._starts) else len(self._firsts)
        chunk = self._chunks[number] = self._firsts[self._starts[number] : end].split(b"\1")
        return chunk

    def _block(self, number: int) -> tuple[bytes, bytes]:
        """Names, each between NULs, and rows of a block."""
        at = self._rows + number * BLOCK * self._row
        end = min(at + BLOCK * self._row, self._rows_end)
        begin = self._places[number]
        names = self._file.read(self._names + begin, self._places[number + 1] + 1 - begin)
        rows = self._file.read(at, end - at)
        if crc32(rows, crc32(names)) != self._crcs[number]:
            raise Damage("a block of a table is damaged")
        return names, rows

    def find(self, name: str) -> bytes | None:
        """The row of a name."""
        # The hot path of all look-ups: finds and verifies a block without further calls.
        key = (f"\0{name}\0" if name.isprintable() else f"\0{escape(name)}\0").encode("utf-8", "surrogatepass")
        if not self._tops:
            if self.place.total <= BLOCK:
                return self._find_alone(key)
            self._load()
        chunk = bisect_right(self._tops, key) - 1
        if chunk < 0:
            return None
        number = chunk * CHUNK + bisect_right(self._chunks[chunk] or self._chunk(chunk), key) - 1
        file, row = self._file, self._row
        data = file.map if file.map is not None else file.mapped()
        if data is None:
            names, rows = self._block(number)
        else:
            begin = self._rows + number * row * BLOCK
            end = begin + row * BLOCK
            if os.lseek(file.fd, 0, 2) < file.size:
                raise Damage("the segment is cut off")
            names = data[self._names + self._places[number] : self._names + self._places[number + 1] + 1]
            rows = data[begin : end if end < self._rows_end else self._rows_end]
            if crc32(rows, crc32(names)) != self._crcs[number]:
                raise Damage("a block of a table is damaged")
        at = names.find(key)
        if at < 0:
            return None
        at = names.count(b"\0", 0, at) * row
        return rows[at : at + row]

    def _find_alone(self, key: bytes) -> bytes | None:
        """The row of a name in a table of one block, which needs no index."""
        if not self.place.total:
            return None
        names, rows = self.text(), self.rows()
        at = names.find(key)
        if at < 0:
            return None
        at = names.count(b"\0", 0, at) * self._row
        return rows[at : at + self._row]

    def name(self, number: int) -> str:
        """The name with this number."""
        block = self._cache.get(number // BLOCK)
        if block is None:
            if not self._tops:
                self._load()
            if number >= self.place.total:
                raise Damage("a number in a table is invalid")
            block = self._cache[number // BLOCK] = split(decode(self._block(number // BLOCK)[0][1:-1]))
        return block[number % BLOCK]

    def names(self) -> list[str]:
        """All names by number; they are sorted unless escaped characters change the order."""
        if not self.place.total:
            return []
        names = split(decode(self.text()[1:-1]))
        if len(names) != self.place.total:
            raise Damage("a table has too few names")
        return names

    def sorted(self) -> list[str]:
        """All names, sorted."""
        if not self.place.total:
            return []
        text = decode(memoryview(self.text())[1:-1])
        return text.split("\0") if "\2" not in text else sorted(split(text))

    def text(self) -> bytes:
        """The raw bytes of all names."""
        data = self._file.read(self.place.names, self.place.names_length)
        if crc32(data) != self.place.names_crc:
            raise Damage("the names of a table are damaged")
        return data

    def rows(self) -> bytes:
        """The raw bytes of all rows."""
        data = self._file.read(self._rows, self._rows_end - self._rows)
        if crc32(data) != self.place.rows_crc:
            raise Damage("the rows of a table are damaged")
        return data

    def owners(self) -> tuple[int, ...]:
        """The rows of a table of ids as numbers of managers."""
        rows = self.rows()
        return struct.unpack(f"<{len(rows) // OWNER.size}I", rows)

    def check(self) -> None:
        """Verify all checksums."""
        self.text()
        self.rows()
        if self.place.total:
            self._load()
        for number in range(len(self._crcs)):
            self._block(number)

    def index(self) -> bytes:
        """The raw bytes of the index."""
        data = self._file.read(self.place.index_at, self.place.index_length)
        if crc32(data) != self.place.index_crc:
            raise Damage("the index of a table is damaged")
        return data


class File:
    """A file that is safe to read even if it is truncated meanwhile.

    It is mapped after a number of look-ups: mapping costs as much as several reads, and the first access to a page as
    much as two or three.
    """

    def __init__(self, path: str) -> None:
        self.name = path.rpartition("/")[2]
        self.fd = os.open(path, os.O_RDONLY | FLAGS)
        self.size = os.lseek(self.fd, 0, os.SEEK_END)
        self.map: mmap.mmap | None = None
        self._looks = 0

    def look_ahead(self, looks: int) -> None:
        """Announce so many look-ups."""
        self._looks += looks

    def mapped(self) -> mmap.mmap | None:
        """The mapped file; None as long as there were few look-ups. Raises Damage."""
        self._looks += 1
        if self._looks > _UNMAPPED:
            try:
                self.map = mmap.mmap(self.fd, self.size, prot=mmap.PROT_READ)
            except ValueError:
                raise Damage("the segment is cut off") from None
        return self.map

    def read(self, at: int, length: int) -> bytes:
        """Read bytes. Raises Damage beyond the end of the file."""
        if at + length > self.size:
            raise Damage("the segment is cut off")
        data = os.pread(self.fd, length, at)
        while len(data) < length:
            more = os.pread(self.fd, length - len(data), at + len(data))
            if not more:
                raise Damage("the segment is cut off")
            data += more
        return data

    def __del__(self) -> None:
        # The mapping is not closed here, since another thread may read it: it ends with the last reference.
        try:
            os.close(self.fd)
        except (AttributeError, OSError):
            pass


def numbers(kind: str, data: bytes, at: int, count: int) -> Sequence[int]:
    """Integers in raw bytes, unpacked on access."""
    if sys.byteorder == "big":
        return struct.unpack_from(f"<{count}{kind}", data, at)
    view = memoryview(data)[at : at + count * struct.calcsize(f"={kind}")]
    return view.cast("Q") if kind == "Q" else view.cast("I")
