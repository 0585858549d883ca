"""Pillar of targets. Salt: ``salt/runners/pillar.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pushsalt.runners.cache import clear_pillar
from pushsalt.runners.cache import pillar as cached
from pushsalt.runners.salt import cmd, execute

if TYPE_CHECKING:
    from pushsalt.orchestrate.runnercalls import Run


def show_pillar(run: Run, minion: str = "*", **kwargs: Any) -> Any:
    """The pillar of a target, which is connected to; without a name that of the controller. Secrets are hidden."""
    given: dict[str, Any] = {name: kwargs[name] for name in ("saltenv", "pillarenv") if name in kwargs}
    if minion == "*":
        return cmd(run, "pillar.items", unmask=True, **given)
    found = execute(run, minion, "pillar.items", kwarg={"unmask": True, **given}, tgt_type="list")
    return found.get(minion, {})


def clear_pillar_cache(run: Run, minion: str = "*", **kwargs: Any) -> bool:
    """Remove cached pillar."""
    return clear_pillar(run, minion)


def show_pillar_cache(run: Run, minion: str = "*", **kwargs: Any) -> dict[str, Any]:
    """id -> cached pillar."""
    return cached(run, minion)
