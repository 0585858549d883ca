"""Events of the journal. Salt: ``salt/runners/event.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pushsalt.journal.store import Journal

if TYPE_CHECKING:
    from pushsalt.orchestrate.runnercalls import Run


def send(run: Run, tag: str, data: dict[str, Any] | None = None) -> bool:
    """Append an event with this tag and data to the journal."""
    given = data or {}
    Journal(run.client.project.config.cache_dir).put(tag, {**given, "data": given})
    return True


fire = send
