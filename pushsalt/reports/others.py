"""HTML pages other than those of a running job: findings of a check, an impact, a job of the record."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol

from pushsalt.display.forecast import parts
from pushsalt.jobs.jobs import KeptJob
from pushsalt.model import TargetReturn
from pushsalt.reports.cases import shown
from pushsalt.reports.html import about, heading, item_of
from pushsalt.reports.page import Item, Page, Row

#: Outcomes of the files of a check, by their worst finding.
_LEVELS: Final = (("failed", "with errors"), ("changed", "with warnings"), ("unchanged", "with hints"))
_BY_LEVEL: Final = {"error": "failed", "warning": "changed", "info": "unchanged"}
_IMPACT: Final = (("changed", "differ"), ("unknown", "unknown"))
_KINDS: Final = (("removed", "failed"), ("changed", "changed"), ("added", "added"))


class Finding(Protocol):
    """A finding of a check: ``pushsalt.check.findings.Finding``."""

    @property
    def code(self) -> str: ...
    @property
    def level(self) -> str: ...
    @property
    def message(self) -> str: ...
    @property
    def path(self) -> str: ...
    @property
    def place(self) -> str: ...
    @property
    def hint(self) -> str: ...
    @property
    def detail(self) -> str: ...
    @property
    def systems(self) -> tuple[str, ...]: ...


def check_page(findings: Sequence[Finding], folder: str) -> Page:
    """The findings of a check by file. ``folder``: shown paths are relative to it."""
    files: dict[str, list[Finding]] = {}
    for each in findings:
        files.setdefault(each.path, []).append(each)
    page = Page("pushsalt check", [("Folder", folder), ("Findings", str(len(findings)))], _LEVELS)
    for path, of_file in files.items():
        rows = [
            Row(
                _BY_LEVEL[each.level],
                each.level,
                f"{each.code} {each.message}",
                f"{_from(each.place, folder)} {', '.join(each.systems)}".strip(),
                (each.detail, each.hint),
            )
            for each in of_file
        ]
        worst = next(level for level in ("error", "warning", "info") if any(each.level == level for each in of_file))
        words = f"{len(of_file)} finding{'s' * (len(of_file) > 1)}"
        page.items.append(Item(_from(path, folder), _BY_LEVEL[worst], words, rows))
    return page


def _from(path: str, folder: str) -> str:
    return path.removeprefix(folder + os.sep)


def impact_page(data: Mapping[str, Any], total: int) -> Page:
    """The page of an impact by id. ``data``: the output of ``impact --out json``."""
    head = [("From", data["from"]), ("To", data["to"]), ("Ids compared", str(total))]
    page = Page("pushsalt impact", head, _IMPACT)
    for id, differences in data["ids"].items():
        rows = list(_differences(differences))
        is_certain = any(row.outcome != "unknown" for row in rows)
        words = f"{len(rows)} difference{'s' * (len(rows) > 1)}"
        page.items.append(Item(id, "changed" if is_certain else "unknown", words, rows))
    return page


def _differences(differences: Mapping[str, Any]) -> list[Row]:
    rows = []
    for kind, outcome in _KINDS:
        for tag in differences["states"][kind]:
            function, id, name = parts(tag)
            title = f"{function} {name}" + (f" ({id})" if id != name else "")
            arguments = differences["states"][kind][tag] if kind == "changed" else {}
            texts = [f"{key}: {shown(old)} -> {shown(new)}" for key, (old, new) in arguments.items()]
            rows.append(Row(outcome, kind, title, "", texts))
    rows += [Row("changed", "file", path, "", (diff,)) for path, diff in differences["files"].items()]
    rows += [Row("changed", "pillar", key) for key in differences["pillar"]]
    return rows + [Row("unknown", "unknown", why) for why in differences["unknown"]]


def job_page(job: KeptJob, returns: Mapping[str, TargetReturn]) -> Page:
    """The page of a job of the record with these returns."""
    left = [Item(id, "no answer", "no return", []) for id in job.ids if id not in returns]
    title, outcomes = heading(job.fun, job.arg, job.detail.get("options") or {})
    items = [item_of(ret, job.fun) for ret in returns.values()]
    return Page(title, about(job.jid, job.tgt, job.start, job.end, job.exit_code), outcomes, [*items, *left])
