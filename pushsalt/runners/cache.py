"""Cached data of targets, without connecting. Salt: ``salt/runners/cache.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pushsalt.errors import NoTargetError
from pushsalt.run import caches

if TYPE_CHECKING:
    from pushsalt.orchestrate.runnercalls import Run


def _keys(run: Run, tgt: Any, tgt_type: str) -> list[str]:
    expr = ",".join(map(str, tgt)) if isinstance(tgt, list) else str(tgt)
    try:
        return run.client.project.find(expr, "list" if isinstance(tgt, list) else tgt_type)
    except NoTargetError:
        return []


def _shown(run: Run, bank: str, tgt: Any, tgt_type: str) -> dict[str, Any]:
    keys = _keys(run, "*" if tgt is None else tgt, tgt_type)
    if not keys:
        return {}
    found = caches.show(run.client.project, bank, keys, unmask=True)
    names = dict(zip(keys, run.client.project.names(keys), strict=True))
    return {names[key]: entry["value"] for key, entry in found.items()}


def grains(run: Run, tgt: Any, tgt_type: str = "glob", **kwargs: Any) -> dict[str, Any]:
    """id -> grains, of targets that have been asked for them."""
    return _shown(run, "grains", tgt, tgt_type)


def pillar(run: Run, tgt: Any = None, tgt_type: str = "glob", **kwargs: Any) -> dict[str, Any]:
    """id -> pillar, of targets for which it was compiled; secrets are hidden in output."""
    return _shown(run, "pillar", tgt, tgt_type)


def mine(run: Run, tgt: Any = None, tgt_type: str = "glob", **kwargs: Any) -> dict[str, Any]:
    """id -> values of the mine."""
    return _shown(run, "mine", tgt, tgt_type)


def _clear(run: Run, bank: str, tgt: Any, tgt_type: str) -> bool:
    keys = _keys(run, "*" if tgt is None else tgt, tgt_type)
    return bool(keys) and any(caches.clear(run.client.project, bank, keys).values())


def clear_grains(run: Run, tgt: Any = None, tgt_type: str = "glob") -> bool:
    """Remove cached grains."""
    return _clear(run, "grains", tgt, tgt_type)


def clear_pillar(run: Run, tgt: Any = None, tgt_type: str = "glob") -> bool:
    """Remove cached pillar."""
    return _clear(run, "pillar", tgt, tgt_type)


def clear_mine(run: Run, tgt: Any = None, tgt_type: str = "glob") -> bool:
    """Remove values of the mine."""
    return _clear(run, "mine", tgt, tgt_type)


def clear_mine_func(run: Run, tgt: Any = None, tgt_type: str = "glob", clear_mine_func_flag: str | None = None) -> bool:
    """Remove one value of the mine."""
    bank = run.client.project.mine
    found = False
    for key in _keys(run, "*" if tgt is None else tgt, tgt_type):
        if clear_mine_func_flag is not None and clear_mine_func_flag in (bank.get(key) or {}):
            found = bank.update(key, {}, without=[clear_mine_func_flag]) or found
    return found


def clear_all(run: Run, tgt: Any = None, tgt_type: str = "glob") -> bool:
    """Remove grains, pillar and values of the mine."""
    found = [_clear(run, bank, tgt, tgt_type) for bank in ("grains", "pillar", "mine")]
    return any(found)
