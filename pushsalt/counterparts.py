"""The other side of what was hidden: after a rotation, a diff and an ``{old, new}`` pair have the former secret too.

Where a line of one side of a diff has MASK, the line that it took the place of is hidden as far as the two differ.
Which line that is, is not known for sure: in doubt more is hidden, not less.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

MASK = "**********"
#: What stands before the sign of a line of a diff, perhaps within a comment; the sign; the line.
_LINE = re.compile(r"([ \t\r]*)([-+<>])(.*)", re.S)
#: The same within a text as ``repr`` writes it, which may itself stand in another.
_QUOTED = re.compile(r"((?:.*?['\"])?(?:[ \t]|\\[rt])*)([-+<>])(.*)", re.S)
_OTHER = {"-": "+", "<": ">"}
#: Between the sides, as ``diff`` writes it.
_BETWEEN = ("---", "\\ No newline at end of file")
#: Of lines, for one text, and for each of its characters: many small texts take no longer than a large one. Where a
#: place of a diff takes more than what is left, all of it is hidden.
MOST_COMPARISONS = 1_000_000
COMPARISONS_PER_CHARACTER = 4
#: Names of the two sides of a change in returns.
PAIRS = (("old", "new"), ("Old", "New"), ("before", "after"), ("from", "to"), ("Previous", "New"))


class _Budget:
    """How many lines of a text may still be compared."""

    def __init__(self, characters: int) -> None:
        self._left = min(MOST_COMPARISONS, characters * COMPARISONS_PER_CHARACTER)

    def spend(self, comparisons: int) -> bool:
        """Whether so many are left, which are then spent."""
        if comparisons > self._left:
            return False
        self._left -= comparisons
        return True


def hide_counterparts(text: str) -> str:
    """A text with what was hidden on one side of its diffs hidden on the other, too; also as ``repr`` writes texts."""
    budget = _Budget(len(text))
    for end, pattern in (("\n", _LINE), ("\\n", _QUOTED)):
        if MASK in text and end in text:
            text = end.join(_both_sides(text.split(end), pattern, budget))
    return text


def _both_sides(lines: list[str], pattern: re.Pattern[str], budget: _Budget) -> list[str]:
    found = [None if line in _BETWEEN else pattern.match(line) for line in lines]
    for at in range(1, len(lines)):
        if lines[at - 1].startswith("--- ") and lines[at].startswith("+++ "):
            found[at - 1] = found[at] = None

    def after(at: int, sign: str) -> int:
        """Where the lines of one side that begin here end."""
        while at < len(found) and (line := found[at]) is not None and line[2] == sign:
            at += 1
        return at

    at = 0
    while at < len(lines):
        line = found[at]
        sign = line[2] if line is not None else ""
        if sign not in _OTHER:
            at += 1
            continue
        middle = after(at, sign)
        begin = middle + (middle < len(lines) and lines[middle] in _BETWEEN)
        end = after(begin, _OTHER[sign])
        old, new = ([each for each in side if each is not None] for side in (found[at:middle], found[begin:end]))
        former, present = [each[3] for each in old], [each[3] for each in new]
        shown = _hidden(former, present, budget), _hidden(present, former, budget)
        lines[at:middle] = [each[1] + each[2] + text for each, text in zip(old, shown[0], strict=True)]
        lines[begin:end] = [each[1] + each[2] + text for each, text in zip(new, shown[1], strict=True)]
        at = max(end, middle)
    return lines


def hide_pair(one: str, other: str) -> str:
    """``one`` with what is hidden in ``other`` hidden, too."""
    budget = _Budget(len(one) + len(other))
    return "\n".join(_hidden(one.split("\n"), other.split("\n"), budget)) if MASK in other else one


def _hidden(lines: list[str], others: Sequence[str], budget: _Budget) -> list[str]:
    """``lines`` with the counterparts of what is hidden in ``others`` hidden."""
    result = list(lines)
    masked = {other: place for place, other in enumerate(others) if MASK in other}
    if not budget.spend(len(masked) * len(lines)):
        return [line if MASK in line else MASK for line in lines]
    for other, place in masked.items():
        before, _, rest = other.partition(MASK)
        after = rest.rpartition(MASK)[2]
        whole = not (before.strip() or after.strip())
        beside = [] if whole else [
            at for at, line in enumerate(lines)
            if len(line) >= len(before) + len(after) and line.startswith(before) and line.endswith(after)
        ]  # fmt: skip
        if beside:
            for at in beside:
                if MASK not in lines[at]:
                    result[at] = f"{before}{MASK}{after}"
        else:  # written in another way, or nothing but the secret, perhaps of several lines
            for at in range(len(lines)) if whole or len(lines) != len(others) else (place,):
                if MASK not in lines[at] and lines[at].strip():
                    result[at] = MASK
    return result
