"""Options of ``apply`` and ``run`` that write reports to files."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pushsalt.cli.opt import Opt, rows
from pushsalt.errors import UsageError

if TYPE_CHECKING:
    from pushsalt.reports.page import Page
    from pushsalt.run.observers import JobObserver

REPORTS = rows(
    "Output",
    Opt("junit", ("--junit",), "Write JUnit XML to this file: a suite for each target.", metavar="FILE"),
    Opt(
        "summary",
        ("--summary",),
        "Write a summary in Markdown to this file, and to the one of GITHUB_STEP_SUMMARY.",
        metavar="FILE",
    ),
    Opt(
        "report",
        ("--report",),
        "Write a report to this file: one self-contained page of HTML.",
        metavar="FILE.html",
    ),
)
#: The option for commands that write only this report.
REPORT = REPORTS[2:]


def reports(values: Mapping[str, Any]) -> list[JobObserver]:
    """The reports that these options request. Raises UsageError for files that cannot be written."""
    observers: list[JobObserver] = []
    paths = {opt.flags[0]: Path(values[opt.name]) for opt in REPORTS if values.get(opt.name) is not None}
    if not paths:
        return observers
    from pushsalt.reports.files import check_place

    for flag, path in paths.items():
        if not values[flag[2:]]:
            raise UsageError(f"{flag}: the name of the file is empty", hint=f"{flag} FILE")
        check_place(path, flag)
    if len({path.absolute() for path in paths.values()}) < len(paths):
        raise UsageError(f"{' and '.join(paths)} name the same file", hint="name two files")
    if "--junit" in paths:
        from pushsalt.reports.junit import JUnit

        observers.append(JUnit(paths["--junit"]))
    if "--summary" in paths:
        from pushsalt.reports.summary import Summary

        step = os.environ.get("GITHUB_STEP_SUMMARY")
        observers.append(Summary(paths["--summary"], Path(step) if step else None))
    if "--report" in paths:
        from pushsalt.reports.html import Report

        observers.append(Report(paths["--report"]))
    return observers


def report_path(given: str | None) -> Path | None:
    """The file of ``--report``, for commands that write it themselves. Raises UsageError if it cannot be written."""
    if given is None:
        return None
    from pushsalt.reports.files import check_place

    if not given:
        raise UsageError("--report: the name of the file is empty", hint="--report FILE.html")
    check_place(Path(given), "--report")
    return Path(given)


def write_page(path: Path, page: Page) -> None:
    """Write a page. Raises UsageError."""
    from pushsalt.reports.files import write_whole

    try:
        write_whole(path, page.pieces())
    except OSError as exc:
        text = f"--report: {path} cannot be written: {exc.strerror or exc}"
        raise UsageError(text, hint="name another file") from exc
