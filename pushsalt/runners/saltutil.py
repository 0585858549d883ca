"""Synchronizing modules, which has no effect here. Salt: ``salt/runners/saltutil.py``.

Modules in the file roots (``_modules``, ``_runners`` …) are read when they are needed, so nothing is ever out of date.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pushsalt.orchestrate.runnercalls import Run

_KINDS: Final = (
    *("clouds", "modules", "states", "grains", "renderers", "returners", "output", "proxymodules", "runners", "wheel"),
    *("engines", "thorium", "queues", "pillar", "utils", "sdb", "cache", "fileserver", "tops", "tokens"),
    *("serializers", "executors", "wrapper", "roster"),
)


def sync_all(
    run: Run, saltenv: str = "base", extmod_whitelist: Any = None, extmod_blacklist: Any = None
) -> dict[str, list[str]]:
    """kind of modules -> an empty list, as in Salt when nothing has changed."""
    return {kind: [] for kind in _KINDS}


def sync_modules(
    run: Run, saltenv: str = "base", extmod_whitelist: Any = None, extmod_blacklist: Any = None
) -> list[str]:
    """An empty list, as in Salt when nothing has changed."""
    return []


sync_states = sync_grains = sync_renderers = sync_returners = sync_output = sync_proxymodules = sync_modules
sync_runners = sync_wheel = sync_engines = sync_thorium = sync_queues = sync_pillar = sync_utils = sync_modules
sync_sdb = sync_tops = sync_cache = sync_fileserver = sync_clouds = sync_roster = sync_eauth_tokens = sync_modules
sync_serializers = sync_executors = sync_wrapper = sync_modules
