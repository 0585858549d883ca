"""Texts of several targets that are the same but for what is each target's own."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

#: id -> {value: what it is}
Own = Callable[[str], Mapping[str, str]]


class Normal:
    """The texts of one target with its own values taken out. ``used`` has them: what it is -> the value."""

    def __init__(self, own: Mapping[str, str]) -> None:
        self._names = own
        self.used: dict[str, str] = {}
        values = "|".join(map(re.escape, sorted(own, key=len, reverse=True)))
        self._pattern = re.compile(rf"(?<![A-Za-z0-9])(?:{values})(?![A-Za-z0-9])")

    def text(self, text: str) -> str:
        return self._pattern.sub(self._placeholder, text)

    def _placeholder(self, match: re.Match[str]) -> str:
        name = self._names[match[0]]
        self.used[name] = match[0]
        return f"\0{name}\0"


def differing(members: Iterable[Mapping[str, str]]) -> list[str]:
    """In what the own values that targets' texts have differ."""
    values: dict[str, set[str]] = {}
    for used in members:
        for name, value in used.items():
            values.setdefault(name, set()).add(value)
    return [name for name, found in values.items() if len(found) > 1]
