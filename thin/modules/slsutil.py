"""Helpers for SLS files that only compute. Salt: salt.modules.slsutil; what reads files or YAML is the controller's."""

from thin.utils import dictupdate

__controller__ = True


def update(dest, upd, recursive_update=True, merge_lists=False):
    """``dest`` with ``upd`` merged into it. Salt: slsutil.update."""
    return dictupdate.update(dest, upd, recursive_update, merge_lists)


def merge(obj_a, obj_b, strategy="smart", renderer="yaml", merge_lists=False):
    """Both merged by a strategy: smart, recurse, aggregate, overwrite, list. Salt: slsutil.merge."""
    return dictupdate.merge(obj_a, obj_b, strategy, renderer, merge_lists)


def merge_all(lst, strategy="smart", renderer="yaml", merge_lists=False):
    """All dicts of a list merged, in order. Salt: slsutil.merge_all."""
    merged = {}
    for item in lst:
        merged = dictupdate.merge(merged, item, strategy, renderer, merge_lists)
    return merged


def boolstr(value, true="true", false="false"):
    """One of two texts, by whether the value is true. Salt: slsutil.boolstr."""
    from thin.utils import data

    return true if data.is_true(value) else false


def banner(width=72, commentchar="#", borderchar="#", blockstart=None, blockend=None, title=None, text=None,
           newline=False):
    """A comment block for the top of a managed file. Salt: slsutil.banner."""
    import textwrap

    if title is None:
        title = "THIS FILE IS MANAGED BY SALT - DO NOT EDIT"
    if text is None:
        text = ("The contents of this file are managed by Salt. Any changes to this file may be overwritten automatically "
                "and without warning.")
    # the comment character may be a word or a letter; Salt repeats the border to the full width
    border = (commentchar + (borderchar * width))[:width].rstrip() + "\n"
    inner = width - len(commentchar) - 1
    lines = [title.center(inner).rstrip()] if title else []
    if text:
        lines += ([""] if lines else []) + textwrap.wrap(text, inner)
    block = [blockstart + "\n" if blockstart else "", border]
    block += [(commentchar + " " + line).rstrip() + "\n" for line in lines]
    block += [border, blockend + "\n" if blockend else ""]
    result = "".join(block)
    return result if newline else result.rstrip("\n")
