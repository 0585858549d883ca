"""JUnit's XML: one suite, a case for each file with findings; errors are failures, other findings are output of the
case.
"""

from __future__ import annotations

import re
from itertools import groupby
from typing import TYPE_CHECKING, Final
from xml.sax.saxutils import escape, quoteattr

from pushsalt.check.formats import shown
from pushsalt.check.rules import RULES

if TYPE_CHECKING:
    from pushsalt.check.runner import Report

#: Characters that XML 1.0 forbids.
_FORBIDDEN: Final = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render(report: Report, base: str, color: bool) -> str:
    cases = []
    for path, findings in groupby(report.findings, key=lambda each: each.path):
        rows = []
        others = []
        for each in findings:
            where = ":".join([shown(path, base), *(str(n) for n in (each.line, each.column) if n)])
            text = f"{where}: {each.code} {RULES[each.code].name}: {each.message}"
            if each.level == "error":
                rows.append(
                    f"<failure type={_attribute(each.code)} message={_attribute(each.message)}>{_text(text)}</failure>"
                )
            else:
                others.append(f"{each.level}: {text}")
        if others:
            rows.append("<system-out>" + _text("\n".join(others)) + "</system-out>")
        cases.append(
            f'<testcase classname="pushsalt.check" name={_attribute(shown(path, base))}>{"".join(rows)}</testcase>'
        )
    if not cases:
        cases = ['<testcase classname="pushsalt.check" name="check"/>']
    head = f'<testsuite name="pushsalt check" tests="{len(cases)}" failures="{report.count("error")}">'
    return "\n".join(['<?xml version="1.0" encoding="UTF-8"?>', head, *cases, "</testsuite>", ""])


def _text(text: str) -> str:
    return escape(_FORBIDDEN.sub("\ufffd", text))


def _attribute(text: str) -> str:
    return quoteattr(_FORBIDDEN.sub("\ufffd", text))
