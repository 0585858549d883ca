"""Salt's functions that make loaders; they return those of this target. Salt: ``salt/loader/__init__.py``."""

from thin import compat


def _all():
    loaders = compat.loaders()
    if loaders is None:
        raise ImportError("there are no loaders on the controller", name=__name__)
    return loaders


def minion_mods(opts=None, *args, **kwargs):
    return _all().modules


def utils(opts=None, *args, **kwargs):
    return _all().utils


def states(opts=None, *args, **kwargs):
    return _all().states


def grains(opts=None, *args, **kwargs):
    return dict(_all().grains)
