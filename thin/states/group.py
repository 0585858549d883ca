"""Groups. Salt: states/group.py"""

from thin import detail
from thin.exceptions import CommandExecutionError, SaltInvocationError

__usual__ = True


def present(name, gid=None, system=False, addusers=None, delusers=None, members=None, non_unique=False, local=False):
    """
    The group exists, with this number, and with these members

    name
        the group's name
    gid
        the number
    system
        a new group gets a number from the range of system groups
    addusers
        users who are among its members
    delusers
        users who are not
    members
        all its members
    non_unique
        allow a number that another group has
    local
        a local group of a machine with a directory service

    .. code-block:: yaml

        web:
          group.present:
            - gid: 3000
            - members: [ada, grace]
    """
    ret = _ret(name, True, "Group %s is present and up to date" % name)
    if members is not None and (addusers is not None or delusers is not None):
        words = 'Error: Conflicting options "members" with "addusers" and/or "delusers" can not be used together. '
        detail.same()
        return _with(ret, None, words)
    if set(addusers or ()) & set(delusers or ()):
        detail.same()
        return _with(ret, None, "Error. Same user(s) can not be added and deleted simultaneously")
    try:
        gid = int(gid) if gid not in (None, "") else None
    except (TypeError, ValueError):
        return _with(ret, False, "Invalid gid")

    try:
        changes = _changes(name, gid, addusers, delusers, members, local)
        if changes is None:
            return _create(ret, gid, system, addusers, delusers, members, non_unique, local)
        return _update(ret, changes, gid, addusers, delusers, members, non_unique, local)
    except (CommandExecutionError, SaltInvocationError) as exc:
        return _with(ret, False, str(exc))


def _update(ret, changes, gid, addusers, delusers, members, non_unique, local):
    name = ret["name"]
    if not changes:
        return ret
    ret["comment"] = "The following group attributes are set to be changed:\n"
    ret["comment"] += "".join("%s: %s\n" % item for item in changes.items())
    if __opts__["test"]:
        ret["result"] = None
        return ret
    if "gid" in changes:
        __salt__["group.chgid"](name, gid, non_unique=non_unique)
    if "members" in changes:
        __salt__["group.members"](name, ",".join(changes["members"]))
    for user in changes.get("addusers", ()):
        __salt__["group.adduser"](name, user)
    for user in changes.get("delusers", ()):
        __salt__["group.deluser"](name, user)
    missed = _changes(name, gid, addusers, delusers, members, local)
    if missed:
        ret["changes"] = {"Failed": missed}
        return _with(ret, False, "%sSome changes could not be applied%s" % (ret["comment"], _complaint()))
    ret["changes"] = {"Final": "All changes applied successfully"}
    return ret


def absent(name, local=False):
    """
    The group does not exist

    name
        the group's name
    local
        a local group of a machine with a directory service

    .. code-block:: yaml

        web:
          group.absent: []
    """
    ret = _ret(name, True, "Group not present")
    if not _info(name, local):
        return ret
    if __opts__["test"]:
        return _with(ret, None, "Group %s is set for removal" % name)
    try:
        removed = __salt__["group.delete"](name, local=local)
    except (CommandExecutionError, SaltInvocationError) as exc:
        return _with(ret, False, "Failed to remove group %s: %s" % (name, exc))
    if not removed:
        return _with(ret, False, "Failed to remove group %s%s" % (name, _complaint()))
    ret["changes"] = {name: ""}
    return _with(ret, True, "Removed group %s" % name)


def _changes(name, gid, addusers, delusers, members, local):
    """``{attribute: wanted}`` of what differs; None when there is no such group."""
    group = _info(name, local)
    if not group:
        return None
    have, change = group["members"], {}
    if gid and group["gid"] != gid:
        change["gid"] = gid
    if members is not None and set(have) != set(members):
        if members:
            change["members"] = list(members)
        else:
            change["delusers"] = list(have)
    for key, users in (
        ("addusers", [user for user in addusers or () if user not in have]),
        ("delusers", [user for user in delusers or () if user in have]),
    ):
        if users:
            change[key] = users
    return change


def _create(ret, gid, system, addusers, delusers, members, non_unique, local):
    name = ret["name"]
    if __opts__["test"]:
        return _with(ret, None, "Group %s set to be added" % name)
    if gid is not None and not non_unique:
        taken = [group["name"] for group in __salt__["group.getent"]() if group["gid"] == gid]
        if taken:
            words = "Group %s is not present but gid %s is already taken by group %s" % (name, gid, taken[0])
            return _with(ret, False, words)
    if not __salt__["group.add"](name, gid=gid, system=system, non_unique=non_unique, local=local):
        return _with(ret, False, "Failed to create new group %s%s" % (name, _complaint()))
    if members or addusers:
        __salt__["group.members"](name, ",".join(members or addusers))
    ret["changes"] = _info(name, local)
    ret["comment"] = "New group %s created" % name
    missed = _changes(name, gid, addusers, delusers, members, local)
    if missed:
        ret["changes"] = {"Failed": missed}
        words = "Group %s has been created but, some changes could not be applied" % name
        return _with(ret, False, words + _complaint())
    return ret


def _info(name, local):
    return __salt__["group.info"](name, **({"root": "/"} if local else {}))


def _complaint():
    """The output of the failed command, for the end of a comment."""
    words = __context__.pop("group.complaint", "")
    return ": %s" % words if words else ""


def _ret(name, result, comment):
    return {"name": name, "changes": {}, "result": result, "comment": comment}


def _with(ret, result, comment):
    ret["result"] = result
    ret["comment"] = comment
    return ret
