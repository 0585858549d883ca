"""Reads grains. Salt: ``salt/modules/grains.py``."""

from thin.utils import data

__controller__ = ("get", "has_value", "items", "item", "ls", "filter_by", "equals", "fetch")
__recorded__ = ("equals", "fetch", "filter_by", "get", "has_value", "item", "items", "ls")
__usual__ = True
__reads__ = ("get", "fetch", "has_value", "items", "item", "ls", "filter_by", "equals")

DELIMITER = data.DELIMITER

#: Grains that ``sanitize`` hides, and their replacements.
_SANITIZERS = {
    "serialnumber": lambda value: str(value)[:-3] + "XXX",
    "domain": lambda value: "DOMAINNAME",
    "fqdn": lambda value: "MINION.DOMAINNAME",
    "id": lambda value: "MINION.DOMAINNAME",
    "host": lambda value: "MINION",
    "localhost": lambda value: "MINION",
    "nodename": lambda value: "MINION",
}


def get(key, default="", delimiter=DELIMITER, ordered=True):
    """
    Return the grain at a path (``pkg:apache``), or the default

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' grains.get ip4_interfaces:ens3
    """
    return data.traverse_dict_and_list(__grains__, key, default, delimiter)


fetch = get


def has_value(key):
    """
    Whether there is a grain at a path

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' grains.has_value app:release
    """
    return data.traverse_dict_and_list(__grains__, key, KeyError) is not KeyError


def items(sanitize=False):
    """
    Return all grains; ``sanitize`` replaces those that identify a machine

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' grains.items
    """
    return _sanitized(dict(__grains__), sanitize)


def item(*args, **kwargs):
    """
    Return ``{path: value}`` of these grains

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' grains.item os osrelease ip_interfaces:ens3
    """
    default, delimiter = kwargs.get("default", ""), kwargs.get("delimiter", DELIMITER)
    ret = {arg: data.traverse_dict_and_list(__grains__, arg, default, delimiter) for arg in args}
    return _sanitized(ret, kwargs.get("sanitize"))


def ls():
    """
    Return the names of all grains

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' grains.ls
    """
    return sorted(__grains__)


def filter_by(lookup_dict, grain="os_family", merge=None, default="default", base=None):
    """
    Return the value of the key (a glob) that matches a grain, or of ``default``; merged over ``base``, under ``merge``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' grains.filter_by '{Debian: Debian rules, RedHat: RedHat rules}'
    """
    return data.filter_by(lookup_dict, grain, __grains__, merge, default, base)


def equals(key, value):
    """
    Whether a grain has this value, compared as text

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' grains.equals id web01
    """
    return str(value) == str(get(key))


def _sanitized(grains, sanitize):
    if data.is_true(sanitize):
        grains.update((name, hide(grains[name])) for name, hide in _SANITIZERS.items() if name in grains)
    return grains
