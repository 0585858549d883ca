"""Compares texts of several targets, without differences that come from each target's own values (id, address)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

#: id -> {own value: description}
Own = Callable[[str], Mapping[str, str]]


class Normal:
    """Texts of one target in which its own values are replaced. ``used``: description -> replaced values, in order."""

    def __init__(self, own: Mapping[str, str]) -> None:
        self._names = own
        self.used: dict[str, list[str]] = {}
        values = "|".join(map(re.escape, sorted(own, key=len, reverse=True)))
        self._pattern = re.compile(rf"(?<![A-Za-z0-9])(?:{values})(?![A-Za-z0-9])" if values else r"(?!)")

    def text(self, text: str) -> str:
        return self._pattern.sub(self._placeholder, text)

    def _placeholder(self, match: re.Match[str]) -> str:
        name = self._names[match[0]]
        values = self.used.setdefault(name, [])
        if match[0] not in values:
            values.append(match[0])
        return f"\0{name} {values.index(match[0])}\0"


def differing(members: Iterable[Mapping[str, Sequence[str]]]) -> list[str]:
    """The descriptions of own values that differ between the targets."""
    by_name: dict[str, set[tuple[str, ...]]] = {}
    for used in members:
        for name, values in used.items():
            by_name.setdefault(name, set()).add(tuple(values))
    return [name for name, values in by_name.items() if len(values) > 1]
