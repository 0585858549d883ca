"""Salt: ``salt/utils/immutabletypes.py``."""

from types import MappingProxyType as ImmutableDict

ImmutableList, ImmutableSet = tuple, frozenset


def freeze(obj):
    """The value with immutable dicts, lists and sets."""
    if isinstance(obj, dict):
        return ImmutableDict({key: freeze(value) for key, value in obj.items()})
    if isinstance(obj, list):
        return tuple(freeze(item) for item in obj)
    return frozenset(obj) if isinstance(obj, set) else obj
