"""Writes grains to the minion's grains file (/etc/salt/grains), and to the grains of this run.

Salt: ``salt/modules/grains.py``.
"""

import os

from thin.exceptions import SaltException
from thin.utils import data
from thin.utils.files import safepath

__virtualname__ = "grains"

__func_alias__ = {"set_": "set"}
__usual__ = True
__changes__ = ("setvals", "setval", "set", "append", "remove", "delkey", "delval")

_ABSENT = object()


def setvals(grains, destructive=False, refresh_pillar=True):
    """
    Write grains, and return them; with ``destructive``, grains with the value None are removed

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' grains.setvals '{stage: production, rack: B7}'
    """
    from thin.utils import yamlout
    from thin.utils.files import textfile

    if not isinstance(grains, dict):
        raise SaltException("setvals grains must be a dictionary.")
    path = os.path.join(os.path.dirname(__opts__.get("conf_file") or "/etc/salt/minion"), "grains")
    try:
        written = _read(path)
    except Exception as exc:  # any error of the YAML parser
        return "Unable to read existing grains file: %s" % exc
    for key, value in grains.items():
        for where in (written, __grains__):
            if value is None and destructive is True:
                where.pop(key, None)
            else:
                where[key] = value
    safepath.makedirs(os.path.dirname(path))
    textfile.write(path, yamlout.dump(written))
    return grains


def setval(key, val, destructive=False, refresh_pillar=True):
    """
    Write one grain, and return it as ``{key: value}``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' grains.setval rack B7
    """
    return setvals({key: val}, destructive)


def set_(key, val="", force=False, destructive=False, delimiter=data.DELIMITER):
    """
    Write the grain at a path (``apps:web:port``); lists and mappings are overwritten only with ``force``

    Returns ``{result, changes, comment}``.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' grains.set app:listen:port 8443
    """
    now = _get(key, _ABSENT, delimiter)
    if now is not _ABSENT and now == val and (val is not None or destructive is not True):
        return _ret(True, "Grain is already set")
    if now is not None and not force:
        if isinstance(now, (dict, list)):
            return _ret(False, "The key '%s' exists but is a dict or a list. Use 'force=True' to overwrite." % key)
        if isinstance(val, (dict, list)) and now is not _ABSENT:
            return _ret(
                False,
                "The key '%s' exists and the given value is a dict or a list. Use 'force=True' to overwrite." % key,
            )
    value = val
    while delimiter in key:
        key, rest = key.rsplit(delimiter, 1)
        above = _get(key, {}, delimiter)
        if isinstance(above, dict):
            if value is None and destructive:
                above.pop(rest, None)
            else:
                above[rest] = value
        elif isinstance(above, list):
            above = _put_in_list(above, rest, value)
        elif above == rest or force:
            above = {rest: value}
        else:
            return _ret(
                False,
                "The key '%s' value is '%s', which is different from the provided key '%s'. "
                "Use 'force=True' to overwrite." % (key, above, rest),
            )
        value = above
    done = setval(key, value, destructive=destructive)
    return _ret(True, "", done) if isinstance(done, dict) else _ret(False, done)


def append(key, val, convert=False, delimiter=data.DELIMITER):
    """
    Add a value, or each item of a list, to a list of grains; with ``convert``, another value becomes a list

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' grains.append roles web
    """
    result = _get(key, [], delimiter)
    if convert and not isinstance(result, list):
        result = [] if result is None else [result]
    if not isinstance(result, list):
        return "The key %s is not a valid list" % key
    if val in result:
        return "The val %s was already in the list %s" % (val, key)
    return _write(key, result + (val if isinstance(val, list) else [val]), delimiter)


def remove(key, val, delimiter=data.DELIMITER):
    """
    Remove a value from a list of grains

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' grains.remove roles web
    """
    value = _get(key, [], delimiter)
    if not isinstance(value, list):
        return "The key %s is not a valid list" % key
    if val not in value:
        return "The val %s was not in the list %s" % (val, key)
    value.remove(val)
    return _write(key, value, delimiter)


def delkey(key, force=False):
    """
    Remove a grain; one with a list or mapping only with ``force``

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' grains.delkey rack
    """
    return delval(key, destructive=True, force=force)


def delval(key, destructive=False, force=False):
    """
    Set a grain to None; with ``destructive`` remove it

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' grains.delval rack
    """
    return set_(key, None, destructive=destructive, force=force)


def _get(key, default, delimiter):
    """A copy of the value at a path: the grains of this run are updated only after the changed copy was written."""
    import copy

    value = data.traverse_dict_and_list(__grains__, key, default, delimiter)
    return value if value is default and default is _ABSENT else copy.deepcopy(value)


def _write(key, value, delimiter):
    while delimiter in key:
        key, rest = key.rsplit(delimiter, 1)
        above = _get(key, {}, delimiter)
        if isinstance(above, dict):
            above[rest] = value
        value = above
    return setval(key, value)


def _put_in_list(items, key, value):
    result = False
    for at, item in enumerate(items):
        if item == key:
            items[at], result = {key: value}, True
        elif isinstance(item, dict) and key in item:
            item[key], result = value, True
    return items if result else items + [{key: value}]


def _read(path):
    """The mapping in the grains file; {} if the file does not exist or contains something else."""
    from thin.grains import static
    from thin.utils.files import textfile

    text = textfile.read(path, "")
    try:
        return static.parse(text)
    except ValueError:
        from thin import link

        if not link.connected():
            raise
        grains = link.ask("slsutil.deserialize", ["yaml", text])
        return grains if isinstance(grains, dict) else {}


def _ret(result, comment, changes=None):
    return {"comment": comment, "changes": changes or {}, "result": result}
