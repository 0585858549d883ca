"""Text for people: the findings of each file by line, with excerpts for errors and warnings, and totals."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import TYPE_CHECKING, Final

from pushsalt import regular
from pushsalt.check.formats import shown
from pushsalt.check.rules import LEVELS, RULES
from pushsalt.display.safe import one_line
from pushsalt.excerpt import excerpt

if TYPE_CHECKING:
    from pushsalt.check.findings import Finding
    from pushsalt.check.runner import Report

_COLORS: Final = {"error": "31;1", "warning": "33", "info": "36", "dim": "2", "bold": "1"}
_MAX_SYSTEMS: Final = 3


def render(report: Report, base: str, color: bool) -> str:
    lines: list[str] = []
    for path, found in groupby(report.findings, key=lambda each: each.path):
        lines += [_paint(one_line(shown(path, base)), "bold", color)]
        texts = _lines_of(path)
        for each in found:
            lines += _of(each, texts, len(report.systems), color)
        lines.append("")
    return "\n".join([*lines, _sum(report, color), ""])


def _of(found: Finding, texts: list[str], systems: int, color: bool) -> Iterator[str]:
    place = ":".join(str(number) for number in (found.line, found.column) if number) or "-"
    level = _paint(f"{found.level:<7}", found.level, color)
    name = _paint(f"{found.code} {RULES[found.code].name}", "dim", color)
    yield f"  {place:<7} {level} {one_line(found.message)}  {name}"
    pad = " " * 18
    if found.level != "info" and found.line and found.line <= len(texts):
        for row in excerpt("\n".join(texts), found.line, context=0).splitlines():
            yield pad + _paint(one_line(row), "dim", color)
    if found.hint:
        yield f"{pad}hint: {one_line(found.hint)}"
    if 0 < len(found.systems) < systems:
        some = ", ".join(found.systems[:_MAX_SYSTEMS])
        more = f" and {len(found.systems) - _MAX_SYSTEMS} more" if len(found.systems) > _MAX_SYSTEMS else ""
        yield pad + _paint(f"on {some}{more}", "dim", color)


def _lines_of(path: str) -> list[str]:
    try:
        return regular.read_text(path, "replace").splitlines()
    except OSError:
        return []


def _sum(report: Report, color: bool) -> str:
    counts = [(level, report.count(level)) for level in LEVELS]
    said = [
        _paint(f"{count} {level}{'s' * (count != 1 and level != 'info')}", level, color)
        for level, count in counts
        if count
    ]
    trees = f"{report.trees} tree{'s' * (report.trees != 1)}"
    return f"{', '.join(said) or 'nothing found'}: {trees}, {report.sls} SLS, {len(report.systems)} systems"


def _paint(text: str, style: str, color: bool) -> str:
    return f"\x1b[{_COLORS[style]}m{text}\x1b[0m" if color else text
