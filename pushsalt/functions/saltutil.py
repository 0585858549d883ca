"""Salt's ``saltutil``. Nothing needs to be synchronized or refreshed by hand; the functions return Salt's shapes.

The ``sync_`` functions always return all modules in use, not only changed ones. Modules of the file roots are sent with
each job; grains and pillar are collected and compiled for each run.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pushsalt import plugins
from pushsalt.errors import StateError
from pushsalt.modules.controller import for_targets

if TYPE_CHECKING:
    from pushsalt.minion.minion import Minion

__reads__ = (
    "sync_all",
    "sync_beacons",
    "sync_clouds",
    "sync_engines",
    "sync_executors",
    "sync_grains",
    "sync_log_handlers",
    "sync_matchers",
    "sync_modules",
    "sync_output",
    "sync_pillar",
    "sync_proxymodules",
    "sync_renderers",
    "sync_resources",
    "sync_returners",
    "sync_sdb",
    "sync_serializers",
    "sync_states",
    "sync_thorium",
    "sync_tops",
    "sync_utils",
    "sync_wrapper",
    "refresh_pillar",
    "refresh_grains",
    "refresh_modules",
    "refresh_matchers",
    "refresh_resources",
    "refresh_beacons",
    "pillar_refresh",
    "list_extmods",
    "runner",
    "running",
    "is_running",
    "find_job",
    "signal_job",
    "term_job",
    "kill_job",
    "term_all_jobs",
    "kill_all_jobs",
    "sync_outputters",
)

log = logging.getLogger(__name__)

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
    "pillar",
    "proxymodules",
    "renderers",
    "resources",
    "returners",
    "sdb",
    "serializers",
    "states",
    "thorium",
    "tops",
    "utils",
    "wrapper",
)


#: pushsalt's names of kinds whose folders have other names in Salt
_OWN_WORDS = {kind.salt: name for name, kind in plugins.KINDS.items()}


@for_targets
def sync_all(minion: Minion, *args: Any, **kwargs: Any) -> dict[str, list[str]]:
    """The users' own modules in use, by kind: ``{"modules": ["modules.name"]}``."""
    return {kind: _in_force(minion, kind) for kind in _KINDS}


def _syncing(kind: str) -> Callable[..., list[str]]:
    @for_targets
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
sync_resources = _syncing("resources")
sync_returners = _syncing("returners")
sync_sdb = _syncing("sdb")
sync_serializers = _syncing("serializers")
sync_states = _syncing("states")
sync_thorium = _syncing("thorium")
sync_tops = _syncing("tops")
sync_utils = _syncing("utils")
sync_wrapper = _syncing("wrapper")


def _in_force(minion: Minion, kind: str) -> list[str]:
    names = set(minion.custom.by_kind.get(kind, ()))
    own = next((name for name in (kind, _OWN_WORDS.get(kind)) if name in plugins.KINDS), None)
    if own is not None:  # used directly from their folders
        for folder in plugins.folders(own, minion.project.config.opts):
            names.update(path.stem for path in plugins.files(folder))
    return [f"{kind}.{name}" for name in sorted(names)]


def refresh_pillar(minion: Minion, *args: Any, **kwargs: Any) -> bool:
    """True: pillar is compiled for each run anyway; this also updates the cache that targeting uses.

    Errors of the pillar are logged, as in Salt, where the function only requests the refresh.
    """
    if not minion.rendering:
        try:
            minion.check_pillar()
        except StateError as exc:
            for text in exc.errors:
                log.error("%s: %s", minion.id, getattr(text, "explanation", text))
    return True


def refresh_grains(minion: Minion, *args: Any, **kwargs: Any) -> bool:
    """True: grains are collected for each run."""
    return True


def refresh_modules(minion: Minion, *args: Any, **kwargs: Any) -> bool:
    """True: modules are loaded for each run."""
    return True


def refresh_matchers(minion: Minion, *args: Any, **kwargs: Any) -> bool:
    """True: matchers are loaded for each run."""
    return True


def refresh_resources(minion: Minion, *args: Any, **kwargs: Any) -> bool:
    """True, after a new discovery of the target's resources. There is also one when the pillar declares other
    resources.
    """
    minion.discover()
    return True


def refresh_beacons(minion: Minion, *args: Any, **kwargs: Any) -> bool:
    """True: pushsalt has no beacons."""
    return True


pillar_refresh = refresh_pillar


def list_extmods(minion: Minion) -> dict[str, list[str]]:
    """The names of the users' own modules by kind; kinds without any are left out."""
    modules = {kind: [name.partition(".")[2] for name in _in_force(minion, kind)] for kind in _KINDS}
    return {kind: names for kind, names in modules.items() if names}


def runner(
    minion: Minion,
    name: str,
    arg: Any = None,
    kwarg: Any = None,
    full_return: bool = False,
    saltenv: str = "base",
    jid: Any = None,
    **kwargs: Any,
) -> Any:
    """The result of the runner ``mine.get`` for ``arg``, ``kwarg`` and ``kwargs``, as pillar calls it in Salt.

    Other runners can be called in an orchestration only; ``full_return``, ``saltenv`` and ``jid`` are as in Salt.
    """
    if name != "mine.get":
        given = {"full_return": full_return, "saltenv": saltenv, **kwargs}
        return minion.remote("saltutil.runner", [name, arg, kwarg], given)
    from pushsalt.functions import mine

    return minion.own("mine.get", mine.get)(*(arg or ()), **{**(kwarg or {}), **kwargs})


# jobs: a target runs one at a time, under a lock, and has no process of it afterwards --------------------------------


def running(minion: Minion) -> list[dict[str, Any]]:
    """An empty list: while this call runs on the target, no other job does."""
    return []


def is_running(minion: Minion, fun: str) -> list[dict[str, Any]]:
    """An empty list, as ``running``."""
    return []


def find_job(minion: Minion, jid: str) -> dict[str, Any]:
    """An empty mapping, as ``running``."""
    return {}


def signal_job(minion: Minion, jid: str, sig: int) -> str:
    """An empty text: there is no such job. A job is ended with Ctrl-C in its command."""
    return ""


def term_job(minion: Minion, jid: str) -> str:
    """An empty text, as ``signal_job``."""
    return ""


def kill_job(minion: Minion, jid: str) -> str:
    """An empty text, as ``signal_job``."""
    return ""


def term_all_jobs(minion: Minion) -> list[str]:
    """An empty list: no job was ended."""
    return []


def kill_all_jobs(minion: Minion) -> list[str]:
    """An empty list: no job was ended."""
    return []
