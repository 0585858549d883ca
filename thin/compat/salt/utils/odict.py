"""Salt: ``salt/utils/odict.py``."""

from collections import OrderedDict


class DefaultOrderedDict(OrderedDict):
    """An OrderedDict that creates missing values, as a defaultdict."""

    def __init__(self, default_factory=None, *args, **kwargs):
        if default_factory is not None and not callable(default_factory):
            raise TypeError("first argument must be callable")
        super(DefaultOrderedDict, self).__init__(*args, **kwargs)
        self.default_factory = default_factory

    def __missing__(self, key):
        if self.default_factory is None:
            raise KeyError(key)
        self[key] = value = self.default_factory()
        return value


class HashableOrderedDict(OrderedDict):
    def __hash__(self):
        return id(self)


__all__ = ["DefaultOrderedDict", "HashableOrderedDict", "OrderedDict"]
