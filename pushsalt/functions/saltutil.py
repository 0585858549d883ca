"""Salt's ``saltutil``: nothing has to be synchronized or refreshed by hand here, and these say so in Salt's shapes.

What Salt would have synchronized is named each time: all that is in force.
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
    """What is in force of the users' own modules, by kind: ``{"modules": ["modules.name"]}``."""
    return {kind: _in_force(minion, kind) for kind in _KINDS}


def sync_modules(minion: Minion, *args: Any, **kwargs: Any) -> list[str]:
    """The users' own execution modules."""
    return _in_force(minion, "modules")


def sync_states(minion: Minion, *args: Any, **kwargs: Any) -> list[str]:
    """The users' own state modules."""
    return _in_force(minion, "states")


def sync_grains(minion: Minion, *args: Any, **kwargs: Any) -> list[str]:
    """The users' own grains modules."""
    return _in_force(minion, "grains")


def sync_renderers(minion: Minion, *args: Any, **kwargs: Any) -> list[str]:
    """Nothing: they are used where they lie."""
    return []


def sync_utils(minion: Minion, *args: Any, **kwargs: Any) -> list[str]:
    """The users' own utilities."""
    return _in_force(minion, "utils")


def _in_force(minion: Minion, kind: str) -> list[str]:
    return [f"{kind}.{name}" for name in sorted(minion.custom.by_kind.get(kind, ()))]


def refresh_pillar(minion: Minion, *args: Any, **kwargs: Any) -> bool:
    """True: pillar is compiled for each run."""
    return True


def refresh_grains(minion: Minion, *args: Any, **kwargs: Any) -> bool:
    """True: grains are collected for each run."""
    return True


def refresh_modules(minion: Minion, *args: Any, **kwargs: Any) -> bool:
    """True: modules are loaded for each run."""
    return True
