"""Sets of rows as whole numbers: bit ``n`` stands for row ``n``, so that ``&``, ``|`` and ``~`` combine them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

_TO_DIGITS: Final = bytes([48, *[49] * 255])
_FROM_DIGITS: Final = bytes(int(byte == 49) for byte in range(256))


def of_flags(flags: bytes | bytearray) -> int:
    """From a byte for each row, 0 for those that are out."""
    return int(flags.translate(_TO_DIGITS)[::-1], 2) if flags else 0


def flags(bits: int, rows: int) -> bytes:
    """The other way: 0 or 1 for each row."""
    return f"{bits:0{rows}b}".encode()[::-1].translate(_FROM_DIGITS) if rows else b""


def of_rows(found: Iterable[int], rows: int) -> int:
    """From the numbers of the rows, out of so many."""
    marked = bytearray(rows)
    for row in found:
        marked[row] = 1
    return of_flags(marked)


def everything(rows: int) -> int:
    return (1 << rows) - 1
