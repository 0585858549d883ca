"""Sets of rows as integers: bit ``n`` is row ``n``, so that ``&``, ``|`` and ``~`` combine them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

_TO_DIGITS: Final = bytes([48, *[49] * 255])
_FROM_DIGITS: Final = bytes(int(byte == 49) for byte in range(256))


def of_flags(flags: bytes | bytearray) -> int:
    """The set from one byte per row; 0 means that the row is not in it."""
    return int(flags.translate(_TO_DIGITS)[::-1], 2) if flags else 0


def flags(bits: int, rows: int) -> bytes:
    """One byte per row, 0 or 1; the inverse of ``of_flags``."""
    return f"{bits:0{rows}b}".encode()[::-1].translate(_FROM_DIGITS) if rows else b""


def of_rows(numbers: Iterable[int], rows: int) -> int:
    """The set of these row numbers, out of ``rows``."""
    marked = bytearray(rows)
    for row in numbers:
        marked[row] = 1
    return of_flags(marked)


def everything(rows: int) -> int:
    return (1 << rows) - 1
