"""Salt's ``resource``: the stored managed resources of a target, and their discovery.

Salt: ``salt/runners/resource.py``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pushsalt.modules.controller import for_command

if TYPE_CHECKING:
    from pushsalt.minion.minion import Minion

__reads__ = ("list_grains", "show_grains", "refresh")


@for_command
def list_grains(minion: Minion) -> dict[str, dict[str, Any]]:
    """The cached grains of each resource of the target: ``{"type:id": {"grain_keys": [...], "grain_count": n}}``."""
    bank = minion.project.command.resource_grains
    kept = {key: bank.get(key) for key in minion.project.command.managed.managed_by(minion.id)}
    return {
        key: {"grain_keys": sorted(grains), "grain_count": len(grains)}
        for key, grains in kept.items()
        if isinstance(grains, dict)
    }


@for_command
def show_grains(minion: Minion, type: str, id: str) -> dict[str, Any] | None:
    """The cached grains of one resource, by ``type`` and ``id``; None if there are none, or another target manages
    it.
    """
    key = f"{type}:{id}"
    if minion.project.command.managed.manager(key) != minion.id:
        return None
    grains = minion.project.command.resource_grains.get(key)
    return grains if isinstance(grains, dict) else None


def refresh(minion: Minion) -> dict[str, list[str]]:
    """Make the target discover its managed resources, and store them: ``{type: [id]}``; empty for an unreachable
    target.
    """
    return minion.discover()
