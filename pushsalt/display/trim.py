"""Cuts very long returns for output to people, with a note."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pushsalt.display.safe import DEPTH_LIMIT

#: Limits of the shown lines and characters, for one return or one state.
LINES: Final = 50_000
CHARS: Final = 4 * 1024 * 1024
_ALL: Final = "--out json shows all"


def trimmed(value: Any, lines: int = LINES, chars: int = CHARS) -> Any:
    """The value itself if it is within the limits, else a shortened copy with a note."""
    return value if _fits(value, lines, chars) else _Cut(lines, chars).value(value, 0)


def _fits(value: Any, lines: int, chars: int) -> bool:
    waiting = [value]
    while waiting:
        item = waiting.pop()
        lines -= 1
        if isinstance(item, str):
            lines -= item.count("\n")
            chars -= len(item)
        elif isinstance(item, bytes):
            lines -= item.count(b"\n")
            chars -= len(item)
        elif isinstance(item, Mapping):
            waiting += item.keys()
            waiting += item.values()
        elif isinstance(item, (list, tuple, set, frozenset)):
            waiting += item
        if chars < 0 or lines < len(waiting):
            return False
    return True


class _Cut:
    def __init__(self, lines: int, chars: int) -> None:
        self._lines, self._chars = lines, chars

    def value(self, value: Any, depth: int) -> Any:
        self._lines -= 1
        if isinstance(value, str | bytes):
            return self._text(value)
        if not isinstance(value, Mapping | list | tuple | set | frozenset):
            return value
        if depth > DEPTH_LIMIT:
            return "..."
        shown = 0
        if isinstance(value, Mapping):
            result: dict[Any, Any] = {}
            for key, item in value.items():
                if self._lines <= 0 or self._chars <= 0:
                    result["..."] = f"{len(value) - shown} more: {_ALL}"
                    break
                result[self.value(key, depth + 1) if isinstance(key, str | bytes) else key] = self.value(
                    item, depth + 1
                )
                shown += 1
            return result
        items: list[Any] = []
        for item in value:
            if self._lines <= 0 or self._chars <= 0:
                items.append(f"... {len(value) - shown} more: {_ALL}")
                break
            items.append(self.value(item, depth + 1))
            shown += 1
        return items

    def _text(self, value: str | bytes) -> Any:
        cut: Any = value[: max(0, self._chars)]
        newline: Any = "\n" if isinstance(value, str) else b"\n"
        pieces = cut.split(newline, max(1, self._lines))
        cut = newline.join(pieces[: max(1, self._lines)])
        self._lines -= len(pieces) - 1
        self._chars -= len(cut)
        if len(cut) == len(value):
            return value
        more = f"\n... {len(value) - len(cut)} more characters: {_ALL}"
        return cut + (more if isinstance(value, str) else more.encode())
