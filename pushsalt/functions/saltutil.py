"""Salt's ``saltutil``: nothing has to be synchronized or refreshed by hand here, and these say so in Salt's shapes.

Modules of the file roots travel with the job that uses them; grains and pillar are made anew for each run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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
    """What was synchronized, by kind: nothing."""
    return {kind: [] for kind in _KINDS}


def sync_modules(minion: Minion, *args: Any, **kwargs: Any) -> list[str]:
    """Nothing to synchronize."""
    return []


def sync_states(minion: Minion, *args: Any, **kwargs: Any) -> list[str]:
    """Nothing to synchronize."""
    return []


def sync_grains(minion: Minion, *args: Any, **kwargs: Any) -> list[str]:
    """Nothing to synchronize."""
    return []


def sync_renderers(minion: Minion, *args: Any, **kwargs: Any) -> list[str]:
    """Nothing to synchronize."""
    return []


def sync_utils(minion: Minion, *args: Any, **kwargs: Any) -> list[str]:
    """Nothing to synchronize."""
    return []


def refresh_pillar(minion: Minion, *args: Any, **kwargs: Any) -> bool:
    """True: pillar is compiled for each run."""
    return True


def refresh_grains(minion: Minion, *args: Any, **kwargs: Any) -> bool:
    """True: grains are collected for each run."""
    return True


def refresh_modules(minion: Minion, *args: Any, **kwargs: Any) -> bool:
    """True: modules are loaded for each run."""
    return True
