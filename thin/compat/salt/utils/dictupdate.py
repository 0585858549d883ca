"""Salt: ``salt/utils/dictupdate.py``."""

from thin.exceptions import SaltInvocationError
from thin.utils.dictupdate import (  # noqa: F401
    aggregate,
    merge,
    merge_aggregate,
    merge_list,
    merge_overwrite,
    merge_recurse,
    update,
)


def _parent(in_dict, keys, delimiter):
    """(the dict that contains the last key, created if it is missing; the last key)."""
    *path, last = keys.split(delimiter)
    for key in path:
        if not isinstance(in_dict.get(key), dict):
            in_dict[key] = {}
        in_dict = in_dict[key]
    return in_dict, last


def ensure_dict_key(in_dict, keys, delimiter=":", ordered_dict=False):
    """Create missing dicts for the keys of a path, in place. Returns the dict."""
    _parent(in_dict, keys + delimiter, delimiter)
    return in_dict


def set_dict_key_value(in_dict, keys, value, delimiter=":", ordered_dict=False):
    parent, key = _parent(in_dict, keys, delimiter)
    parent[key] = value
    return in_dict


def update_dict_key_value(in_dict, keys, value, delimiter=":", ordered_dict=False):
    parent, key = _parent(in_dict, keys, delimiter)
    parent[key] = {} if parent.get(key) is None else parent[key]
    try:
        parent[key].update(value)
    except AttributeError:
        raise SaltInvocationError("The last key contains a %s, which cannot update." % type(parent[key]))
    except (ValueError, TypeError):
        raise SaltInvocationError("Cannot update %s with a %s." % (type(parent[key]), type(value)))
    return in_dict


def append_dict_key_value(in_dict, keys, value, delimiter=":", ordered_dict=False):
    return _grow(in_dict, keys, value, delimiter, "append")


def extend_dict_key_value(in_dict, keys, value, delimiter=":", ordered_dict=False):
    return _grow(in_dict, keys, value, delimiter, "extend")


def _grow(in_dict, keys, value, delimiter, how):
    parent, key = _parent(in_dict, keys, delimiter)
    parent[key] = [] if parent.get(key) is None else parent[key]
    if not hasattr(parent[key], how):
        raise SaltInvocationError("The last key contains a %s, which cannot %s." % (type(parent[key]), how))
    try:
        getattr(parent[key], how)(value)
    except TypeError:
        raise SaltInvocationError("Cannot extend %s with a %s." % (type(parent[key]), type(value)))
    return in_dict
