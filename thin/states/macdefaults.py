"""Preferences of macOS. Salt: states/macdefaults.py

.. code-block:: yaml

    EmptyTrashSecurely:
      macdefaults.write:
        - domain: com.apple.Finder
        - value: true
        - vtype: bool
"""

__virtualname__ = "macdefaults"


def __virtual__():
    return __virtualname__ if __grains__.get("kernel") == "Darwin" else (False, "Only supported on macOS")


def write(name, domain, value, vtype=None, name_separator=None, user=None):
    """The preference has this value. changes: ``{written: "domain name is set to value"}``.

    name
        The preference; with ``name_separator``, a path into dicts and lists
    domain
        Such as com.apple.Finder
    value
        Its value
    vtype
        Its type: string, data, int, float, bool, date, array, array-add, dict or dict-add
    name_separator
        The separator of the parts of the path
    user
        The user whose preference it is
    """
    ret = {"name": name, "result": True, "changes": {}, "comment": ""}
    now = __salt__["macdefaults.read"](domain, name, user, key_separator=name_separator)
    if vtype is not None:
        try:
            value = __salt__["macdefaults.cast_value_to_vtype"](value, vtype)
        except ValueError as exc:
            return dict(ret, result=False, comment="Failed to cast value %s to %s. %s" % (value, vtype, exc))
    if _has(now, value, vtype):
        return dict(ret, comment="%s %s is already set to %s" % (domain, name, value))
    text = "%s %s is set to %s" % (domain, name, value)
    if __opts__["test"]:
        return dict(ret, result=None, changes={"written": text}, comment="%s %s would be set" % (domain, name))
    try:
        done = __salt__["macdefaults.write"](domain, name, value, vtype, user, key_separator=name_separator)
    except (KeyError, IndexError, ValueError) as exc:
        return dict(ret, result=False, comment="Failed to write default. %s" % exc)
    if done["retcode"] != 0:
        return dict(ret, result=False, comment="Failed to write default. %s" % done["stderr"])
    return dict(ret, changes={"written": text})


def absent(name, domain, user=None, name_separator=None):
    """The preference does not exist. changes: ``{absent: "domain name is now absent"}``.

    name
        The preference; with ``name_separator``, a path into dicts and lists
    domain
        Such as com.apple.Finder
    user
        The user whose preference it is
    name_separator
        The separator of the parts of the path
    """
    ret = {"name": name, "result": True, "changes": {}, "comment": ""}
    text = "%s %s is now absent" % (domain, name)
    if __opts__["test"] and __salt__["macdefaults.read"](domain, name, user, key_separator=name_separator) is not None:
        return dict(ret, result=None, changes={"absent": text}, comment="%s %s would be removed" % (domain, name))
    done = None
    if not __opts__["test"]:
        done = __salt__["macdefaults.delete"](domain, name, user, key_separator=name_separator)
    if done is None or done["retcode"] != 0:
        return dict(ret, comment="%s %s is already absent" % (domain, name))
    return dict(ret, changes={"absent": text})


def _has(now, value, vtype):
    if vtype == "array-add":
        wanted = value if isinstance(value, list) else [value]
        return isinstance(now, list) and now[-len(wanted) :] == wanted
    if vtype == "dict-add":
        return isinstance(now, dict) and all(key in now and now[key] == value[key] for key in value)
    return now == value
