"""Grains as functions. Salt: salt.modules.grains (those that only read; writing ones come with the grains state)."""

from thin.exceptions import SaltException
from thin.utils import data

__grains__ = {}

__controller__ = ("get", "has_value", "items", "item", "ls", "filter_by", "equals", "fetch")


def get(key, default="", delimiter=data.DELIMITER, ordered=True):
    """The value of a grain; ``a:b`` descends into dicts and lists.

    Salt: grains.get.
    """
    return data.traverse_dict_and_list(__grains__, key, default, delimiter)


fetch = get


def has_value(key):
    """Whether the grain is there and not empty. Salt: grains.has_value."""
    return data.traverse_dict_and_list(__grains__, key, KeyError) is not KeyError


def items(sanitize=False):
    """All grains; with ``sanitize`` those that identify the machine are blanked. Salt: grains.items."""
    found = dict(__grains__)
    if sanitize:
        for key in ("serialnumber", "domain", "fqdn", "id", "host", "localhost", "nodename", "uuid"):
            if key in found:
                found[key] = "X" * 8
    return found


def item(*args, **kwargs):
    """These grains, as a dict; ``default`` and ``delimiter`` as in ``get``. Salt: grains.item."""
    default = kwargs.get("default", "")
    delimiter = kwargs.get("delimiter", data.DELIMITER)
    return {key: data.traverse_dict_and_list(__grains__, key, default, delimiter) for key in args}


def ls():
    """The names of all grains, sorted. Salt: grains.ls."""
    return sorted(__grains__)


def equals(key, value):
    """Whether the grain's value, as text, is this one. Salt: grains.equals."""
    return str(value) == str(get(key))


def filter_by(lookup_dict, grain="os_family", merge=None, default="default", base=None):
    """The entry of ``lookup_dict`` whose key (a glob) fits the grain, else ``default``'s.

    ``base`` names an entry below it, ``merge`` is a dict over it. Salt: grains.filter_by.
    """
    if not isinstance(lookup_dict, dict) and not hasattr(lookup_dict, "keys"):
        raise SaltException("filter_by needs a dictionary to look in, not %s" % type(lookup_dict).__name__)
    return data.filter_by(lookup_dict, grain, __grains__, merge, default, base)
