"""Values of the mine. Salt: ``salt/runners/mine.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pushsalt.minion.mine import unwrap
from pushsalt.runners import cache
from pushsalt.runners.salt import execute

if TYPE_CHECKING:
    from pushsalt.orchestrate.runnercalls import Run


def get(run: Run, tgt: Any, fun: Any, tgt_type: str = "glob") -> dict[str, Any]:
    """id -> value of a mine function; of several functions, function -> id -> value. The controller may read all."""
    names = [str(name) for name in fun] if isinstance(fun, list) else [name.strip() for name in str(fun).split(",")]
    kept = cache.mine(run, tgt, tgt_type)
    by_function: dict[str, Any] = {}
    for name in names:
        of = {id: unwrap(values[name])[0] for id, values in kept.items() if name in values}
        if of:
            by_function[name] = of
    several = isinstance(fun, list) or len(set(names)) > 1
    return by_function if several else by_function.get(names[0], {})


def update(
    run: Run, tgt: Any, tgt_type: str = "glob", clear: bool = False, mine_functions: Any = None
) -> dict[str, Any]:
    """Have targets provide their values again."""
    return execute(run, tgt, "mine.update", tgt_type=tgt_type, kwarg={"clear": clear, "mine_functions": mine_functions})
