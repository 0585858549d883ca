"""Groups of a FreeBSD, by pw(8). Salt: modules/pw_group.py

Functions that change something return whether it worked; if not, ``__context__["group.complaint"]`` has the error
message. ``root`` and ``local``, which the states pass, are accepted and ignored.
"""

import grp

__virtualname__ = "group"
__fits__ = {"kernel": ("FreeBSD", "DragonFly")}
__usual__ = True
__reads__ = ("info", "getent")
__changes__ = ("add", "delete", "chgid", "adduser", "deluser", "members")


def __virtual__():
    if __grains__.get("kernel") in ("FreeBSD", "DragonFly"):
        return __virtualname__
    return False, "The pw_group execution module cannot be loaded: system is not supported."


def info(name, root=None):
    """
    Return ``{"name", "passwd", "gid", "members"}``; {} for no such group

    name
        the group's name
    root
        without effect

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' group.info wheel
    """
    try:
        return _format(grp.getgrnam(str(name)))
    except KeyError:
        return {}


def getent(refresh=False, root=None):
    """
    Return what ``info`` returns, for all groups

    refresh
        without meaning here: they are always read again
    root
        without meaning here

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' group.getent
    """
    return [_format(entry) for entry in grp.getgrall()]


def add(name, gid=None, system=False, root=None, non_unique=False, local=False):
    """
    Add a group; returns whether it worked

    name
        the group's name
    gid
        the number
    system
        without meaning here: FreeBSD has no range of system groups
    root
        without meaning here
    non_unique
        allow a number that another group has
    local
        without meaning here

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' group.add web 3000
    """
    command = ["pw", "groupadd", "-n", str(name)]
    command += ["-g", str(gid)] if gid not in (None, "") else []
    return _change(command + (["-o"] if non_unique else []))


def delete(name, root=None, local=False):
    """
    Delete a group; returns whether it worked

    name
        the group's name
    root
        without meaning here
    local
        without meaning here

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' group.delete web
    """
    return _change(["pw", "groupdel", "-n", str(name)])


def chgid(name, gid, root=None, non_unique=False):
    """
    Change the group's number; returns whether it worked. The owner of files is not changed

    name
        the group's name
    gid
        the number
    root
        without effect
    non_unique
        allow a number that another group has

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' group.chgid web 3100
    """
    before = info(name)
    if not before or before["gid"] == gid:
        return bool(before)
    return _change(["pw", "groupmod", "-n", str(name), "-g", str(gid)] + (["-o"] if non_unique else []))


def adduser(name, username, root=None):
    """
    Make the user a member of the group; returns whether it worked

    name
        the group's name
    username
        the user's name
    root
        without effect

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' group.adduser web ada
    """
    return _change(["pw", "groupmod", "-n", str(name), "-m", str(username)])


def deluser(name, username, root=None):
    """
    Remove the user from the group; returns True if the user is not a member afterwards

    name
        the group's name
    username
        the user's name
    root
        without effect

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' group.deluser web ada
    """
    if username not in info(name).get("members", ()):
        return True
    return _change(["pw", "groupmod", "-n", str(name), "-d", str(username)])


def members(name, members_list, root=None):
    """
    Make exactly these users the members of the group; returns whether it worked

    name
        the group's name
    members_list
        the users' names, joined by commas
    root
        without effect

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' group.members web ada,grace
    """
    return _change(["pw", "groupmod", "-n", str(name), "-M", str(members_list)])


def _format(entry):
    return {"name": entry.gr_name, "passwd": entry.gr_passwd, "gid": entry.gr_gid, "members": list(entry.gr_mem)}


def _change(command):
    done = __salt__["cmd.run_all"](command, python_shell=False, ignore_retcode=True, env={"LC_ALL": "C"})
    if done["retcode"] != 0:
        __context__["group.complaint"] = (done["stderr"] or done["stdout"]).strip()
    return done["retcode"] == 0
