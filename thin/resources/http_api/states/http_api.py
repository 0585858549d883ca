"""Objects of an endpoint: JSON that is read by GET from a path, written by PUT and removed by DELETE."""

from thin.exceptions import CommandExecutionError

HIDDEN = "**********"


def present(name, data, replace=False, show_changes=True):
    """
    Ensure that there is an object with these values at the path

    name
        The path below the endpoint's URL.
    data
        The values of the object. Other values of it are not changed.
    replace
        Remove other values.
    show_changes
        Whether the changes show values, or only their names.

    .. code-block:: yaml

        /customers/7:
          http_api.present:
            - data: {name: Ann, plan: gold}
    """
    ret = {"name": name, "result": True, "changes": {}, "comment": "%s is as it should be" % name}
    try:
        before = _object(name)
        wanted = dict(data) if replace or before is None else dict(before, **data)
        ret["changes"] = _changes(before or {}, wanted, show_changes)
        if before is not None and not ret["changes"]:
            return ret
        if __opts__["test"]:
            return dict(ret, result=None, comment="%s would be %s" % (name, "made" if before is None else "changed"))
        __salt__["http_api.put"](name, wanted)
        after = _object(name) or {}
    except CommandExecutionError as exc:
        return dict(ret, result=False, changes={}, comment=str(exc))
    ret["changes"] = _changes(before or {}, after, show_changes)
    lacking = sorted(key for key in data if key not in after or after[key] != data[key])
    if lacking:
        still = ", ".join(lacking)
        return dict(ret, result=False, comment="%s was written, and is still otherwise: %s" % (name, still))
    return dict(ret, comment="%s was %s" % (name, "made" if before is None else "changed"))


def absent(name):
    """
    Ensure that the path does not exist

    name
        The path below the endpoint's URL.
    """
    ret = {"name": name, "result": True, "changes": {}, "comment": "there is no %s" % name}
    try:
        if __salt__["http_api.find"](name) is None:
            return ret
        ret["changes"] = {name: {"old": "present", "new": "absent"}}
        if __opts__["test"]:
            return dict(ret, result=None, comment="%s would be deleted" % name)
        __salt__["http_api.delete"](name)
        if __salt__["http_api.find"](name) is not None:
            return dict(ret, result=False, changes={}, comment="%s was deleted, and is still there" % name)
    except CommandExecutionError as exc:
        return dict(ret, result=False, changes={}, comment=str(exc))
    return dict(ret, comment="%s was deleted" % name)


def _object(name):
    current = __salt__["http_api.find"](name)
    if current is not None and not isinstance(current, dict):
        raise CommandExecutionError("what is at %s is no object" % name)
    return current


def _changes(before, after, shown):
    return {
        key: {"old": before.get(key) if shown else HIDDEN, "new": after.get(key) if shown else HIDDEN}
        for key in sorted(set(before) | set(after))
        if key not in before or key not in after or before[key] != after[key]
    }
