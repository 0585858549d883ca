"""Writes a segment of resources to a file: tables and postings in sequence, the header at the end.

Names are given in their escaped form.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Final
from zlib import crc32

from pushsalt.index import files, filters
from pushsalt.index.filters import Filter
from pushsalt.index.format import encode
from pushsalt.index.segment import HEADER, MAGIC, MAGIC_GONE, POSTING, posting_crc
from pushsalt.index.table import BLOCK, CHUNK, INDEX, OWNER, TABLE, Place

_BUFFER: Final = 1 << 20


class Output:
    """The output of one segment, into an empty file."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._parts: list[bytes] = []
        self._pending = 0
        self.at = 0
        self.add(bytes(HEADER.size))

    def add(self, data: bytes) -> int:
        """Append bytes; returns their offset."""
        place = self.at
        self.at += len(data)
        self._parts.append(data)
        self._pending += len(data)
        if self._pending >= _BUFFER:
            self._flush()
        return place

    def _flush(self) -> None:
        files.write(self._fd, b"".join(self._parts))
        self._parts.clear()
        self._pending = 0

    def table(self, names: Sequence[str], rows: bytes, row: int) -> Place:
        """Write a table of sorted names."""
        join = "\0".join
        texts = [encode("\0" + join(names[at : at + BLOCK])) for at in range(0, len(names), BLOCK)]
        size = BLOCK * row
        blocks = (rows[at : at + size] for at in range(0, len(rows), size))
        crcs = [crc32(block, crc32(b"\0", crc32(text))) for block, text in zip(blocks, texts, strict=True)]
        return self.place(b"".join([*texts, b"\0"]), rows, _index(texts, crcs, names[::BLOCK]), len(names))

    def place(self, text: bytes, rows: bytes, index: bytes, count: int) -> Place:
        """Write a table from its parts."""
        crcs = crc32(text), crc32(rows), crc32(index)
        return Place(self.add(text), len(text), self.add(rows), self.add(index), len(index), count, *crcs)

    def finish(
        self,
        count: int,
        *,
        gone: bool,
        types: Place,
        managers: Place,
        postings: tuple[int, int],
        hashes: Iterable[Iterable[int]],
        old: Filter | None = None,
    ) -> None:
        """Write the filter, with these hashes and those of an old filter, and the headers."""
        blocks = old.place.blocks if old is not None else filters.blocks_for(count)
        data, *about = filters.written(blocks, hashes, old)
        fields = TABLE.pack(*types), TABLE.pack(*managers), *postings, self.add(data), *about
        header = HEADER.pack(MAGIC_GONE if gone else MAGIC, count, self.at + HEADER.size, *fields, 0)[: -OWNER.size]
        header += OWNER.pack(crc32(header))
        self.add(header)
        self._flush()
        os.pwrite(self._fd, header, 0)


def posting(text: str) -> bytes:
    """A posting with its head (length, CRC-32)."""
    data = text.encode("utf-8", "surrogatepass")
    return POSTING.pack(len(data), posting_crc(data)) + data


def _index(texts: Sequence[bytes], crcs: Sequence[int], firsts: Sequence[str]) -> bytes:
    count = len(crcs)
    places: Iterable[int] = accumulate(map(len, texts), initial=0)
    chunks = [encode("\0" + "\0\1\0".join(firsts[at : at + CHUNK]) + "\0") for at in range(0, count, CHUNK)]
    starts = [*accumulate((len(chunk) + 1 for chunk in chunks), initial=0)][: len(chunks)]
    names = b"\1".join(chunks)
    numbers = struct.pack(f"<{count + 1}Q{count}I{len(starts)}I", *places, *crcs, *starts)
    return INDEX.pack(count, len(names)) + numbers + names


__all__ = ["Output", "posting"]
