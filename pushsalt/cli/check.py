"""``pushsalt check``: checks a tree or a formula offline, without machines."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pushsalt.cli.app import Command
from pushsalt.cli.opt import Opt
from pushsalt.cli.options import GLOBAL, Given, takes
from pushsalt.cli.reports import REPORT, report_path, write_page
from pushsalt.cli.stdio import TERMINAL, stderr_is_terminal, write_stderr
from pushsalt.errors import EXIT_FAILED, UsageError

if TYPE_CHECKING:
    from pushsalt.check.runner import Report
    from pushsalt.trust import Limit

app = typer.Typer(rich_markup_mode=None, add_completion=False)

EXAMPLES = """
pushsalt check                              the project of this folder
pushsalt check ~/formulas                   each formula in it, with its pillar.example
pushsalt check nginx/server.sls --system 'debian-*'
pushsalt check --format sarif > check.sarif
pushsalt check --rules                      list the rules

# pushsalt: ignore[PS303]                   ignores the rule on this line or the next
# pushsalt: ignore-file[PS310]              at the top of a file: ignores the rule there
"""
OPTIONS = (
    Opt(
        "system",
        ("--system",),
        "System to check for: a name, a glob, or a file of grains; repeatable.",
        "list",
        "NAME",
        panel="Checks",
    ),
    Opt(
        "pillar_data",
        ("--pillar",),
        "YAML or JSON to merge over pillar.example or the pillar of the project.",
        metavar="DATA",
        panel="Checks",
    ),
    Opt(
        "select",
        ("--select",),
        "Check only these rules (PS3*, pillar-without-default); repeatable.",
        "list",
        "RULE",
        panel="Checks",
    ),
    Opt("ignore", ("--ignore",), "Ignore these rules; repeatable.", "list", "RULE", panel="Checks"),
    Opt(
        "format",
        ("--format",),
        "Output format: text (default), json, sarif, github or junit.",
        metavar="FORMAT",
        panel="Output",
    ),
    Opt(
        "level",
        ("--level",),
        "Lowest level to show: info (default), warning, error.",
        metavar="LEVEL",
        panel="Output",
    ),
    Opt("rules", ("--rules",), "List the rules and exit.", "flag", panel="Output"),
    Opt("jobs", ("--jobs",), "Number of processes (default: the number of cores).", metavar="N", panel="Execution"),
    Opt("no_cache", ("--no-cache",), "Do not use cached findings.", "flag", panel="Execution"),
)


@app.command(cls=Command, epilog=EXAMPLES)
@takes(OPTIONS, REPORT, GLOBAL)
def check(
    given: Given,
    paths: Annotated[
        list[str] | None,
        typer.Argument(metavar="[PATH ...]", help="Formulas, state trees, SLS files; without any: the project."),
    ] = None,
) -> int:
    """Lint and smoke test without a machine: render every SLS for several systems and report all errors."""
    if given.rules:
        TERMINAL.get().stdout.write(_rules(), utf8=True)
        return 0
    return run_check(given, [Path(path) for path in paths or []])


def run_check(
    given: Given,
    paths: Sequence[Path],
    shown: Mapping[str, str] | None = None,
    limits: Mapping[str, Limit] | None = None,
) -> int:
    """Run the check with these options and write its findings; returns the exit code.

    ``shown``: folder -> its name in output; ``limits``: folder -> the renderers that its files may use.
    """
    from pushsalt.check.formats import load
    from pushsalt.check.rules import LEVELS

    terminal = TERMINAL.get()
    written = load(given.format or "text")
    least = given.level or "info"
    if least not in LEVELS:
        raise UsageError(f"--level: there is no level {least!r}", f"one of {', '.join(LEVELS)}")
    page = report_path(given.report)
    report = _checked(given, paths, limits or {})
    failed = report.count("error") > 0
    levels = LEVELS[: LEVELS.index(least) + 1]
    report.findings = [each for each in report.findings if each.level in levels]
    color = (given.format or "text") == "text" and terminal.color
    text = written.render(report, os.getcwd(), color)  # noqa: PTH109
    for folder, name in (shown or {}).items():
        text = text.replace(folder, name)
    terminal.stdout.write(text, utf8=True)
    if page is not None:
        from pushsalt.reports.others import check_page

        write_page(page, check_page(report.findings, os.getcwd()))  # noqa: PTH109
    return EXIT_FAILED if failed else 0


def _checked(given: Given, paths: Sequence[Path], limits: Mapping[str, Limit]) -> Report:
    from pushsalt.check.rules import codes
    from pushsalt.check.runner import Options, check
    from pushsalt.events import Reporter

    jobs = given.jobs or "0"
    if not jobs.isdigit():
        raise UsageError(f"--jobs takes a number, not {jobs!r}", "omit it for the number of cores")
    selected, ignored = codes(given.select or ["*"]), codes(given.ignore or [])
    options = Options(
        paths=tuple(paths),
        systems=tuple(given.system or ()),
        pillar=given.job("warning").pillar or {},
        jobs=int(jobs),
        keep=not given.no_cache,
        limits=dict(limits),
    )
    with _Line() as line:
        report = check(given.settings(), options, Reporter(), line.show)
    report.findings = [each for each in report.findings if each.code in selected - ignored]
    return report


class _Line:
    """One line on a terminal with the progress of the check."""

    def __init__(self) -> None:
        self._on = stderr_is_terminal()
        self._shown = False

    def __enter__(self) -> _Line:
        return self

    def show(self, done: int, total: int, name: str) -> None:
        if self._on:
            self._shown = True
            write_stderr(f"\r\x1b[Kchecked {done} of {total}: {name[:40]}")

    def __exit__(self, *exc: object) -> None:
        if self._shown:
            write_stderr("\r\x1b[K")


def _rules() -> str:
    from pushsalt.check.rules import RULES

    return "".join(f"{rule.code}  {rule.level:<8} {rule.name:<24} {rule.text}\n" for rule in RULES.values())
