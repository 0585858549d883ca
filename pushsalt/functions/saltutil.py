"""Salt's ``saltutil``: nothing has to be synchronized or refreshed by hand here, and these say so in Salt's shapes.

What Salt would have synchronized is named each time: all that is in force.
Modules of the file roots travel with the job that uses them; grains and pillar are made anew for each run.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pushsalt import plugins

if TYPE_CHECKING:
    from pushsalt.run.minion import Minion

_KINDS = (
    "beacons",
    "clouds",
    "engines",
    "executors",
    "grains",
    "log_handlers",
    "matchers",
    "modules",
    "output",
    "proxymodules",
    "renderers",
    "returners",
    "sdb",
    "serializers",
    "states",
    "thorium",
    "tops",
    "utils",
)


def sync_all(minion: Minion, *args: Any, **kwargs: Any) -> dict[str, list[str]]:
    """What is in force of the users' own modules, by kind: ``{"modules": ["modules.name"]}``."""
    return {kind: _in_force(minion, kind) for kind in _KINDS}


def _syncing(kind: str) -> Callable[..., list[str]]:
    def sync(minion: Minion, *args: Any, **kwargs: Any) -> list[str]:
        return _in_force(minion, kind)

    sync.__doc__ = f"The users' own {kind.replace('_', ' ')}."
    return sync


sync_beacons = _syncing("beacons")
sync_clouds = _syncing("clouds")
sync_engines = _syncing("engines")
sync_executors = _syncing("executors")
sync_grains = _syncing("grains")
sync_log_handlers = _syncing("log_handlers")
sync_matchers = _syncing("matchers")
sync_modules = _syncing("modules")
sync_output = sync_outputters = _syncing("output")
sync_pillar = _syncing("pillar")
sync_proxymodules = _syncing("proxymodules")
sync_renderers = _syncing("renderers")
sync_returners = _syncing("returners")
sync_sdb = _syncing("sdb")
sync_serializers = _syncing("serializers")
sync_states = _syncing("states")
sync_thorium = _syncing("thorium")
sync_tops = _syncing("tops")
sync_utils = _syncing("utils")


def _in_force(minion: Minion, kind: str) -> list[str]:
    names = set(minion.custom.by_kind.get(kind, ()))
    if kind in ("renderers", "serializers"):  # these are used where they lie
        for folder in plugins.folders(kind, minion.project.config.opts):
            names.update(path.stem for path in folder.glob("*.py"))
    return [f"{kind}.{name}" for name in sorted(names)]


def refresh_pillar(minion: Minion, *args: Any, **kwargs: Any) -> bool:
    """True: pillar is compiled for each run."""
    return True


def refresh_grains(minion: Minion, *args: Any, **kwargs: Any) -> bool:
    """True: grains are collected for each run."""
    return True


def refresh_modules(minion: Minion, *args: Any, **kwargs: Any) -> bool:
    """True: modules are loaded for each run."""
    return True
