"""Changes of groups with busybox (Alpine, small images): addgroup and delgroup.

What these commands cannot change is written to /etc/group directly. The functions that read groups are those of
groupadd.py. Functions return whether the change worked; if not, ``__context__["group.complaint"]`` has the reason.
"""

from thin.utils.system import accountfiles, accounts

__virtualname__ = "group"
__usual__ = True
__fits__ = {"init": ("sysvinit", "unknown", "upstart", "runit", "supervisord", "dumb-init", "tini")}  # any but systemd
__changes__ = ("add", "delete", "chgid", "adduser", "deluser", "members")

GID = 2


def __virtual__():
    if accounts.has_busybox_tools(__grains__):
        return __virtualname__
    return False, "The busybox_group module is for systems whose accounts are made by busybox's adduser"


def add(name, gid=None, system=False, root=None, non_unique=False, local=False):
    """
    Add a group; returns whether it worked

    name
        the group's name
    gid
        the number
    system
        with a number from the range of system groups
    root
        not supported by busybox
    non_unique
        allow a number that another group has
    local
        without effect

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' group.add web 3000
    """
    if root:
        return _complain("busybox adds groups to the running system only, not below %s" % root)
    command = ["addgroup"] + (["-S"] if system else [])
    command += ["-g", str(gid)] if gid not in (None, "") and not non_unique else []
    done = _did(command + [str(name)])
    return chgid(name, gid) if done and gid not in (None, "") and non_unique else done


def delete(name, root=None, local=False):
    """
    Delete a group; returns whether it worked

    name
        the group's name
    root
        not supported by busybox
    local
        without effect

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' group.delete web
    """
    if root:
        return _complain("busybox deletes groups of the running system only, not below %s" % root)
    return _did(["delgroup", str(name)])


def chgid(name, gid, root=None, non_unique=False):
    """
    Change the group's number; returns whether it worked. The owner of files is not changed

    name
        the group's name
    gid
        the number
    root
        not supported
    non_unique
        allow a number that another group has

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' group.chgid web 3100
    """
    return accountfiles.edit(accountfiles.GROUP, str(name), {GID: str(gid)}) or _complain("there is no group %s" % name)


def adduser(name, username, root=None):
    """
    Make the user a member of the group; returns whether it worked

    name
        the group's name
    username
        the user's name
    root
        not supported

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' group.adduser web ada
    """
    return username in __salt__["group.info"](name).get("members", ()) or _did(["addgroup", str(username), str(name)])


def deluser(name, username, root=None):
    """
    Remove the user from the group; returns True if the user is not a member afterwards

    name
        the group's name
    username
        the user's name
    root
        not supported

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' group.deluser web ada
    """
    if username not in __salt__["group.info"](name).get("members", ()):
        return True
    return _did(["delgroup", str(username), str(name)])


def members(name, members_list, root=None):
    """
    Set the members of the group to exactly these users; returns whether it worked

    name
        the group's name
    members_list
        the users' names, joined by commas
    root
        not supported

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' group.members web ada,grace
    """
    wanted = [user for user in str(members_list).split(",") if user]
    now = __salt__["group.info"](name).get("members", ())
    gone = [deluser(name, user) for user in now if user not in wanted]
    return all(gone + [adduser(name, user) for user in wanted])


# Private functions


def _did(command):
    done = __salt__["cmd.run_all"](command, python_shell=False, ignore_retcode=True, env={"LC_ALL": "C"})
    if done["retcode"] != 0:
        _complain("%s: %s" % (" ".join(command), (done["stderr"] or done["stdout"]).strip()))
    return done["retcode"] == 0


def _complain(words):
    __context__["group.complaint"] = words
    return False
