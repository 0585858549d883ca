"""``pushsalt events``: shows the recorded events of the journal, and new ones."""

from __future__ import annotations

import json
import time
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Annotated, Final

import typer

from pushsalt.cli.app import Command
from pushsalt.cli.opt import Opt
from pushsalt.cli.options import EVENT_OUTPUT, GLOBAL, Given, takes
from pushsalt.cli.stdio import TERMINAL
from pushsalt.errors import CommandError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pushsalt.journal.interface import EventJournal
    from pushsalt.journal.store import Event

app = typer.Typer(rich_markup_mode=None, add_completion=False)

EXAMPLES = """
pushsalt events --since 1h
pushsalt events 'salt/job/*/ret/web*' --follow
pushsalt events 'app/*' --out ndjson --cursor shipper     events not yet shown under this name
"""
SHOWN = (
    Opt("follow", ("--follow",), "Also show new events; without --since and --cursor only those.", "flag"),
    Opt("since", ("--since",), "Only events of this last time (2h, 30d), or since a date.", metavar="TIME"),
    Opt("cursor", ("--cursor",), "Only events that were not yet shown with this name.", metavar="NAME"),
)
#: Seconds between two reads of the journal.
_LOOK: Final = 0.2
_FORMATS: Final = (None, "rich", "ndjson", "json")


@app.command(cls=Command, epilog=EXAMPLES)
@takes(SHOWN, EVENT_OUTPUT, GLOBAL)
def events(
    given: Given,
    glob: Annotated[str, typer.Argument(metavar="[TAG-GLOB]", help="Only events with tags that match.")] = "*",
) -> int:
    """Show events of jobs, targets and runners, oldest first: as lines on a terminal, else as ndjson."""
    if given.out not in _FORMATS:
        raise UsageError(f"--out {given.out}: events are written as ndjson", "omit it, or write --out ndjson")
    out = TERMINAL.get().stdout
    for_people = given.out == "rich" or (given.out is None and out.is_terminal)
    journal = _journal(given)
    name = given.cursor
    try:
        for batch in _batches(given, journal, name):
            wanted = [event for event in batch if fnmatchcase(event.tag, glob)]
            if wanted:
                out.write("".join(map(_line if for_people else _document, wanted)), utf8=not for_people)
            if out.trouble:
                break
            if name:
                journal.move(name, batch[-1].number)
    except _troubles() as exc:
        raise CommandError(f"{journal.place}: {exc}", journal.hint) from None
    except KeyboardInterrupt:
        pass
    finally:
        journal.close()
    return 0


def _batches(given: Given, journal: EventJournal, name: str | None) -> Iterator[list[Event]]:
    """Lists of events; with ``--follow`` they do not end."""
    number = _begin(given, journal, name)
    while True:
        batch = journal.after(number)
        if batch:
            number = batch[-1].number
            yield batch
        elif not given.follow:
            return
        else:
            time.sleep(_LOOK)


def _begin(given: Given, journal: EventJournal, name: str | None) -> int:
    """The number before the first requested event."""
    from pushsalt.jobs import times

    kept = journal.cursor(name) if name else None
    if given.since is not None:
        try:
            since = journal.since(times.since(given.since))
        except ValueError:
            raise UsageError(f"--since: {given.since!r} is not a time", "for example 2h, 30d, or 2026-11-26") from None
        return max(since, kept or 0)
    if kept is not None:
        return kept
    return journal.last() if given.follow and not name else 0


def _journal(given: Given) -> EventJournal:
    """The journal, without the inventory and without connections."""
    from pushsalt.cli.client import configured_log
    from pushsalt.config import CliOverrides, load_config
    from pushsalt.workers.jobevents import journal_of

    configured_log(given, TERMINAL.get())
    settings = given.settings()
    overrides = CliOverrides(cache_dir=settings.cache_dir, options=settings.options)
    return journal_of(load_config(settings.config, cli=overrides))


def _troubles() -> tuple[type[Exception], ...]:
    import sqlite3

    return OSError, sqlite3.Error


def _document(event: Event) -> str:
    return json.dumps(event.as_json) + "\n"


def _line(event: Event) -> str:
    from pushsalt.display.safe import escape

    when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(event.stamp))
    text = f"{when}  {event.tag}  {json.dumps(event.data, ensure_ascii=False)}"
    return escape(text.replace("\n", "\\n")) + "\n"
