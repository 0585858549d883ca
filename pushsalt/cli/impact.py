"""``pushsalt impact``: the differences between two revisions of the project on its targets, compiled offline."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated

import typer

from pushsalt.cli.app import Command
from pushsalt.cli.opt import Opt, rows
from pushsalt.cli.options import GLOBAL, MATCHERS, Given, takes
from pushsalt.cli.reports import REPORT, report_path, write_page
from pushsalt.cli.stdio import TERMINAL
from pushsalt.errors import EXIT_FAILED, NoTargetError, UsageError

if TYPE_CHECKING:
    from pushsalt.api import Client
    from pushsalt.impact.impact import Impact

app = typer.Typer(rich_markup_mode=None, add_completion=False)

EXAMPLES = """
pushsalt impact                             the working tree against HEAD
pushsalt impact main..HEAD --out markdown   for the comment of a pull request
pushsalt impact v1.2 'web*'                 the working tree against a tag, for some targets
pushsalt impact --fail-on 'removed|^db'     exit code 2 if a line of the impact matches
"""
OPTIONS = rows(
    "Output",
    Opt("out", ("--out",), "Output format: rich (default), json or markdown ...", metavar="FORMAT"),
    Opt(
        "fail_on",
        ("--fail-on",),
        "Exit with 2 if this regular expression is found in a line as `ID changed STATE` or `ID file PATH`.",
        metavar="REGEX",
    ),
)


@app.command(cls=Command, epilog=EXAMPLES)
@takes(OPTIONS, REPORT, MATCHERS, GLOBAL)
def impact(
    given: Given,
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[REV | REV..REV] [TARGET]",
            help="Revisions of git (default: the working tree against HEAD); targets (default: all).",
        ),
    ] = None,
) -> int:
    """Compare two revisions of the project: which targets' states, files and pillar differ, and how."""
    from pushsalt.cli.client import Watcher, open_client
    from pushsalt.impact.impact import compare

    pattern = _pattern(given.fail_on)
    watcher = Watcher()
    client, _ = open_client(given, TERMINAL.get(), watcher)
    revisions, target = _sorted(client, words or [], bool(given.matcher_flags()))
    ids = None if target is None else set(client.target(given.selection(target)))
    result = compare(given.settings(), client.project, revisions, ids, watcher)
    return show(given, client, result, pattern)


def show(given: Given, client: Client, result: Impact, pattern: re.Pattern[str] | None) -> int:
    """Write an impact; returns the exit code."""
    from pushsalt.cli.answer import write_data
    from pushsalt.display import impact as display
    from pushsalt.display.states import Detail
    from pushsalt.display.style import draw
    from pushsalt.impact.differences import lines
    from pushsalt.planning.fingerprints import Fingerprints

    out, path = TERMINAL.get().stdout, report_path(given.report)
    data = Fingerprints(client.redactor()).answer(result.as_data())
    if given.out == "markdown":
        out.write(display.markdown(data, result.total), utf8=True)
    elif given.out in (None, "rich"):
        out.write(draw(display.lines(data, result.total, Detail(full_diff=True)), TERMINAL.get().color))
    else:
        write_data(given, data)
    if path is not None:
        from pushsalt.reports.others import impact_page

        write_page(path, impact_page(data, result.total))
    fails = pattern is not None and any(
        pattern.search(row) for id, one in data["ids"].items() for row in lines(id, one)
    )
    return EXIT_FAILED if fails else 0


def _pattern(text: str | None) -> re.Pattern[str] | None:
    if text is None:
        return None
    try:
        return re.compile(text)
    except re.error as exc:
        raise UsageError(
            f"--fail-on: {text!r} is not a regular expression: {exc}", hint="for example 'removed|^db'"
        ) from None


def _sorted(client: Client, words: list[str], matched: bool) -> tuple[str | None, str | None]:
    """(revisions, target) of the words. Raises UsageError."""
    from pushsalt.impact.impact import repository

    if len(words) > 2:
        raise UsageError("impact takes revisions and a target", hint="pushsalt impact main..HEAD 'web*'")
    if len(words) == 2:
        return words[0], words[1]
    if not words:
        return None, None
    (word,) = words
    if ".." in word or (not matched and repository(client.project).find(word) is not None):
        return word, None
    if not matched:
        _check_target(client, word)
    return None, word


def _check_target(client: Client, word: str) -> None:
    """Raise UsageError for a word that is not a target expression."""
    from pushsalt.api import Selection
    from pushsalt.impact.impact import repository

    try:
        client.target(Selection(word))
    except NoTargetError:
        hint = "pushsalt impact REV..REV TARGET"
        if repository(client.project).is_shallow:
            hint = "the clone is shallow: `git fetch --unshallow` (in a CI: fetch-depth: 0)"
        raise UsageError(f"{word!r} is neither a revision nor a target", hint=hint) from None
