"""Salt: ``salt/utils/immutabletypes.py``."""

from types import MappingProxyType as ImmutableDict

ImmutableList, ImmutableSet = tuple, frozenset


def freeze(obj):
    """The value with dicts, lists and sets in it that cannot be changed."""
    if isinstance(obj, dict):
        return ImmutableDict({key: freeze(value) for key, value in obj.items()})
    if isinstance(obj, list):
        return tuple(freeze(item) for item in obj)
    return frozenset(obj) if isinstance(obj, set) else obj
