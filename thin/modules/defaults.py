"""Merging for formulas' defaults. Salt: salt.modules.defaults."""

import copy

from thin.utils import dictupdate

__controller__ = ("merge", "update", "deepcopy")


def merge(dest, src, merge_lists=False, in_place=True, convert_none=True):
    """``src`` merged into ``dest`` (or a copy of it). Salt: defaults.merge."""
    if convert_none:
        dest = {} if dest is None else dest
        src = {} if src is None else src
    if not in_place:
        dest = copy.deepcopy(dest)
    return dictupdate.update(dest, src, merge_lists=merge_lists)


def update(dest, defaults, merge_lists=True, in_place=True, convert_none=True):
    """Each entry of ``dest`` over a copy of ``defaults``. Salt: defaults.update."""
    if not in_place:
        dest = copy.deepcopy(dest)
    for key in list(dest or {}):
        below = copy.deepcopy(defaults)
        own = {} if dest[key] is None and convert_none else dest[key]
        dest[key] = dictupdate.update(below, own, merge_lists=merge_lists)
    return dest


def deepcopy(source):
    """A copy that shares nothing. Salt: defaults.deepcopy."""
    return copy.deepcopy(source)
