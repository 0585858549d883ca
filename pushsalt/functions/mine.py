"""Salt's ``mine``: what targets told of themselves earlier, answered from the cache; nobody is connected to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pushsalt.errors import NoTargetError

if TYPE_CHECKING:
    from pushsalt.run.minion import Minion


def get(minion: Minion, tgt: str, fun: Any, tgt_type: str = "glob", exclude_minion: bool = False) -> dict[str, Any]:
    """``{id: value}`` of a mine function for the targets that match; of several functions, ``{function: {id: value}}``.

    Targets without that value are left out. Salt: mine.get.
    """
    names = [name.strip() for name in fun.split(",")] if isinstance(fun, str) else [str(name) for name in fun]
    try:
        ids = minion.project.select(str(tgt), tgt_type, ":")
    except NoTargetError:
        ids = []
    found: dict[str, dict[str, Any]] = {name: {} for name in names}
    for id in ids:
        if exclude_minion and id == minion.id:
            continue
        kept = minion.project.mine.get(id) or {}
        for name in names:
            if name in kept:
                found[name][id] = kept[name]
    return found[names[0]] if len(names) == 1 else found
