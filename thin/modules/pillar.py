"""Pillar as states and templates see it: real values. Salt: salt.modules.pillar; a command line's view, masked, is the controller's."""

import copy

from thin import log
from thin.utils import data, dictupdate

__opts__ = {}
__pillar__ = {}

__controller__ = True

_log = log.getLogger(__name__)


def get(key, default=KeyError, merge=False, merge_nested_lists=None, delimiter=data.DELIMITER, pillarenv=None,
        saltenv=None, unmask=None):
    """The value of a key (``a:b`` descends), or ``default``, merged into it with ``merge``.

    Raises KeyError for a missing key without default when ``pillar_raise_on_missing`` is set. Salt: pillar.get.
    """
    if default is KeyError and not __opts__.get("pillar_raise_on_missing"):
        default = ""
    if merge:
        merged = _merged(key, default, merge_nested_lists, delimiter)
        if merged is not None:
            return merged
    found = data.traverse_dict_and_list(__pillar__, key, default, delimiter)
    if found is KeyError:
        raise KeyError("Pillar key not found: %s" % key)
    return found


def _merged(key, default, merge_lists, delimiter):
    """The value over a copy of the default, or None where they don't go together (which is said)."""
    if isinstance(default, dict):
        found = data.traverse_dict_and_list(__pillar__, key, {}, delimiter)
        if isinstance(found, dict):
            if merge_lists is None:
                merge_lists = __opts__.get("pillar_merge_lists", False)
            return dictupdate.update(copy.deepcopy(default), found, merge_lists=merge_lists)
    elif isinstance(default, list):
        found = data.traverse_dict_and_list(__pillar__, key, [], delimiter)
        if isinstance(found, list):
            return copy.deepcopy(default) + [item for item in found if item not in default]
    else:
        _log.error("pillar.get: Default (of type '%s') must be a dict or list to merge. Merge will be skipped.",
                   type(default).__name__)
        return None
    _log.error("pillar.get: Default is a %s, but the returned pillar value is of type '%s'. Merge will be skipped.",
               type(default).__name__, type(found).__name__)
    return None


def items(*args, **kwargs):
    """The compiled pillar. Salt: pillar.items."""
    return dict(__pillar__)


def raw(key=None, unmask=None):
    """The compiled pillar, or one top-level key of it. Salt: pillar.raw."""
    return __pillar__.get(key, {}) if key else dict(__pillar__)


def item(*args, **kwargs):
    """These keys, as a dict. Salt: pillar.item."""
    default = kwargs.get("default", "")
    delimiter = kwargs.get("delimiter") or data.DELIMITER
    return {key: data.traverse_dict_and_list(__pillar__, key, default, delimiter) for key in args}


def ls(*args, **kwargs):
    """The top-level keys. Salt: pillar.ls."""
    return list(__pillar__)


def keys(key, delimiter=data.DELIMITER, unmask=None):
    """The keys below a key. Raises KeyError, and ValueError where no dict is. Salt: pillar.keys."""
    found = data.traverse_dict_and_list(__pillar__, key, KeyError, delimiter)
    if found is KeyError:
        raise KeyError("Pillar key not found: %s" % key)
    if not isinstance(found, dict):
        raise ValueError("Pillar value in key %s is not a dict" % key)
    return list(found)


def filter_by(lookup_dict, pillar, merge=None, default="default", base=None):
    """The entry of ``lookup_dict`` whose key (a glob) fits the pillar value. Salt: pillar.filter_by."""
    return data.filter_by(lookup_dict, pillar, __pillar__, merge, default, base)
