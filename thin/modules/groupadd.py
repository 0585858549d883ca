"""Groups, by groupadd, groupmod, groupdel and gpasswd. Salt: modules/groupadd.py

``root`` is the root folder of another system; ``local`` uses libuser's commands. Functions that change something return
whether it worked; if not, ``__context__["group.complaint"]`` has the error message.
"""

import grp

from thin.utils.system import accounts

__virtualname__ = "group"
__usual__ = True
__reads__ = ("info", "getent")
__changes__ = ("add", "delete", "chgid", "adduser", "deluser", "members")


def __virtual__():
    if __grains__.get("kernel") in ("Linux", "OpenBSD", "NetBSD"):
        return __virtualname__
    return False, ("The groupadd execution module cannot be loaded:  only available on Linux, OpenBSD and NetBSD")


def info(name, root=None):
    """
    ``{"name", "passwd", "gid", "members"}``; {} for no such group.

    name
        the group's name
    root
        in the system below this folder

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' group.info web
    """
    if root:
        return next((_format(entry) for entry in accounts.groups(root) if entry.gr_name == str(name)), {})
    try:
        return _format(grp.getgrnam(str(name)))
    except KeyError:
        return {}


def getent(refresh=False, root=None):
    """
    What ``info`` returns, for all groups.

    refresh
        without effect: they are always read again
    root
        in the system below this folder

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' group.getent
    """
    return [_format(entry) for entry in (accounts.groups(root) if root else grp.getgrall())]


def add(name, gid=None, system=False, root=None, non_unique=False, local=False):
    """
    Add a group; returns whether it worked.

    name
        the group's name
    gid
        the number
    system
        with a number from the range of system groups
    root
        in the system below this folder
    non_unique
        allow a number that another group has
    local
        use libuser's commands (for machines with a directory service)

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' group.add web 3000
    """
    command = ["lgroupadd" if local else "groupadd"]
    command += ["-g", str(gid)] if gid not in (None, "") else []
    command += ["-o"] if gid not in (None, "") and non_unique and not local else []
    command += ["-r"] if system else []
    return _change(command + ([] if local else _root(root)) + ["--", str(name)])


def delete(name, root=None, local=False):
    """
    Delete a group; returns whether it worked.

    name
        the group's name
    root
        in the system below this folder
    local
        use libuser's commands (for machines with a directory service)

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' group.delete web
    """
    return _change(["lgroupdel" if local else "groupdel"] + ([] if local else _root(root)) + ["--", str(name)])


def chgid(name, gid, root=None, non_unique=False):
    """
    Change the group's number; returns whether it worked. The owner of files is not changed.

    name
        the group's name
    gid
        the number
    root
        in the system below this folder
    non_unique
        allow a number that another group has

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' group.chgid web 3100
    """
    before = info(name, root)
    if not before or before["gid"] == gid:
        return bool(before)
    return _change(["groupmod"] + _root(root) + (["-o"] if non_unique else []) + ["-g", str(gid), "--", str(name)])


def adduser(name, username, root=None):
    """
    Make the user a member of the group; returns whether it worked.

    name
        the group's name
    username
        the user's name
    root
        in the system below this folder

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' group.adduser web ada
    """
    return _change(_gpasswd(root) + ["--add", str(username), "--", str(name)])


def deluser(name, username, root=None):
    """
    Remove the user from the group; returns True if the user is not a member afterwards.

    name
        the group's name
    username
        the user's name
    root
        in the system below this folder

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' group.deluser web ada
    """
    if username not in info(name, root).get("members", ()):
        return True
    return _change(_gpasswd(root) + ["--delete", str(username), "--", str(name)])


def members(name, members_list, root=None):
    """
    Set the members of the group to exactly these users (joined by commas); returns whether it worked.

    name
        the group's name
    members_list
        the users' names, joined by commas
    root
        in the system below this folder

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' group.members web ada,grace
    """
    return _change(_gpasswd(root) + ["--members", members_list, "--", str(name)])


def _format(entry):
    return {"name": entry.gr_name, "passwd": entry.gr_passwd, "gid": entry.gr_gid, "members": list(entry.gr_mem)}


def _gpasswd(root):
    return ["gpasswd"] + (["--root", root] if root else [])


def _root(root):
    return ["-R", root] if root else []


def _change(command):
    done = __salt__["cmd.run_all"](command, python_shell=False, ignore_retcode=True, env={"LC_ALL": "C"})
    if done["retcode"] != 0:
        __context__["group.complaint"] = (done["stderr"] or done["stdout"]).strip()
    return done["retcode"] == 0
