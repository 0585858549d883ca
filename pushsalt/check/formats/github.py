"""Findings as workflow commands of GitHub Actions, which make annotations. https://docs.github.com/actions (workflow
commands).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pushsalt.check.formats import shown
from pushsalt.check.rules import RULES

if TYPE_CHECKING:
    from pushsalt.check.runner import Report

_WORDS: Final = {"error": "error", "warning": "warning", "info": "notice"}


def render(report: Report, base: str, color: bool) -> str:
    lines = []
    for each in report.findings:
        where = [f"file={_property(shown(each.path, base))}"]
        where += [f"{name}={number}" for name, number in (("line", each.line), ("col", each.column)) if number]
        where.append(f"title={_property(f'{each.code} {RULES[each.code].name}')}")
        text = each.message + (f" ({each.hint})" if each.hint else "")
        lines.append(f"::{_WORDS[each.level]} {','.join(where)}::{_data(text)}\n")
    return "".join(lines)


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
