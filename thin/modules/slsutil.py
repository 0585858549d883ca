"""Helpers for SLS files which only compute. Those that read files or render are the controller's.

Salt: ``salt/modules/slsutil.py``.
"""

from thin.utils import dictupdate

__controller__ = True


def update(dest, upd, recursive_update=True, merge_lists=False):
    """
    Merge ``upd`` into ``dest``, in depth, and return it

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' slsutil.update '{foo: Foo}' '{bar: Bar}'
    """
    return dictupdate.update(dest, upd, recursive_update, merge_lists)


def merge(obj_a, obj_b, strategy="smart", renderer="yaml", merge_lists=False):
    """
    Return both merged: ``aggregate``, ``list``, ``overwrite``, ``recurse`` or ``smart``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' slsutil.merge '{foo: Foo}' '{bar: Bar}'
    """
    return dictupdate.merge(obj_a, obj_b, strategy, renderer, merge_lists)


def merge_all(lst, strategy="smart", renderer="yaml", merge_lists=False):
    """
    Return all of a list merged, in order

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' slsutil.merge_all '[{foo: Foo}, {foo: Bar}]'
    """
    ret = {}
    for item in lst:
        ret = dictupdate.merge(ret, item, strategy, renderer, merge_lists)
    return ret


def boolstr(value, true="true", false="false"):
    """
    Return one text for a true value, another for a false one

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' slsutil.boolstr True yes no
    """
    return true if value else false
