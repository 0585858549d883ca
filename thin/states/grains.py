"""Grains of the grains file. Salt: states/grains.py

Names are paths (``a:b``); ``delimiter`` is the separator of their parts, by default a colon.
"""

__usual__ = True

_ABSENT = object()


def exists(name, delimiter=":"):
    """The grain exists; changes nothing."""
    name = name.replace(delimiter, ":")
    if __salt__["grains.get"](name, _ABSENT) is _ABSENT:
        return _ret(name, False, "Grain does not exist")
    return _ret(name, True, "Grain exists")


def present(name, value, delimiter=":", force=False):
    """The grain has this value. A list or mapping is replaced only with ``force``."""
    name = name.replace(delimiter, ":")
    now = __salt__["grains.get"](name, _ABSENT)
    if now is not _ABSENT and now == value:
        return _ret(name, True, "Grain is already set")
    if __opts__["test"]:
        if now is _ABSENT:
            return _ret(name, None, "Grain %s is set to be added" % name, {"new": name})
        return _ret(name, None, "Grain %s is set to be changed" % name, {"changed": {name: value}})
    ret = dict(__salt__["grains.set"](name, value, force=force), name=name)
    if ret["result"] is True and ret["changes"]:
        ret["comment"] = "Set grain %s to %s" % (name, value)
    return ret


def list_present(name, value, delimiter=":"):
    """The list contains this value, or all of these; it is created if it is missing."""
    name = name.replace(delimiter, ":")
    grain = __salt__["grains.get"](name)
    if grain and not isinstance(grain, list):
        return _ret(name, False, "Grain %s is not a valid list" % name)
    pending = __context__.setdefault("pending_grains", {}).setdefault(name, [])
    values = value if isinstance(value, list) else [value]
    existing = [each for each in values if each in pending or (grain and each in grain)]
    new = [each for each in values if each not in existing]
    if not new:
        words = "is already in grain %s (or pending)" if grain else "is already pending in grain %s"
        return _ret(name, True, "Value %s %s" % (value, words % name))
    pending.extend(new)
    comment = ""
    if isinstance(value, list):
        value = new
        if existing:
            words = 'value found in "%s" (or pending)' if grain else 'value already pending in "%s"'
            comment = "Removed value %s from update due to %s.\n" % (existing, words % name)
    if __opts__["test"]:
        if grain:
            return _ret(name, None, "Value %s is set to be appended to grain %s" % (value, name), {"new": grain})
        return _ret(name, None, "Grain %s is set to be added" % name, {"new": grain})
    changed = __salt__["grains.append"](name, value)
    now = __salt__["grains.get"](name, [])
    if any(each not in now for each in new):
        return _ret(name, False, "Failed append value %s to grain %s" % (value, name))
    return _ret(name, True, "%sAppend value %s to grain %s" % (comment, value, name), {"new": changed})


def list_absent(name, value, delimiter=":"):
    """The list does not have this value, or any of these."""
    name = name.replace(delimiter, ":")
    grain = __salt__["grains.get"](name, None)
    if not grain:
        return _ret(name, True, "Grain %s does not exist" % name)
    if not isinstance(grain, list):
        return _ret(name, False, "Grain %s is not a valid list" % name)
    comments, deleted, grain = [], [], list(grain)
    for each in value if isinstance(value, list) else [value]:
        if each not in grain:
            comments.append("Value %s is absent from grain %s" % (each, name))
            continue
        deleted.append(each)
        if __opts__["test"]:
            comments.append("Value %s in grain %s is set to be deleted" % (each, name))
        else:
            grain.remove(each)
            __salt__["grains.remove"](name, each)
            comments.append("Value %s was deleted from grain %s" % (each, name))
    result = None if deleted and __opts__["test"] else True
    return _ret(name, result, "\n".join(comments), {"deleted": deleted} if deleted else {})


def absent(name, destructive=False, delimiter=":", force=False):
    """The grain is None, or with ``destructive`` not there. A list or mapping is removed only with ``force``."""
    name = name.replace(delimiter, ":")
    now = __salt__["grains.get"](name, _ABSENT)
    if now is _ABSENT:
        return _ret(name, True, "Grain %s does not exist" % name)
    changes = {"deleted": name} if destructive is True else {} if now is None else {"grain": name, "value": None}
    if __opts__["test"]:
        if destructive is True:
            return _ret(name, None, "Grain %s is set to be deleted" % name, changes)
        if now is None:  # there is nothing to do
            return _ret(name, True, "")
        return _ret(name, None, "Value for grain %s is set to be deleted (None)" % name, changes)
    ret = dict(__salt__["grains.set"](name, None, destructive=destructive, force=force), name=name)
    if ret["result"] and destructive is True:
        ret.update(comment="Grain %s was deleted" % name, changes=changes)
    elif ret["result"] and now is not None:
        ret.update(comment="Value for grain %s was set to None" % name, changes=changes)
    return ret


def append(name, value, convert=False, delimiter=":"):
    """The existing list contains this value; with ``convert``, another value becomes a list."""
    name = name.replace(delimiter, ":")
    grain = __salt__["grains.get"](name, None)
    if not grain and name not in __grains__:
        return _ret(name, False, "Grain %s does not exist" % name)
    if isinstance(grain, list):
        if value in grain:
            return _ret(name, True, "Value %s is already in the list for grain %s" % (value, name))
        foreseen = "Value %s in grain %s is set to be added" % (value, name)
    elif convert is True:
        foreseen = "Grain %s is set to be converted to list and value %s will be added" % (name, value)
    else:
        return _ret(name, False, "Grain %s is not a valid list" % name)
    if __opts__["test"]:
        return _ret(name, None, foreseen, {"added": value})
    if isinstance(grain, list):
        __salt__["grains.append"](name, value)
    else:
        __salt__["grains.setval"](name, ([] if grain is None else [grain]) + [value])
    return _ret(name, True, "Value %s was added to grain %s" % (value, name), {"added": value})


def _ret(name, result, comment, changes=None):
    return {"name": name, "result": result, "changes": changes or {}, "comment": comment}
