"""Pillar: reads it, for states and templates, which see real values. Salt: ``salt/modules/pillar.py``.

What a person sees of it is masked by the controller, which compiles it anew for ``pillar.items`` on a command line.
"""

import copy
from collections.abc import Mapping

from thin.log import getLogger
from thin.utils import data, dictupdate

__controller__ = True
__recorded__ = ("filter_by",)
__func_alias__ = {"data_": "data"}
__usual__ = True
__reads__ = ("get", "fetch", "items", "data", "item", "raw", "ls", "keys", "filter_by", "obfuscate")

log = getLogger(__name__)

DELIMITER = data.DELIMITER
_NOT_SET = "__unset__"


def get(
    key,
    default=_NOT_SET,
    merge=False,
    merge_nested_lists=None,
    delimiter=DELIMITER,
    pillarenv=None,
    saltenv=None,
    unmask=None,
):
    """
    Return the pillar at a path (``pkg:apache``), or the default; ``merge`` puts the pillar over a default dict or list

    Raises KeyError when there is nothing, no default is given and ``pillar_raise_on_missing`` is set.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pillar.get app:release
    """
    if default == _NOT_SET:  # an undefined name of a template raises here, as in Salt, also when there is a value
        default = KeyError if __opts__.get("pillar_raise_on_missing") else ""
    if merge:
        merged = _merged(key, default, delimiter, merge_nested_lists)
        if merged is not None:
            return merged
    found = data.traverse_dict_and_list(__pillar__, key, default, delimiter)
    if found is KeyError:
        raise KeyError("Pillar key not found: %s" % key)
    return found


fetch = get


def _merged(key, default, delimiter, merge_nested_lists):
    """The pillar over its default, or None when the two do not fit together."""
    if not isinstance(default, (dict, list)):
        # Types only: values of pillar and what stands in for them do not go into logs.
        log.error(
            "pillar.get: a default of the type %s cannot be merged; only a dict or a list can",
            type(default).__name__,
        )
        return None
    kind = Mapping if isinstance(default, dict) else list
    found = data.traverse_dict_and_list(__pillar__, key, type(default)(), delimiter)
    if not isinstance(found, kind):
        log.error(
            "pillar.get: Default is a %s, but the returned pillar value is of type '%s'. Merge will be skipped.",
            type(default).__name__,
            type(found).__name__,
        )
        return None
    default = copy.deepcopy(default)
    if isinstance(default, list):
        return default + [item for item in found if item not in default]
    lists = __opts__.get("pillar_merge_lists", False) if merge_nested_lists is None else merge_nested_lists
    return dictupdate.update(default, found, merge_lists=lists)


def items(*args, **kwargs):
    """
    Return the pillar, or ``{path: value}`` of some of it

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pillar.items
    """
    return item(*args) if args else dict(__pillar__)


data_ = items


def item(*args, **kwargs):
    """
    Return ``{path: value}`` of these

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pillar.item app:port app:workers
    """
    default, delimiter = kwargs.get("default"), kwargs.get("delimiter") or DELIMITER
    default = "" if default is None else default
    return {arg: data.traverse_dict_and_list(__pillar__, arg, default, delimiter) for arg in args}


def raw(key=None, unmask=None):
    """
    Return the pillar as the modules have it, or what one of its keys holds

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pillar.raw
    """
    return __pillar__.get(key, {}) if key else dict(__pillar__)


def ls(*args, **kwargs):
    """
    Return the names of the pillar's keys

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pillar.ls
    """
    return list(items(*args))


def keys(key, delimiter=DELIMITER, unmask=None):
    """
    Return the names of the keys at a path

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pillar.keys app:listen
    """
    found = data.traverse_dict_and_list(__pillar__, key, ..., delimiter)
    if isinstance(found, Mapping):
        return list(found)
    raise KeyError("Pillar key not found: %s" % key) if found is ... else ValueError("No dict in pillar: %s" % key)


def filter_by(lookup_dict, pillar, merge=None, default="default", base=None):
    """
    Return the value of the key (a glob) that fits a value of the pillar, as ``grains.filter_by`` does for grains

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pillar.filter_by '{production: web01, test: web02}' stage
    """
    return data.filter_by(lookup_dict, pillar, __pillar__, merge, default, base)


def obfuscate(*args, **kwargs):
    """
    Return the pillar with the type of each value in its place

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pillar.obfuscate
    """
    return _types(items(*args))


def _types(value):
    if isinstance(value, dict):
        return {key: _types(value[key]) for key in value}
    if isinstance(value, (list, tuple, set)):
        return type(value)(_types(item) for item in value)
    return "<%s>" % type(value).__name__
