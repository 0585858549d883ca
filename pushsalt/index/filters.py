"""The Bloom filter of a segment of resources: it has no false negatives, and about 0.2 % false positives.

Few of many segments have a given resource; the filters rule out most others without reading their tables.
The hash of a resource, the CRC-32 of its escaped type NUL id, sets three bits in one block. Layout::

    blocks      256 bytes each; that of a hash is hash * blocks >> 32, its bits are the lowest eleven bits of the hash,
                the eleven above them, and the lowest eleven of hash * 0x9e3779b1 >> 16; bit n is bit n & 7 of byte
                n >> 3
    index       the CRC-32 of each block u32
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from itertools import chain, compress, repeat
from typing import Final, NamedTuple, TypeVar
from zlib import crc32

from pushsalt.index.format import Damage, encode, escape
from pushsalt.index.table import File, numbers

_T = TypeVar("_T")

_BLOCK: Final = 256
_MIX: Final = 0x9E3779B1
#: hashes per block by which the number of blocks is chosen
_MARKS: Final = 85
#: up to this number of blocks, reading all of them takes as long as reading one
_CHEAP: Final = 20


def hash_key(type: str, id: str) -> int:
    """The 32-bit hash of a resource in the filter."""
    name = f"{type}\0{id}"
    if not (type.isprintable() and id.isprintable()):
        name = f"{escape(type)}\0{escape(id)}"
    return crc32(name.encode("utf-8", "surrogatepass"))


def hash_keys(type: str, ids: bytes) -> Iterable[int]:
    """The hashes of escaped ids, joined by NUL; the type is escaped, too."""
    return map(crc32, ids.split(b"\0"), repeat(crc32(encode(f"{type}\0"))))


class Place(NamedTuple):
    """Position, size and checksums of a filter in a segment file."""

    at: int
    blocks: int
    #: number of hashes that were added
    hashes: int
    crc: int
    index_crc: int


class Filter:
    """The filter of one segment. All methods raise Damage."""

    __slots__ = ("_all", "_crcs", "_file", "_looks", "place")

    def __init__(self, file: File, place: Place) -> None:
        self.place = place
        self._file = file
        #: all blocks, verified; None until all were read
        self._all: bytes | None = None
        self._crcs: Sequence[int] = ()
        self._looks = 0

    def has(self, key_hash: int) -> bool:
        """False if the segment has no entry with this hash; True if it may have one."""
        data, blocks = self._all, self.place.blocks
        at = key_hash * blocks >> 32
        if data is None:
            self._looks += 1
            if self._looks * _CHEAP >= blocks:
                data = self.all()
            else:
                data, at = self._block(at), 0
        at *= _BLOCK
        return bool(
            data
            and data[at + (key_hash >> 3 & 255)] >> (key_hash & 7) & 1
            and data[at + (key_hash >> 14 & 255)] >> (key_hash >> 11 & 7) & 1
            and data[at + (key_hash * _MIX >> 19 & 255)] >> (key_hash * _MIX >> 16 & 7) & 1
        )

    def among(self, items: Sequence[_T], hashes: Sequence[int]) -> list[_T]:
        """The items whose hash (same position in ``hashes``) may be in the segment."""
        self._looks += len(hashes)
        blocks = self.place.blocks
        if self._looks * _CHEAP < blocks:
            return list(compress(items, map(self.has, hashes)))
        data = self.all()
        # The first bit rules out most items, without a function call.
        likely = [data[(one * blocks >> 32) * _BLOCK + (one >> 3 & 255)] >> (one & 7) & 1 for one in hashes if data]
        matches = list(compress(items, likely))
        return list(compress(matches, map(self.has, compress(hashes, likely)))) if matches else matches

    def all(self) -> bytes:
        """All blocks."""
        if self._all is None:
            data = self._file.read(self.place.at, self.place.blocks * _BLOCK)
            if crc32(data) != self.place.crc:
                raise Damage("the blocks of a filter are damaged")
            self._all = data
        return self._all

    def _block(self, number: int) -> bytes:
        at, blocks, *_ = self.place
        if not self._crcs:
            index = self._file.read(at + blocks * _BLOCK, blocks * 4)
            if crc32(index) != self.place.index_crc:
                raise Damage("the index of a filter is damaged")
            self._crcs = numbers("I", index, 0, blocks)
        data = self._file.read(at + number * _BLOCK, _BLOCK)
        if crc32(data) != self._crcs[number]:
            raise Damage("a block of a filter is damaged")
        return data

    def check(self) -> None:
        """Verify all checksums."""
        self._all = None
        self.all()
        for number in range(self.place.blocks):
            self._block(number)


def blocks_for(count: int) -> int:
    """The number of blocks for so many hashes."""
    return (count + _MARKS - 1) // _MARKS


def written(
    blocks: int, hashes: Iterable[Iterable[int]], old: Filter | None = None
) -> tuple[bytes, int, int, int, int]:
    """The bytes of a filter with these hashes and those of ``old``, which has as many blocks.

    Then the numbers of blocks and hashes, and both checksums. Raises Damage if ``old`` is damaged.
    """
    data = bytearray(blocks * _BLOCK) if old is None else bytearray(old.all())
    count = 0
    for count, key_hash in enumerate(chain.from_iterable(hashes), 1):  # noqa: B007
        at = (key_hash * blocks >> 32) * _BLOCK
        data[at + (key_hash >> 3 & 255)] |= 1 << (key_hash & 7)
        data[at + (key_hash >> 14 & 255)] |= 1 << (key_hash >> 11 & 7)
        key_hash = key_hash * _MIX >> 16
        data[at + (key_hash >> 3 & 255)] |= 1 << (key_hash & 7)
    crcs = [crc32(data[at : at + _BLOCK]) for at in range(0, len(data), _BLOCK)]
    index = struct.pack(f"<{blocks}I", *crcs)
    count += old.place.hashes if old is not None else 0
    return bytes(data) + index, blocks, count, crc32(data), crc32(index)
