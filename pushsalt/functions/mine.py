"""Salt's ``mine``: what targets told of themselves earlier, answered from the cache; nobody else is connected to.

What ``mine_functions`` (configuration, roster, pillar) names is collected with the grains (``pushsalt grains``, and
``--refresh``) and by ``mine.update``.
"""

from __future__ import annotations

import logging
import re
import time
from typing import TYPE_CHECKING, Any

from pushsalt.errors import PushsaltError, UsageError
from pushsalt.run import mine
from pushsalt.run.lookup import age_text

if TYPE_CHECKING:
    from pushsalt.run.minion import Minion

log = logging.getLogger(__name__)


def get(minion: Minion, tgt: Any, fun: Any, tgt_type: str = "glob", exclude_minion: bool = False) -> dict[str, Any]:
    """``{id: value}`` of a mine function for the targets that match; of several functions, ``{function: {id: value}}``.

    Targets without that value are left out, and those whose ``allow_tgt`` leaves this one out. Pillar is matched
    exactly. Salt: mine.get.
    """
    if not isinstance(fun, str | list):
        return {}
    names = [name.strip() for name in fun.split(",")] if isinstance(fun, str) else [str(name) for name in fun]
    by_function = isinstance(fun, list) or len(set(names)) > 1
    names = [name for name in names if _may_ask(minion, name)]
    found: dict[str, Any] = {}
    for id in _find(minion, tgt, tgt_type) if names else ():
        if exclude_minion and id == minion.id:
            continue
        kept = minion.project.mine.get(id)
        for name in names:
            if not isinstance(kept, dict) or name not in kept:
                continue
            value, allowed = mine.unwrap(kept[name])
            if allowed is not None and minion.id not in _find(minion, *allowed):
                continue
            _say_age(minion, id)
            if by_function:
                found.setdefault(name, {})[id] = value
            else:
                found[id] = value
    return found


def update(minion: Minion, clear: bool = False, mine_functions: Any = None) -> bool | None:
    """Call what ``mine_functions`` names and keep it; None when there is nothing to call. Salt: mine.update."""
    if not mine_functions:
        mine_functions = minion.shared("config.merge")("mine_functions", {})
    functions = mine.definitions(mine_functions)
    if not functions:
        return None
    data = {}
    for each in functions:
        try:
            value = minion.call(each.function, each.args, each.kwargs)
        except PushsaltError as exc:
            log.error("%s: the mine function %s is not kept: %s", minion.id, each.function, exc.message)
            continue
        data[each.alias] = each.wrapped(value)
    return mine.store(minion.project, minion.id, data, clear=bool(clear))


def send(minion: Minion, name: str, *args: Any, **kwargs: Any) -> bool:
    """Call one function and keep its value under this name; whether that went well. Salt: mine.send."""
    options = {key: value for key, value in kwargs.items() if not key.startswith("__pub_")}
    [each] = mine.definitions({name: [*args, options]})
    try:
        value = minion.call(each.function, each.args, each.kwargs)
    except PushsaltError as exc:
        log.error("%s: the mine function %s is not kept: %s", minion.id, each.function, exc.message)
        return False
    return mine.store(minion.project, minion.id, {each.alias: each.wrapped(value)})


def delete(minion: Minion, fun: str) -> bool:
    """Forget one function of this target. Salt: mine.delete."""
    return mine.forget(minion.project, minion.id, str(fun))


def flush(minion: Minion) -> bool:
    """Forget all of this target's. Salt: mine.flush."""
    minion.project.mine.delete(minion.id)
    return True


def _find(minion: Minion, tgt: Any, tgt_type: str) -> list[str]:
    try:
        return minion.project.find(tgt, str(tgt_type).lower())
    except UsageError as exc:
        log.error("%s: mine.get: %s", minion.id, exc.message)
        return []


def _may_ask(minion: Minion, name: str) -> bool:
    """Whether the option ``mine_get``, ``{regular expression of ids: [those of functions]}``, lets this target ask."""
    rules = minion.project.config.opts.get("mine_get")
    if rules is None:
        return True
    if not isinstance(rules, dict):
        return False
    allowed = [rule for id, functions in rules.items() if re.match(id, minion.id) for rule in functions or ()]
    return any(re.match(rule, name) for rule in allowed)


def _say_age(minion: Minion, id: str) -> None:
    written = minion.project.mine.written(id)
    age = time.time() - written if written is not None else 0
    if age > minion.project.cache_life:
        minion.warn(f"the mine of {id} is {age_text(age)} old: pushsalt grains {id} collects it")
