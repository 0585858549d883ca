"""One JSON object: ``findings`` sorted by position, ``summary`` with their numbers by level."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pushsalt.check.formats import shown
from pushsalt.check.rules import LEVELS

if TYPE_CHECKING:
    from pushsalt.check.runner import Report


def render(report: Report, base: str, color: bool) -> str:
    findings = [{**each.as_data(), "path": shown(each.path, base)} for each in report.findings]
    summary: dict[str, Any] = {level: report.count(level) for level in LEVELS}
    summary.update(trees=report.trees, sls=report.sls, systems=report.systems)
    data = {"findings": findings, "summary": summary}
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"
