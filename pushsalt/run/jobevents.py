"""The journal of a project, and the events of its jobs."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from pushsalt.journal.store import Bounds, Journal
from pushsalt.journal.writer import Writer

if TYPE_CHECKING:
    from pushsalt.journal.jobevents import JobEvents
    from pushsalt.run.project import Project
    from pushsalt.run.runner import Runner


def open_journal(project: Project) -> Journal:
    """The journal below the cache folder, with the bounds of the configuration."""
    opts = project.config.opts
    bounds = Bounds(seconds=opts["keep_events_seconds"] or None, size=opts["keep_events_size"] or None)
    return Journal(project.config.cache_dir, bounds)


def open_events(project: Project, runner: Runner | None = None) -> JobEvents | None:
    """The observer of a job that writes its events to the journal; None with ``event_journal: false``.

    ``runner``: its callbacks for returns of states and for events are set to this observer.
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
