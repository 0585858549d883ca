"""Events of the journal. Salt: ``salt/runners/event.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pushsalt.orchestrate.runnercalls import Run


def send(run: Run, tag: str, data: dict[str, Any] | None = None) -> bool:
    """Append an event with this tag and data to the journal."""
    run.client.project.journal.put(tag, {"data": data or {}, **(data or {})} if data else {"data": {}})
    return True


fire = send
