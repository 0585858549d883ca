"""Salt: ``salt/utils/compat.py``."""


def pack_dunder(name):
    """Does nothing: the dunders exist, also for code that imports from a module."""


def deepcopy_bound(name):
    return name


def cmp(x, y):
    return (x > y) - (x < y)
