"""Events of the journal. Salt: ``salt/runners/event.py``."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, Any

from pushsalt.errors import FunctionError
from pushsalt.workers.jobevents import open_journal

if TYPE_CHECKING:
    from pushsalt.orchestrate.runnercalls import Run


def send(run: Run, tag: str, data: dict[str, Any] | None = None) -> bool:
    """Append an event with this tag and data to the journal."""
    given = data or {}
    if not isinstance(given, dict):
        raise FunctionError("exception", f"event.send: the data is a mapping, not {given!r:.80}", "", "TypeError")
    journal = open_journal(run.client.project)
    try:
        journal.put(str(tag), run.client.redactor().data(given))
    except (OSError, sqlite3.Error) as exc:
        raise FunctionError("exception", f"{journal.place}: {exc}", journal.hint, "OSError") from None
    finally:
        journal.close()
    return True


fire = send
