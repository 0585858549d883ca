"""Deep merges of data with Salt's strategies. Salt: salt.utils.dictupdate, salt.utils.aggregation.

Pure, for both sides. Pillar and ``slsutil.merge`` use ``merge``, ``slsutil.update`` uses ``update``.
"""

import copy
from collections.abc import Mapping


class Aggregate(object):
    """Marks a value that the strategy ``aggregate`` joins with the other value, at any depth."""


class AggregatedMap(dict, Aggregate):
    """A marked mapping, as by yamlex ``!aggregate``."""


class AggregatedSequence(list, Aggregate):
    """A marked list; a marked scalar is a list of one item."""


class InOrder(dict):
    """A mapping from an SLS, which YAML output shows in its order; other mappings are shown sorted."""

    def copy(self):
        return InOrder(self)

    __copy__ = copy

    def __deepcopy__(self, memo):
        return InOrder([(copy.deepcopy(key, memo), copy.deepcopy(item, memo)) for key, item in self.items()])

    def __reduce_ex__(self, protocol):
        return dict, (dict(self),)


InOrder.__module__, InOrder.__name__, InOrder.__qualname__ = "builtins", "dict", "dict"  # its name in messages


def in_order(value):
    """A copy of the value with InOrder in place of plain dicts, and new lists, recursively."""
    if type(value) is dict:
        return InOrder([(key, in_order(item)) for key, item in value.items()])
    if type(value) is list:
        return [in_order(item) for item in value]
    return value


def copy_containers(value):
    """A copy of all dicts and lists of the value, recursively; other values are shared."""
    if isinstance(value, Aggregate):
        kind = AggregatedMap if isinstance(value, dict) else AggregatedSequence
        return kind(copy_containers(dict(value) if isinstance(value, dict) else list(value)))
    if isinstance(value, dict):
        copied = {key: copy_containers(item) for key, item in value.items()}
        return InOrder(copied) if isinstance(value, InOrder) else copied
    if isinstance(value, list):
        return [copy_containers(item) for item in value]
    return value


def update(dest, upd, recursive_update=True, merge_lists=False, strict=False):
    """Change ``dest`` and return it: mappings in both are merged recursively, other values are replaced by those of
    ``upd``.

    ``merge_lists``: items of the other list that a list lacks are appended; with ``strict`` too, a mapping in ``upd``
    for a list of ``dest`` is a TypeError. Raises TypeError if one of the two is no mapping.
    """
    if not isinstance(dest, Mapping) or not isinstance(upd, Mapping):
        raise TypeError("Cannot update using non-dict types in dictupdate.update()")
    for key, value in list(upd.items()):
        old = dest.get(key) if recursive_update else None
        if isinstance(old, Mapping) and isinstance(value, Mapping):
            dest[key] = update(old, value, merge_lists=merge_lists)
        elif merge_lists and isinstance(old, list) and isinstance(value, list):
            dest[key] = old + [item for item in value if item not in old]
        elif merge_lists and strict and isinstance(old, list) and isinstance(value, Mapping):
            raise TypeError("Cannot merge a mapping with the keys %s into the list %r" % (sorted(value), key))
        else:
            dest[key] = value
    return dest


def merge(obj_a, obj_b, strategy="smart", renderer="yaml", merge_lists=False):
    """A new mapping merged from both. Values of ``obj_b`` override; ``obj_a`` is not changed.

    ``recurse`` merges recursively, ``overwrite`` replaces top-level keys; ``aggregate`` too, but joins marked values;
    ``list`` makes ``[a, b]`` for keys in both; ``smart`` is ``aggregate`` for the renderer yamlex, else ``recurse``;
    ``none`` and unknown strategies are ``recurse`` without ``merge_lists``.
    """
    if strategy == "smart":
        yamlex = renderer.split("|")[-1] == "yamlex" or renderer.startswith("yamlex_")
        strategy = "aggregate" if yamlex else "recurse"
    if strategy == "recurse":
        return merge_recurse(obj_a, obj_b, merge_lists)
    if strategy == "overwrite":
        return merge_overwrite(obj_a, obj_b)
    if strategy == "aggregate":
        return merge_aggregate(obj_a, obj_b)
    if strategy == "list":
        return merge_list(obj_a, obj_b)
    return merge_recurse(obj_a, obj_b)


def merge_recurse(obj_a, obj_b, merge_lists=False):
    return update(copy_containers(obj_a), obj_b, merge_lists=merge_lists)


def merge_overwrite(obj_a, obj_b, merge_lists=False):
    """``merge_lists`` is Salt's parameter; it has no effect, because whole values are replaced."""
    return update(copy_containers(obj_a), obj_b, recursive_update=False)


def merge_list(obj_a, obj_b):
    """As in Salt, keys that only ``obj_b`` has are left out."""
    return {key: [value, obj_b[key]] if key in obj_b else value for key, value in obj_a.items()}


def merge_aggregate(obj_a, obj_b):
    return aggregate(obj_a, obj_b, level=1)


def aggregate(obj_a, obj_b, level=False):
    """Both values joined if they are marked, else ``obj_b``.

    ``level``: handle values as marked: True at any depth, a number for this many levels.
    """
    deeper = level if level is True or not level else level - 1
    if level:
        obj_a, obj_b = _marked(obj_a), _marked(obj_b)
    marked = isinstance(obj_a, Aggregate) and isinstance(obj_b, Aggregate)
    if isinstance(obj_a, dict) and isinstance(obj_b, dict):
        merged = type(obj_a)(obj_a) if marked else type(obj_b)(obj_b)
        for key, value in obj_b.items():
            merged[key] = aggregate(obj_a[key], value, deeper) if key in obj_a else value
        return merged
    if marked and isinstance(obj_a, list) and isinstance(obj_b, list):
        return AggregatedSequence(obj_a + [item for item in obj_b if item not in obj_a])
    return obj_b


def _marked(value):
    if isinstance(value, Aggregate):
        return value
    if isinstance(value, dict):
        return AggregatedMap(value)
    return AggregatedSequence(value if isinstance(value, (list, tuple, set)) else [value])
