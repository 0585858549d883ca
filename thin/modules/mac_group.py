"""Groups of macOS, by dseditgroup(8) and dscl(1). Salt: modules/mac_group.py

Groups whose names begin with an underscore belong to the system: they are neither created nor deleted. The arguments
``root`` and ``local`` of the states have no effect.
"""

import grp

from thin.exceptions import CommandExecutionError, SaltInvocationError

__virtualname__ = "group"
__fits__ = {"kernel": ("Darwin",)}
__usual__ = True
__reads__ = ("info", "getent")
__changes__ = ("add", "delete", "chgid", "adduser", "deluser", "members")


def __virtual__():
    if __grains__.get("kernel") == "Darwin":
        return __virtualname__
    return False, "The mac_group execution module cannot be loaded: only available on Darwin-based systems >= 10.7"


def info(name, root=None):
    """
    Return ``{"name", "passwd", "gid", "members"}``; {} for no such group

    name
        the group's name
    root
        without effect

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' group.info admin
    """
    _one_word(name)
    try:
        return _format(grp.getgrnam(str(name)))
    except KeyError:
        return {}


def getent(refresh=False):
    """
    Return what ``info`` returns, for all groups but the system's

    refresh
        without effect: they are always read again

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' group.getent
    """
    return [_format(entry) for entry in grp.getgrall() if not entry.gr_name.startswith("_")]


def add(name, gid=None, **kwargs):
    """
    Add a group; returns whether it worked. Raises CommandExecutionError if the group or its number exists

    name
        the group's name
    gid
        the number

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' group.add web 3000
    """
    _own(name, "create")
    if info(name):
        raise CommandExecutionError("Group '%s' already exists" % name)
    if gid is not None and not isinstance(gid, int):
        raise SaltInvocationError("gid must be an integer")
    if gid is not None and any(entry.gr_gid == gid for entry in grp.getgrall()):
        raise CommandExecutionError("gid '%s' already exists" % gid)
    return _change(["dseditgroup", "-o", "create"] + (["-i", str(gid)] if gid is not None else []) + [str(name)])


def delete(name, **kwargs):
    """
    Delete a group; returns whether it worked, or there was none

    name
        the group's name

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' group.delete web
    """
    _own(name, "remove")
    return not info(name) or _change(["dseditgroup", "-o", "delete", str(name)])


def chgid(name, gid, **kwargs):
    """
    Change the group's number; returns whether it worked. The owner of files is not changed

    name
        the group's name
    gid
        the number

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' group.chgid web 3100
    """
    if not isinstance(gid, int):
        raise SaltInvocationError("gid must be an integer")
    before = info(name)
    if not before:
        raise CommandExecutionError("Group '%s' does not exist" % name)
    return before["gid"] == gid or _change(["dseditgroup", "-o", "edit", "-i", str(gid), str(name)])


def adduser(group, name):
    """
    Make the user a member of the group; returns whether it worked

    group
        the group's name
    name
        the user's name

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' group.adduser web ada
    """
    return _change(["dscl", ".", "-merge", "/Groups/%s" % group, "GroupMembership", str(name)])


def deluser(group, name):
    """
    Remove the user from the group; returns whether it worked

    group
        the group's name
    name
        the user's name

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' group.deluser web ada
    """
    return _change(["dscl", ".", "-delete", "/Groups/%s" % group, "GroupMembership", str(name)])


def members(name, members_list):
    """
    Set the members of the group to exactly these users; returns whether it worked

    name
        the group's name
    members_list
        the users' names, joined by commas

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' group.members web ada,grace
    """
    before = info(name)
    if not before:
        return False
    wanted = [user for user in str(members_list).split(",") if user]
    gone = [deluser(name, user) for user in before["members"] if user not in wanted]
    return all(gone + [adduser(name, user) for user in wanted if user not in before["members"]])


def _format(entry):
    return {"name": entry.gr_name, "passwd": entry.gr_passwd, "gid": entry.gr_gid, "members": list(entry.gr_mem)}


def _one_word(name):
    if any(char.isspace() for char in str(name)):
        raise SaltInvocationError("Group name cannot contain whitespace")


def _own(name, verb):
    _one_word(name)
    if str(name).startswith("_"):
        raise SaltInvocationError("Salt will not %s groups beginning with underscores" % verb)


def _change(command):
    done = __salt__["cmd.run_all"](command, python_shell=False, ignore_retcode=True, env={"LC_ALL": "C"})
    if done["retcode"] != 0:
        __context__["group.complaint"] = (done["stderr"] or done["stdout"]).strip()
    # the C library caches answers until the cache is flushed
    __salt__["cmd.run_all"](["dscacheutil", "-flushcache"], python_shell=False, ignore_retcode=True)
    return done["retcode"] == 0
