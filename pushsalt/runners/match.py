"""Whether an expression selects a target. Salt: ``salt/runners/match.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pushsalt.errors import CommandError

if TYPE_CHECKING:
    from pushsalt.orchestrate.runnercalls import Run


def compound_matches(run: Run, expr: str, minion_id: str) -> dict[str, Any]:
    """``res``: the id, or False. Cached data of targets is used, and pillar is matched exactly."""
    project = run.client.project
    try:
        matched = minion_id in project.names(project.find(str(expr), "compound"))
    except CommandError:
        matched = False
    return {"res": minion_id if matched else False}
