"""The other side of what was hidden: after a rotation, a diff and an ``{old, new}`` pair have the former secret too.

Where a line of one side of a diff has MASK, the line that it took the place of is hidden as far as the two differ.
Which line that is, is not known for sure: in doubt more is hidden, not less.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

MASK = "**********"
#: Begins a unified diff, a hunk of it, or a hunk as ``diff`` without options writes it.
_DIFF = re.compile(r"(?m)^(?:--- |@@ -|\d[\d,]*[acd]\d[\d,]*$)")
_SIGNS = {"-": "+", "<": ">"}
#: Of lines, for one place of a diff; beyond that all of it is hidden.
MOST_COMPARISONS = 1_000_000
#: Names of the two sides of a change in returns.
PAIRS = (("old", "new"), ("Old", "New"), ("before", "after"), ("from", "to"), ("Previous", "New"))


def hide_counterparts(text: str) -> str:
    """A text with what was hidden on one side of its diffs hidden on the other side, too."""
    if MASK not in text or not _DIFF.search(text):
        return text
    lines = text.split("\n")
    at = 0
    while at < len(lines):
        sign = lines[at][:1]
        other = _SIGNS.get(sign)
        if other is None or lines[at].startswith("--- "):
            at += 1
            continue
        middle = at
        while middle < len(lines) and lines[middle].startswith(sign):
            middle += 1
        begin = middle + (lines[middle : middle + 1] == ["---"] and sign == "<")
        begin += lines[begin : begin + 1] == ["\\ No newline at end of file"]
        end = begin
        while end < len(lines) and lines[end].startswith(other):
            end += 1
        old, new = [line[1:] for line in lines[at:middle]], [line[1:] for line in lines[begin:end]]
        lines[at:middle] = [sign + line for line in _hidden(old, new)]
        lines[begin:end] = [other + line for line in _hidden(new, old)]
        at = max(end, middle)
    return "\n".join(lines)


def hide_pair(one: str, other: str) -> str:
    """``one`` with what is hidden in ``other`` hidden, too."""
    return "\n".join(_hidden(one.split("\n"), other.split("\n"))) if MASK in other else one


def _hidden(lines: list[str], others: Sequence[str]) -> list[str]:
    """``lines`` with the counterparts of what is hidden in ``others`` hidden."""
    result = list(lines)
    masked = {other: place for place, other in enumerate(others) if MASK in other}
    if len(masked) * len(lines) > MOST_COMPARISONS:
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
