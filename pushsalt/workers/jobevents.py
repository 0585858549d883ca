"""The journal of a project, on this machine or in JetStream, and the events of its jobs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from pushsalt.errors import CommandError
from pushsalt.journal import watched
from pushsalt.journal.reactions import Reactions
from pushsalt.journal.store import Bounds, Journal
from pushsalt.journal.watched import Drift, Watched
from pushsalt.journal.writer import Writer

if TYPE_CHECKING:
    from pushsalt.config import Config
    from pushsalt.journal.interface import EventJournal
    from pushsalt.journal.jobevents import JobEvents
    from pushsalt.run.project import Project
    from pushsalt.run.runner import Runner
    from pushsalt.workers.eventstate import StreamReactions, StreamWatched
    from pushsalt.workers.eventstream import StreamJournal

    AnyReactions = Reactions | StreamReactions
    AnyWatched = Watched | StreamWatched

#: The value of ``event_journal`` for events at the server of ``workers``.
JETSTREAM: Final = "jetstream"


def open_journal(project: Project) -> EventJournal:
    """The journal of a project. Raises CommandError for options that do not fit together."""
    return journal_of(project.config)


def journal_of(config: Config) -> EventJournal:
    """The journal of the project with this configuration: that below the cache folder, or one in JetStream, at the NATS
    server of ``workers`` with ``event_journal: jetstream``, or at that of ``event_journal``. Raises CommandError.
    """
    opts = config.opts
    bounds = Bounds(seconds=opts["keep_events_seconds"] or None, size=opts["keep_events_size"] or None)
    where = opts["event_journal"]
    if isinstance(where, bool):
        return Journal(config.cache_dir, bounds)
    from pushsalt.workers.connection import need_extra
    from pushsalt.workers.eventstream import StreamJournal

    url = str(opts["workers"] or "") if where == JETSTREAM else str(where)
    if not url:
        hint = "add `workers: URL`, or write `event_journal: URL`"
        raise CommandError(f"event_journal is {JETSTREAM}, and there is no NATS server", hint)
    need_extra()
    return StreamJournal(config, url, bounds)


def _in_stream(journal: EventJournal) -> StreamJournal:
    """A journal in JetStream, whose module takes time to import."""
    from pushsalt.workers.eventstream import StreamJournal

    assert isinstance(journal, StreamJournal)
    return journal


def reactions_of(journal: EventJournal) -> AnyReactions:
    """The state of the reactor of a journal. Raises OSError and sqlite3.Error."""
    if isinstance(journal, Journal):
        return Reactions(journal)
    from pushsalt.workers.eventstate import StreamReactions

    return StreamReactions(_in_stream(journal))


def watched_of(journal: EventJournal, sls: Sequence[str]) -> AnyWatched:
    """The drift of targets from the states of these SLS. Raises OSError and sqlite3.Error."""
    if isinstance(journal, Journal):
        return Watched(journal, sls)
    from pushsalt.workers.eventstate import StreamWatched

    return StreamWatched(_in_stream(journal), sls)


def drifted(journal: EventJournal) -> list[Drift]:
    """The targets that had drifted at the last check, by id. Raises OSError and sqlite3.Error."""
    if isinstance(journal, Journal):
        return watched.drifted(journal)
    from pushsalt.workers import eventstate

    return eventstate.drifted(_in_stream(journal))


@contextmanager
def only_one(journal: EventJournal, wait: Callable[[str], bool], what: str) -> Iterator[None]:
    """No other controller of the project does ``what`` with a journal in JetStream meanwhile: see ``eventstate``."""
    if isinstance(journal, Journal):
        yield
        return
    from pushsalt.workers import eventstate

    with eventstate.only_one(_in_stream(journal), wait, what):
        yield


def open_events(project: Project, runner: Runner | None = None) -> JobEvents | None:
    """The observer of a job that writes its events to the journal; None with ``event_journal: false``.

    ``runner``: its callbacks for returns of states and for events are set to this observer. Raises CommandError.
    """
    from pushsalt.journal.jobevents import JobEvents

    opts = project.config.opts
    if not opts["event_journal"]:
        return None
    events = JobEvents(Writer(open_journal(project)), project.redactor, progress=bool(opts["state_events"]))
    if runner is not None:
        runner.on_event, runner.on_state = events.fired, events.state_returned
    return events


async def settle_events(events: JobEvents | None, project: Project) -> None:
    """Wait until the events of a job are written; warn of those that could not be written."""
    if events is not None:
        for text in await asyncio.to_thread(events.settled):
            project.reporter.warning(None, text)
