"""SARIF 2.1.0 (OASIS): one run, its rules, a result for each finding."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from pushsalt import __version__
from pushsalt.check.formats import shown
from pushsalt.check.rules import RULES

if TYPE_CHECKING:
    from pushsalt.check.findings import Finding
    from pushsalt.check.runner import Report

_SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS: Final = {"error": "error", "warning": "warning", "info": "note"}


def render(report: Report, base: str, color: bool) -> str:
    used = sorted({each.code for each in report.findings})
    driver = {"name": "pushsalt check", "version": __version__, "rules": [_rule(code) for code in used]}
    results = [_result(each, used.index(each.code), base) for each in report.findings]
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2, ensure_ascii=False) + "\n"


def _rule(code: str) -> dict[str, Any]:
    rule = RULES[code]
    return {
        "id": code,
        "name": rule.name,
        "shortDescription": {"text": rule.text},
        "defaultConfiguration": {"level": _LEVELS[rule.level]},
    }


def _result(finding: Finding, index: int, base: str) -> dict[str, Any]:
    path = shown(finding.path, base)
    location: dict[str, Any] = {"artifactLocation": {"uri": ("file://" if path.startswith("/") else "") + quote(path)}}
    if finding.line:
        location["region"] = {"startLine": finding.line, **({"startColumn": finding.column} if finding.column else {})}
    text = finding.message + (f" ({finding.hint})" if finding.hint else "")
    return {
        "ruleId": finding.code,
        "ruleIndex": index,
        "level": _LEVELS[finding.level],
        "message": {"text": text},
        "locations": [{"physicalLocation": location}],
        "properties": {"systems": list(finding.systems), "sls": list(finding.sls)},
    }
