"""Names of hosts in Ansible's inventories: ranges, and a port after the name."""

from __future__ import annotations

import re
from typing import Any, Final

from pushsalt.errors import InventoryError, Position

_RANGE: Final = re.compile(r"\[(?P<first>\w{1,18}):(?P<last>\w{1,18})(?::(?P<step>\d{1,18}))?\]", re.ASCII)
_MOST: Final = 100_000
_LONGEST_PATTERN: Final = 1000


def with_port(id: str) -> tuple[str, dict[str, Any]]:
    """(id, settings) of ``host:22``: the port becomes a setting. An IPv6 address is not split."""
    name, colon, port = id.rpartition(":")
    match = colon and ":" not in name and re.fullmatch("[0-9]{1,5}", port)
    return (name, {"ansible_port": int(port)}) if match else (id, {})


def expanded(pattern: str, where: Position) -> list[str]:
    """All names that a pattern (``web[01:20]``, ``db-[a:c]``, ``x[1:9:2]``) stands for. Raises InventoryError."""
    if len(pattern) > _LONGEST_PATTERN:
        raise InventoryError(f"{pattern[:80]!r} ... is too long for a host", "write it shorter", where)
    match = _RANGE.search(pattern)
    if match is None:
        return [pattern]
    head, tail = pattern[: match.start()], expanded(pattern[match.end() :], where)
    first, last, step = match["first"], match["last"], int(match["step"] or 1)
    if first.isdigit() and last.isdigit():
        width = len(first) if first.startswith("0") else 0
        values = [
            str(number).zfill(width) for number in range(int(first), min(int(last), int(first) + _MOST) + 1, step or 1)
        ]
    elif len(first) == len(last) == 1 and first.isalpha() and last.isalpha():
        values = [chr(code) for code in range(ord(first), ord(last) + 1, step or 1)]
    else:
        values = []
    if not values:
        raise InventoryError(f"{match[0]} is no range", "write [01:20] or [a:f]", where)
    if len(values) * len(tail) > _MOST:
        raise InventoryError(f"{pattern[:80]} means more than {_MOST} hosts", "write smaller ranges", where)
    return [f"{head}{value}{rest}" for value in values for rest in tail]
