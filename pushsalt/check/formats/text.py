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
    for path, findings in groupby(report.findings, key=lambda each: each.path):
        lines += [_paint(one_line(shown(path, base)), "bold", color)]
        texts = _lines_of(path)
        for each in findings:
            lines += _of(each, texts, len(report.systems), color)
        lines.append("")
    return "\n".join([*lines, _sum(report, color), ""])


def _of(finding: Finding, texts: list[str], systems: int, color: bool) -> Iterator[str]:
    place = ":".join(str(number) for number in (finding.line, finding.column) if number) or "-"
    level = _paint(f"{finding.level:<7}", finding.level, color)
    name = _paint(f"{finding.code} {RULES[finding.code].name}", "dim", color)
    yield f"  {place:<7} {level} {one_line(finding.message)}  {name}"
    pad = " " * 18
    if finding.level != "info" and finding.line and finding.line <= len(texts):
        for row in excerpt("\n".join(texts), finding.line, context=0).splitlines():
            yield pad + _paint(one_line(row), "dim", color)
    if finding.hint:
        yield f"{pad}hint: {one_line(finding.hint)}"
    if 0 < len(finding.systems) < systems:
        some = ", ".join(finding.systems[:_MAX_SYSTEMS])
        more = f" and {len(finding.systems) - _MAX_SYSTEMS} more" if len(finding.systems) > _MAX_SYSTEMS else ""
        yield pad + _paint(f"on {some}{more}", "dim", color)


def _lines_of(path: str) -> list[str]:
    try:
        return regular.read_text(path, "replace").splitlines()
    except OSError:
        return []


def _sum(report: Report, color: bool) -> str:
    counts = [(level, report.count(level)) for level in LEVELS]
    parts = [
        _paint(f"{count} {level}{'s' * (count != 1 and level != 'info')}", level, color)
        for level, count in counts
        if count
    ]
    trees = f"{report.trees} tree{'s' * (report.trees != 1)}"
    return f"{', '.join(parts) or 'nothing found'}: {trees}, {report.sls} SLS, {len(report.systems)} systems"


def _paint(text: str, style: str, color: bool) -> str:
    return f"\x1b[{_COLORS[style]}m{text}\x1b[0m" if color else text
