"""Salt's ``defaults.get``, which reads files of the file roots; the rest is in ``thin/modules/defaults.py``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pushsalt.yamlio import load_yaml
from thin.utils.data import traverse_dict_and_list

if TYPE_CHECKING:
    from pushsalt.minion.minion import Minion

__reads__ = ("get",)
__recorded__ = ("get",)


def get(minion: Minion, key: str, default: Any = "") -> Any:
    """A value of a formula's ``defaults.yaml`` or ``defaults.json``: ``formula:path:to:key``. Salt: defaults.get."""
    formula, _, path = str(key).partition(":")
    defaults = _defaults(minion, formula)
    return traverse_dict_and_list(defaults, path, default) if path else defaults


def _defaults(minion: Minion, formula: str) -> Any:
    """The data of the first of the two files that exists; {} if it is empty, None if there is none."""
    for ending, load in (("yaml", load_yaml), ("json", json.loads)):
        file = minion.files.find(f"{formula}/defaults.{ending}", "base")
        if file is not None:
            return load(file.read().decode("utf-8")) or {}
    return None
