"""Hides former secrets: after a rotation, a diff or an ``{old, new}`` pair contains the old secret too.

If a line of one side of a diff contains MASK, the differing part of its counterpart on the other side is hidden too.
The counterpart is guessed; in doubt more is hidden. The sides of a pair may be structures.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

MASK = "**********"
#: A line of a diff: white space (of a comment) before the sign, the sign, the line.
_LINE = re.compile(r"([ \t\r]*)([-+<>])(.*)", re.S)
#: The same in the ``repr`` of a text, or in the repr of a repr.
_QUOTED = re.compile(r"((?:.*?['\"])?(?:[ \t]|\\[rt])*)([-+<>])(.*)", re.S)
_OTHER = {"-": "+", "<": ">"}
#: The line that ``diff`` writes between the sides.
_BETWEEN = ("---", "\\ No newline at end of file")
#: Limits of line comparisons: per text, and per character of it, so that many small texts take no longer than a large
#: one. A part of a diff that needs more is hidden completely.
MOST_COMPARISONS = 1_000_000
COMPARISONS_PER_CHARACTER = 4
#: Limit of texts of a structure that are searched for a mask, since nested changes are searched repeatedly.
MOST_TEXTS = 1000
#: Names of the two sides of a change in returns.
PAIRS = (("old", "new"), ("Old", "New"), ("before", "after"), ("from", "to"), ("Previous", "New"))


class _Budget:
    """The number of line comparisons that are left for one text."""

    def __init__(self, characters: int) -> None:
        self._left = min(MOST_COMPARISONS, characters * COMPARISONS_PER_CHARACTER)

    def spend(self, comparisons: int) -> bool:
        """Subtract these comparisons, and return True, if that many are left; else return False."""
        if comparisons > self._left:
            return False
        self._left -= comparisons
        return True


def hide_counterparts(text: str) -> str:
    """A text in which values that are hidden on one side of a diff are hidden on the other too; also in ``repr``
    texts."""
    budget = _Budget(len(text))
    for end, pattern in (("\n", _LINE), ("\\n", _QUOTED)):
        if MASK in text and end in text:
            text = end.join(_both_sides(text.split(end), pattern, budget))
    return text


def _both_sides(lines: list[str], pattern: re.Pattern[str], budget: _Budget) -> list[str]:
    matches = [None if line in _BETWEEN else pattern.match(line) for line in lines]
    for at in range(1, len(lines)):
        if lines[at - 1].startswith("--- ") and lines[at].startswith("+++ "):
            matches[at - 1] = matches[at] = None

    def after(at: int, sign: str) -> int:
        """The end of the lines of one side that begin at this position."""
        while at < len(matches) and (line := matches[at]) is not None and line[2] == sign:
            at += 1
        return at

    at = 0
    while at < len(lines):
        line = matches[at]
        sign = line[2] if line is not None else ""
        if sign not in _OTHER:
            at += 1
            continue
        middle = after(at, sign)
        begin = middle + (middle < len(lines) and lines[middle] in _BETWEEN)
        end = after(begin, _OTHER[sign])
        old, new = ([each for each in side if each is not None] for side in (matches[at:middle], matches[begin:end]))
        former, present = [each[3] for each in old], [each[3] for each in new]
        shown = _hidden(former, present, budget), _hidden(present, former, budget)
        lines[at:middle] = [each[1] + each[2] + text for each, text in zip(old, shown[0], strict=True)]
        lines[begin:end] = [each[1] + each[2] + text for each, text in zip(new, shown[1], strict=True)]
        at = max(end, middle)
    return lines


def hide_pair(one: Any, other: Any) -> tuple[Any, Any]:
    """The two sides of a change (old and new); where a value of one side is hidden, that of the other is hidden too.

    Structures are compared by key, and lists of equal length by index. For different shapes or lengths, a mask on one
    side hides all values that only the other side has.
    """
    match one, other:
        case str(), str():
            if MASK not in one and MASK not in other:
                return one, other
            budget = _Budget(len(one) + len(other))
            lines, others = one.split("\n"), other.split("\n")
            return "\n".join(_hidden(lines, others, budget)), "\n".join(_hidden(others, lines, budget))
        case Mapping(), Mapping():
            pairs = {key: hide_pair(value, other[key]) for key, value in one.items() if key in other}
            first, second = ({key: pair[at] for key, pair in pairs.items()} for at in (0, 1))
            return {**one, **first}, {**other, **second}
        case (list() | tuple(), list() | tuple()) if len(one) == len(other):
            both = [hide_pair(*pair) for pair in zip(one, other, strict=True)]
            return type(one)(pair[0] for pair in both), type(other)(pair[1] for pair in both)
        case (list() | tuple() | set() | frozenset(), list() | tuple() | set() | frozenset()):
            return _without_counterparts(one, other), _without_counterparts(other, one)
        case _:
            return _unlike(one, other), _unlike(other, one)


def _without_counterparts(items: Any, others: Any) -> Any:
    """A list or set in which items that the other one does not have are hidden, if the other one has a mask."""
    if not _may_have_mask(others):
        return items
    kept = {other for other in others if isinstance(other, str)}
    return type(items)(item if isinstance(item, str) and item in kept else _unlike(item, MASK) for item in items)


def _unlike(one: Any, other: Any) -> Any:
    """One side of a change between values of different shapes, hidden whole if the other has a mask."""
    shown = not one or not isinstance(one, str | Mapping | list | tuple | set | frozenset)
    return one if shown or (isinstance(one, str) and MASK in one) or not _may_have_mask(other) else MASK


def _may_have_mask(value: Any) -> bool:
    """Whether a structure contains a mask; for too many texts True."""
    first = list(islice(texts(value), MOST_TEXTS))
    return len(first) == MOST_TEXTS or any(MASK in text for text in first)


def texts(value: Any) -> Iterator[str]:
    """All texts in a structure, except keys."""
    match value:
        case str():
            yield value
        case bytes():
            yield value.decode("utf-8", "surrogateescape")
        case Mapping():
            for item in value.values():
                yield from texts(item)
        case list() | tuple() | set() | frozenset():
            for item in value:
                yield from texts(item)


def _hidden(lines: list[str], others: Sequence[str], budget: _Budget) -> list[str]:
    """``lines`` with the counterparts of hidden parts of ``others`` hidden."""
    result = list(lines)
    masked = {other: place for place, other in enumerate(others) if MASK in other}
    if not budget.spend(len(masked) * len(lines)):
        return [line if MASK in line else MASK for line in lines]
    for other, place in masked.items():
        before, _, rest = other.partition(MASK)
        after = rest.rpartition(MASK)[2]
        whole = not (before.strip() or after.strip())
        counterparts = (
            []
            if whole
            else [
                at
                for at, line in enumerate(lines)
                if len(line) >= len(before) + len(after) and line.startswith(before) and line.endswith(after)
            ]
        )
        if counterparts:
            for at in counterparts:
                if MASK not in lines[at]:
                    result[at] = f"{before}{MASK}{after}"
        else:  # another notation, or a line that is only (a part of) the secret
            for at in range(len(lines)) if whole or len(lines) != len(others) else (place,):
                if MASK not in lines[at] and lines[at].strip():
                    result[at] = MASK
    return result
