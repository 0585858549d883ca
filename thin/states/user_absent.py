"""User accounts that do not exist. The rest of Salt's ``user`` states is in user.py."""

from thin.exceptions import CommandExecutionError, SaltInvocationError
from thin.utils.system import accounts

__virtualname__ = "user"
__usual__ = True


def absent(name, purge=False, force=False, local=False):
    """
    The account does not exist

    name
        the user's name
    purge
        remove the home, too
    force
        even while the user is logged in
    local
        a local account of a machine with a directory service

    .. code-block:: yaml

        ada:
          user.absent:
            - purge: true
    """
    ret = _ret(name, True, "User %s is not present" % name)
    before = _info(name, local)
    if not before:
        return ret
    if __opts__["test"]:
        return _with(ret, None, "User %s set for removal" % name)
    try:
        removed = __salt__["user.delete"](name, purge, force, local=local)
    except (CommandExecutionError, SaltInvocationError) as exc:
        return _with(ret, False, "Failed to remove user %s: %s" % (name, exc))
    if not removed:
        return _with(ret, False, "Failed to remove user %s%s" % (name, _complaint()))
    ret["changes"] = {"%s group" % group: "removed" for group in before["groups"] if accounts.gid_of(group) is None}
    ret["changes"][name] = "removed"
    return _with(ret, True, "Removed user %s" % name)


def _info(name, local):
    return __salt__["user.info"](name, **({"root": "/"} if local else {}))


def _complaint():
    """The output of the failed command, for the end of a comment."""
    words = __context__.pop("user.complaint", "")
    return ": %s" % words if words else ""


def _ret(name, result, comment):
    return {"name": name, "changes": {}, "result": result, "comment": comment}


def _with(ret, result, comment):
    ret["result"] = result
    ret["comment"] = comment
    return ret
