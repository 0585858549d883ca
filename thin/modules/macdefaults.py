"""Preferences of macOS, by defaults. Salt: modules/macdefaults.py

A whole domain is exported, changed and imported again, so that values keep their types.
"""

import os
import re

from thin.exceptions import CommandExecutionError
from thin.log import getLogger
from thin.utils.files import osutil, safepath

__virtualname__ = "macdefaults"
__reads__ = ("read", "cast_value_to_vtype")
__changes__ = ("write", "delete")

log = getLogger(__name__)

_DATE = "%Y-%m-%dT%H:%M:%SZ"


def __virtual__():
    if __grains__.get("kernel") == "Darwin":
        return __virtualname__
    return False, "Only available on macOS"


def write(domain, key, value, vtype=None, user=None, key_separator=None, dict_merge=False, array_add=False, type=None):
    """
    Set a preference; returns what cmd.run_all returns

    domain
        Such as com.apple.Finder
    key
        The preference; with ``key_separator``, a path into dicts and lists
    value
        Its value
    vtype
        Its type: string, data, int, float, bool, date, array, array-add, dict or dict-add
    user
        The user whose it is
    key_separator
        The separator of the parts of the path
    dict_merge
        Merge the dict into the present one
    array_add
        Append the list to the present one
    type
        The old name of ``vtype``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' macdefaults.write com.apple.dock tilesize 36 vtype=int
        pushsalt run '*' macdefaults.write com.apple.dock autohide True vtype=bool
    """
    if type is not None:
        log.warning("The 'type' argument in macdefaults.write is deprecated. Use 'vtype' instead.")
        vtype = type if vtype is None else vtype
    plist = _load(domain, user)
    keys = _keys(key, key_separator)
    holder = _down(plist, keys[:-1])
    if holder is None:
        raise KeyError("Key not found: %s for domain: %s" % (key, domain))
    last, now = keys[-1], None
    if isinstance(holder, dict):
        now = holder.get(last)
    elif isinstance(holder, list) and re.match(r"\d+$", last):
        last = int(last)
        if last >= len(holder):
            raise IndexError("Index %s is out of range for domain: %s" % (last, domain))
        now = holder[last]
    if vtype is not None:
        value = cast_value_to_vtype(value, vtype)
    if isinstance(now, dict) and isinstance(value, dict) and (dict_merge or vtype == "dict-add"):
        now.update(value)
    elif isinstance(now, list) and (array_add or vtype == "array-add"):
        now.extend(value if isinstance(value, list) else [value])
    else:
        holder[last] = value
    return _save(domain, plist, user)


def read(domain, key, user=None, key_separator=None):
    """
    Return a preference, None if there is none

    domain
        Such as com.apple.Finder
    key
        The preference; with ``key_separator``, a path into dicts and lists
    user
        The user whose preference it is
    key_separator
        The separator of the parts of the path

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' macdefaults.read com.apple.dock autohide
    """
    return _down(_load(domain, user), _keys(key, key_separator))


def delete(domain, key, user=None, key_separator=None):
    """
    Remove a preference; returns what cmd.run_all returns, None if there is none

    domain
        Such as com.apple.Finder
    key
        The preference; with ``key_separator``, a path into dicts and lists
    user
        The user whose preference it is
    key_separator
        The separator of the parts of the path

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' macdefaults.delete com.apple.dock autohide
    """
    plist = _load(domain, user)
    keys = _keys(key, key_separator)
    holder, last = _down(plist, keys[:-1]), keys[-1]
    if isinstance(holder, list) and re.match(r"\d+$", last) and int(last) < len(holder):
        del holder[int(last)]
    elif isinstance(holder, dict) and last in holder:
        del holder[last]
    else:
        return None
    return _save(domain, plist, user)


def cast_value_to_vtype(value, vtype):
    """
    Convert a value to a type of defaults(1). Raises ValueError if that is not possible

    value
        The value
    vtype
        As in ``macdefaults.write``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' macdefaults.cast_value_to_vtype yes bool
    """
    if vtype in ("bool", "boolean"):
        word = str(value).lower()
        if word in ("true", "yes", "1"):
            return True
        if word in ("false", "no", "0"):
            return False
        raise ValueError("Invalid value for boolean: '%s'" % value)
    if vtype == "string":
        if isinstance(value, bool):
            return "YES" if value else "NO"
        if isinstance(value, bytes):
            return value.decode()
        return value.strftime(_DATE) if hasattr(value, "strftime") else str(value)
    if vtype in ("int", "integer"):
        return int(value)
    if vtype == "float":
        return float(value)
    if vtype == "date":
        return _date(value)
    if vtype == "data":
        if isinstance(value, (str, bytes)):
            return value.encode() if isinstance(value, str) else value
        raise ValueError("Invalid value for data: '%s'" % value)
    kinds = {"dict": (dict, "dictionary"), "array": (list, "array")}
    if vtype not in ("dict", "dict-add", "array", "array-add"):
        raise ValueError("Invalid type: '%s'" % vtype)
    kind, word = kinds[vtype.partition("-")[0]]
    if not isinstance(value, kind):
        raise ValueError("Invalid value for %s: '%s'" % (word, value))
    return value


def _date(value):
    from datetime import datetime

    if isinstance(value, datetime):
        return value
    try:
        return datetime.fromtimestamp(float(value))
    except (TypeError, ValueError):
        try:
            return datetime.strptime(str(value), _DATE)
        except ValueError:
            raise ValueError("Invalid date format: '%s'" % value)


def _keys(key, separator):
    return [key] if separator is None else key.split(separator)


def _down(value, keys):
    for key in keys:
        if isinstance(value, dict):
            value = value.get(key)
        elif isinstance(value, list) and re.match(r"\d+$", key) and int(key) < len(value):
            value = value[int(key)]
        else:
            return None
    return value


def _defaults(words, user):
    done = __salt__["cmd.run_all"](["defaults"] + words, runas=user, python_shell=False)
    if done["retcode"] and re.match(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\S*\s+defaults\[", done["stderr"]):
        done["stderr"] = done["stderr"].strip().partition("\n")[2]
    return done


def _load(domain, user):
    done = _defaults(["export", domain, "-"], user)
    if done["retcode"]:
        raise CommandExecutionError("Failed to export defaults: %s" % done["stderr"])
    return _plistlib().loads(done["stdout"].encode("utf-8")) or {}


def _save(domain, plist, user):
    folder = osutil.mkdtemp()
    try:
        path = os.path.join(folder, "domain.plist")
        with open(path, "wb", opener=safepath.opener) as target:
            _plistlib().dump(plist, target)
        if user is not None:
            for each in (path, folder):
                __salt__["file.chown"](each, user, None)
        return _defaults(["import", domain, path], user)
    finally:
        osutil.rmtree(folder, ignore_errors=True)


def _plistlib():
    try:
        import plistlib
    except ImportError:
        raise CommandExecutionError("the target's Python has no plistlib")
    return plistlib
