"""The values of grains of many targets, for ``--batch-by``: targets that share one must not run at once."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pushsalt.errors import IndexCorrupt, UsageError
from pushsalt.select.lookup import Remembered
from pushsalt.select.selectable import Selectable
from pushsalt.targeting import key_of
from thin.utils import data

if TYPE_CHECKING:
    from pushsalt.select.project import SelectingProject

log = logging.getLogger(__name__)

_MISSING = object()
#: Limit for the ids in a message.
_NAMED = 5


def values_of(project: SelectingProject, keys: Sequence[str], names: Sequence[str]) -> Mapping[str, frozenset[str]]:
    """name -> its values of these grains, as ``KEY=VALUE``; a list is several values.

    Grains are those of the inventory over the cached ones. Targets without a grain share one value, since their values
    may be equal; a warning names them. Raises UsageError for a grain that none of them has.
    """
    caches = Remembered(project, Selectable(project.inventory))
    values: dict[str, set[str]] = {name: set() for name in names}
    for key in keys:
        without = []
        for name in names:
            texts = _texts(_value(project, caches, key_of(name) or name, key))
            if not texts:
                without.append(name)
            values[name].update(f"{key}={text}" for text in texts or [""])
        if len(without) == len(names):
            hint = "--refresh collects grains first; or write it into `grains` of the inventory"
            raise UsageError(f"--batch-by: no target has a grain {key!r} that is known", hint=hint)
        if without:
            more = f" and {len(without) - _NAMED} more" if len(without) > _NAMED else ""
            ids = ", ".join(without[:_NAMED]) + more
            log.warning("--batch-by: the grain %s is not known of %s: only one of them at a time", key, ids)
    caches.warn_of_age()
    return {name: frozenset(texts) for name, texts in values.items()}


def _value(project: SelectingProject, caches: Remembered, key: str, path: str) -> Any:
    """The value at a path in the grains of a target; _MISSING if there is none."""
    top = path.partition(":")[0]
    target = project.inventory.targets.get(key)
    if target is not None and top in target.grains:
        return data.traverse_dict_and_list(dict(target.grains), path, _MISSING)
    try:
        return data.traverse_dict_and_list(caches.grains(key), path, _MISSING)
    except IndexCorrupt:
        return _MISSING


def _texts(value: Any) -> list[str]:
    if value is _MISSING or value is None:
        return []
    if isinstance(value, list | tuple | set | frozenset):
        return [str(item) for item in value]
    return [str(value)]
