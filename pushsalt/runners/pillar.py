"""Pillar of targets. Salt: ``salt/runners/pillar.py``."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pushsalt.errors import FunctionError
from pushsalt.minion.compiling import pillar_top
from pushsalt.minion.minion import Minion
from pushsalt.runners.cache import clear_pillar
from pushsalt.runners.cache import pillar as cached
from pushsalt.runners.salt import cmd, execute
from pushsalt.session.intake import imposed

if TYPE_CHECKING:
    from pushsalt.orchestrate.runnercalls import Run


def show_pillar(run: Run, minion: str = "*", **kwargs: Any) -> Any:
    """The pillar of a target, which is connected to; without a name that of the controller. Secrets are hidden."""
    given: dict[str, Any] = {name: kwargs[name] for name in ("saltenv", "pillarenv") if name in kwargs}
    if minion == "*":
        return cmd(run, "pillar.items", unmask=True, **given)
    pillar = execute(run, minion, "pillar.items", kwarg={"unmask": True, **given}, tgt_type="list")
    return pillar.get(minion, {})


def show_top(run: Run, minion: str | None = None, saltenv: str = "base") -> Any:
    """The pillar top file as it is rendered for a target, by its cached grains: saltenv -> expression -> SLS.

    Without a name: for the first target of the inventory. A list of texts if it cannot be rendered.
    """
    project = run.client.project
    ids = list(project.inventory.targets)
    if not ids or (minion is not None and minion not in ids):
        hint = "`pushsalt target '*'` lists the targets"
        raise FunctionError("exception", f"there is no target {minion or 'in the inventory'!r}", hint, "ValueError")
    target = project.inventory.targets[minion or ids[0]]
    kept = project.grains.get(target.key)
    grains = imposed(target, kept if isinstance(kept, dict) else {})
    options = replace(run.options, pillar=None, saltenv=saltenv)
    top, errors = pillar_top(Minion(project, target, options, grains, None, rendering=True, pillar={}))
    return errors or top


def clear_pillar_cache(run: Run, minion: str = "*", **kwargs: Any) -> bool:
    """Remove cached pillar."""
    return clear_pillar(run, minion)


def show_pillar_cache(run: Run, minion: str = "*", **kwargs: Any) -> dict[str, Any]:
    """id -> cached pillar."""
    return cached(run, minion)
