"""Helpers for SLS files that only compute. The controller has those that read files or render.

Salt: ``salt/modules/slsutil.py``.
"""

from thin.exceptions import ArgumentValueError
from thin.utils import dictupdate

__controller__ = True
__recorded__ = ("boolstr", "merge", "merge_all", "update")
__reads__ = ("update", "merge", "merge_all", "boolstr", "banner")


def update(dest, upd, recursive_update=True, merge_lists=False):
    """
    Merge ``upd`` into ``dest`` recursively, and return it

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' slsutil.update '{port: 8080}' '{port: 8081, workers: 4}'
    """
    return dictupdate.update(dest, upd, recursive_update, merge_lists)


def merge(obj_a, obj_b, strategy="smart", renderer="yaml", merge_lists=False):
    """
    Return both merged: ``aggregate``, ``list``, ``overwrite``, ``recurse`` or ``smart``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' slsutil.merge '{port: 8080}' '{port: 8081, workers: 4}'
    """
    return dictupdate.merge(obj_a, obj_b, strategy, renderer, merge_lists)


def merge_all(lst, strategy="smart", renderer="yaml", merge_lists=False):
    """
    Return all of a list merged, in order

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' slsutil.merge_all '[{port: 8080}, {workers: 4}, {port: 8081}]'
    """
    ret = {}
    for item in lst:
        ret = dictupdate.merge(ret, item, strategy, renderer, merge_lists)
    return ret


def boolstr(value, true="true", false="false"):
    """
    Return one text for a true value, and another for a false one

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' slsutil.boolstr True yes no
    """
    return true if value else false


def banner(
    width=72, commentchar="#", borderchar="#", blockstart=None, blockend=None, title=None, text=None, newline=False
):
    """
    Return a framed comment for the top of a managed file

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' slsutil.banner width=40 commentchar=//
    """
    import textwrap

    left, right = commentchar.rstrip(), commentchar.strip()
    inner = width - len(left) - len(right) - 2
    if inner < 1:
        raise ArgumentValueError("Width is too small to render banner")
    title = "THIS FILE IS MANAGED BY SALT - DO NOT EDIT" if title is None else title
    if text is None:
        text = (
            "The contents of this file are managed by Salt. Any changes to this file may be overwritten "
            "automatically and without warning."
        )
    border = commentchar + borderchar[:1] * (inner + 2) + right
    blank = left + " " * (width - len(left) - len(commentchar)) + commentchar
    lines = [blockstart] if blockstart else []
    lines += [border, blank]
    lines += ["%s %s %s" % (left, line.center(inner), right) for line in textwrap.wrap(title, inner)]
    lines.append(blank)
    lines += ["%s %s %s" % (left, line.ljust(inner), right) for line in textwrap.wrap(text, inner)]
    lines.append(border)
    lines += [blockend] if blockend else []
    return "\n".join(lines) + ("\n" if newline else "")
