"""Merges default values with others. ``defaults.get``, which reads a file, runs on the controller.

Salt: ``salt/modules/defaults.py``.
"""

import copy

from thin.utils import dictupdate

__controller__ = True
__recorded__ = ("deepcopy", "merge", "update")
__usual__ = True
__reads__ = ("merge", "update", "deepcopy")


def merge(dest, src, merge_lists=False, in_place=True, convert_none=True):
    """
    Merge ``src`` into ``dest``, or into a copy of it, and return that; None counts as empty

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' defaults.merge '{port: 8080}' '{port: 8081, workers: 4}'
    """
    if dest is None and convert_none:
        if in_place:
            raise TypeError("Can't perform in-place merge into NoneType")
        dest = {}
    src = {} if src is None and convert_none else src
    return dictupdate.update(dest if in_place else copy.deepcopy(dest), src, merge_lists=merge_lists)


def update(dest, defaults, merge_lists=True, in_place=True, convert_none=True):
    """
    Add the defaults that it lacks to each dict in ``dest``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' defaults.update '{n1: {a: 1}, n2: {a: 2}}' '{b: 3}'
    """
    if in_place and dest is None:
        raise TypeError("Can't perform in-place update into NoneType")
    if not in_place:
        dest = {} if dest is None and convert_none else copy.deepcopy(dest)
    defaults = {} if defaults is None and convert_none else defaults
    for name, own in list(dest.items()):
        dest[name] = merge(copy.deepcopy(defaults), own, merge_lists, convert_none=convert_none)
    return dest


def deepcopy(source):
    """
    Return a deep copy of a value

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' defaults.deepcopy '{a: {b: 1}}'
    """
    return copy.deepcopy(source)
