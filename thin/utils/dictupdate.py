"""Deep merges of data, with Salt's strategies. Salt: salt.utils.dictupdate, salt.utils.aggregation.

Pure, for both sides. ``merge`` is what pillar and ``slsutil.merge`` use, ``update`` what ``slsutil.update`` does.
"""

import copy
from collections.abc import Mapping


class Aggregate(object):
    """Marks a value that the strategy ``aggregate`` joins with the one that it meets, at any depth."""


class AggregatedMap(dict, Aggregate):
    """A mapping that was marked, as by yamlex ``!aggregate``."""


class AggregatedSequence(list, Aggregate):
    """A list that was marked; a marked scalar is a list of one."""


class InOrder(dict):
    """A mapping from an SLS: in YAML it keeps its order, while other mappings are sorted."""

    def copy(self):
        return InOrder(self)

    __copy__ = copy

    def __deepcopy__(self, memo):
        return InOrder([(copy.deepcopy(key, memo), copy.deepcopy(item, memo)) for key, item in self.items()])

    def __reduce_ex__(self, protocol):
        return dict, (dict(self),)


InOrder.__module__, InOrder.__name__, InOrder.__qualname__ = "builtins", "dict", "dict"  # as messages call it


def in_order(value):
    """The value with InOrder in place of its plain dicts, at any depth, and its own lists."""
    if type(value) is dict:
        return InOrder([(key, in_order(item)) for key, item in value.items()])
    if type(value) is list:
        return [in_order(item) for item in value]
    return value


def copy_containers(value):
    """A copy of all dicts and lists of the value, at any depth; other values are shared."""
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
    """``dest``, changed: mappings that both have are updated in depth, of anything else ``upd`` has the last word.

    With ``merge_lists`` a list gets those items of the other that it has not; with ``strict`` too, a mapping in place
    of a list is a TypeError. Raises TypeError when one of the two is no mapping.
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
    """A new mapping of both. Values of ``obj_b`` override; ``obj_a`` is not changed.

    ``recurse`` merges in depth, ``overwrite`` by top-level keys; ``aggregate`` so too but joins marked values;
    ``list`` gives ``[a, b]`` for keys that both have; ``smart`` is ``aggregate`` for the renderer yamlex, else
    ``recurse``; ``none`` and anything unknown is ``recurse`` without ``merge_lists``.
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
    """``merge_lists`` is Salt's parameter; with whole values replaced, no two lists meet."""
    return update(copy_containers(obj_a), obj_b, recursive_update=False)


def merge_list(obj_a, obj_b):
    """Keys that only ``obj_b`` has are left out, as in Salt."""
    return {key: [value, obj_b[key]] if key in obj_b else value for key, value in obj_a.items()}


def merge_aggregate(obj_a, obj_b):
    return aggregate(obj_a, obj_b, level=1)


def aggregate(obj_a, obj_b, level=False):
    """Both values joined if they are marked, otherwise ``obj_b``.

    ``level`` marks them by itself: True at any depth, a number in so many levels from here.
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
