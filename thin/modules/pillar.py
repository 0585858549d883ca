"""Reads pillar, for states and templates, which receive the real values. Salt: ``salt/modules/pillar.py``.

Output for people is masked by the controller, which compiles pillar again for ``pillar.items`` on a command line.
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
    Return the pillar at a path (``pkg:apache``), or the default; with ``merge``, the pillar is merged over the default

    Raises KeyError if the path does not exist, no default is given and ``pillar_raise_on_missing`` is set.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pillar.get app:release
    """
    if default == _NOT_SET:  # as in Salt, an undefined variable of a template raises here, even if the path exists
        default = KeyError if __opts__.get("pillar_raise_on_missing") else ""
    if merge:
        merged = _merged(key, default, delimiter, merge_nested_lists)
        if merged is not None:
            return merged
    value = data.traverse_dict_and_list(__pillar__, key, default, delimiter)
    if value is KeyError:
        raise KeyError("Pillar key not found: %s" % key)
    return value


fetch = get


def _merged(key, default, delimiter, merge_nested_lists):
    """The pillar merged over its default, or None if their types differ."""
    if not isinstance(default, (dict, list)):
        # Only types: values of pillar and their replacements must not be logged.
        log.error(
            "pillar.get: a default of the type %s cannot be merged; only a dict or a list can",
            type(default).__name__,
        )
        return None
    kind = Mapping if isinstance(default, dict) else list
    value = data.traverse_dict_and_list(__pillar__, key, type(default)(), delimiter)
    if not isinstance(value, kind):
        log.error(
            "pillar.get: Default is a %s, but the returned pillar value is of type '%s'. Merge will be skipped.",
            type(default).__name__,
            type(value).__name__,
        )
        return None
    default = copy.deepcopy(default)
    if isinstance(default, list):
        return default + [item for item in value if item not in default]
    lists = __opts__.get("pillar_merge_lists", False) if merge_nested_lists is None else merge_nested_lists
    return dictupdate.update(default, value, merge_lists=lists)


def items(*args, **kwargs):
    """
    Return the pillar, or ``{path: value}`` for some paths

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pillar.items
    """
    return item(*args) if args else dict(__pillar__)


data_ = items


def item(*args, **kwargs):
    """
    Return ``{path: value}`` for these paths

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pillar.item app:port app:workers
    """
    default, delimiter = kwargs.get("default"), kwargs.get("delimiter") or DELIMITER
    default = "" if default is None else default
    return {arg: data.traverse_dict_and_list(__pillar__, arg, default, delimiter) for arg in args}


def raw(key=None, unmask=None):
    """
    Return the pillar as modules receive it, or the value of one key

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
    value = data.traverse_dict_and_list(__pillar__, key, ..., delimiter)
    if isinstance(value, Mapping):
        return list(value)
    raise KeyError("Pillar key not found: %s" % key) if value is ... else ValueError("No dict in pillar: %s" % key)


def filter_by(lookup_dict, pillar, merge=None, default="default", base=None):
    """
    Return the value of the key (a glob) that matches a value of the pillar, as ``grains.filter_by`` does for grains

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' pillar.filter_by '{production: web01, test: web02}' stage
    """
    return data.filter_by(lookup_dict, pillar, __pillar__, merge, default, base)


def obfuscate(*args, **kwargs):
    """
    Return the pillar with all values replaced by their types

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
