"""Salt: ``salt/utils/compat.py``."""


def pack_dunder(name):
    """Nothing: the dunders are there for who imports from a module, too."""


def deepcopy_bound(name):
    return name


def cmp(x, y):
    return (x > y) - (x < y)
