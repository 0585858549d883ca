"""Users of macOS, by dscl(1) on the local directory. Salt: modules/mac_user.py

Users are read through the C library, whose cache ``dscacheutil`` flushes after a change. The arguments ``root`` and
``local`` of the states have no effect. mac_user_login.py has automatic logins.
"""

import os
import pwd

from thin.exceptions import CommandExecutionError, SaltInvocationError

__virtualname__ = "user"
__parts__ = ("mac_user_login",)
__fits__ = {"kernel": ("Darwin",)}
__usual__ = True
__reads__ = ("info", "getent", "list_users", "list_groups", "primary_group")
__changes__ = ("add", "delete", "rename", "chuid", "chgid", "chshell", "chhome", "chfullname", "chgroups")

NODE = "/Local/Default"
FIRST_UID = 501


def __virtual__():
    if __grains__.get("kernel") == "Darwin":
        return __virtualname__
    return False, "Only available on Mac OS 10.7+ systems"


# Queries


def info(name, root=None):
    """
    Return ``{"uid", "gid", "name", "home", "shell", "groups", "fullname"}``; {} for no such user

    name
        the user's name
    root
        without effect

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' user.info ada
    """
    try:
        return _format(pwd.getpwnam(str(name)))
    except KeyError:
        return {}


def getent(refresh=False):
    """
    Return what ``info`` returns, for all users

    refresh
        without effect: they are always read again

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' user.getent
    """
    return [_format(entry) for entry in pwd.getpwall()]


def list_users():
    """
    Return the names of all users of the local directory

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' user.list_users
    """
    return _dscl("list", "/Users")["stdout"].split()


def list_groups(name):
    """
    Return the sorted names of all groups of the user, the primary one included; [] for no such user

    name
        the user's name

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' user.list_groups ada
    """
    return info(name).get("groups", [])


def primary_group(name):
    """
    Return the name of the user's primary group

    name
        the user's name

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' user.primary_group ada
    """
    return __salt__["cmd.run"](["id", "-g", "-n", str(name)], python_shell=False)


# Changes


def add(name, uid=None, gid=None, groups=None, home=None, shell=None, fullname=None, createhome=True, **kwargs):
    """
    Add a user; returns whether the user has all groups afterwards. Raises CommandExecutionError

    name
        the user's name
    uid
        the number; by default the first free one from 501
    gid
        the primary group's number (20, staff)
    groups
        further groups
    home
        the home (/Users/NAME)
    shell
        the login shell (/bin/bash)
    fullname
        the full name
    createhome
        create the home

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' user.add ada 505 fullname='Ada Lovelace'
    """
    if info(name):
        raise CommandExecutionError("User '%s' already exists" % name)
    _one_word(name, "Username")
    uid = _first_free() if uid is None else uid
    gid = 20 if gid is None else gid
    for key, value in (("uid", uid), ("gid", gid)):
        if not isinstance(value, int):
            raise SaltInvocationError("%s must be an integer" % key)
    home = home or "/Users/%s" % name
    wanted = (
        ("UniqueID", uid),
        ("PrimaryGroupID", gid),
        ("UserShell", shell or "/bin/bash"),
        ("NFSHomeDirectory", home),
        ("RealName", fullname or ""),
    )
    for key, value in wanted:
        _must("create", _path(name), key, value)
    _flush()
    if createhome and not os.path.isdir(home):
        __salt__["file.mkdir"](home, user=uid, group=gid)
    return chgroups(name, groups) if groups else True


def delete(name, remove=False, force=False, **kwargs):
    """
    Delete a user; returns whether it worked, or there was none

    name
        the user's name
    remove
        the home, too
    force
        without effect

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' user.delete ada remove=True
    """
    _one_word(name, "Username")
    before = info(name)
    if not before:
        return True
    chgroups(name, ())
    done = _worked(_dscl("delete", _path(name)))
    _flush()
    if done and remove and os.path.isdir(before["home"]):
        __salt__["file.remove"](before["home"])
    return done


def rename(name, new_name):
    """
    Give the user another name; returns whether it worked. Raises CommandExecutionError when the new name is taken

    name
        the user's name
    new_name
        the new one

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' user.rename ada countess
    """
    _existing(name)
    if info(new_name):
        raise CommandExecutionError("User '%s' already exists" % new_name)
    _dscl("change", _path(name), "RecordName", name, new_name)
    _flush()
    return bool(info(new_name))


def chuid(name, uid):
    """
    Change the user's number; returns whether it worked. The owner of files is not changed

    name
        the user's name
    uid
        the number

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' user.chuid ada 506
    """
    return _set(name, "uid", uid, "UniqueID", number=True)


def chgid(name, gid):
    """
    Change the number of the user's primary group; returns whether it worked

    name
        the user's name
    gid
        the number

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' user.chgid ada 20
    """
    return _set(name, "gid", gid, "PrimaryGroupID", number=True)


def chshell(name, shell):
    """
    Change the user's login shell; returns whether it worked

    name
        the user's name
    shell
        its path

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' user.chshell ada /opt/homebrew/bin/fish
    """
    return _set(name, "shell", shell, "UserShell")


def chhome(name, home, **kwargs):
    """
    Change the user's home; returns whether it worked. Files are not moved

    name
        the user's name
    home
        its path
    persist
        without effect

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' user.chhome ada /Users/countess
    """
    return _set(name, "home", home, "NFSHomeDirectory")


def chfullname(name, fullname):
    """
    Set the user's full name; returns whether it worked

    name
        the user's name
    fullname
        the full name

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' user.chfullname ada 'Ada Lovelace'
    """
    if _existing(name)["fullname"] == fullname:
        return True
    _dscl("create", _path(name), "RealName", fullname)
    _flush()
    return info(name).get("fullname") == fullname


def chgroups(name, groups, append=False):
    """
    Set the user's supplementary groups; returns whether it worked

    name
        the user's name
    groups
        their names, as a list or joined by commas
    append
        leave the user in the others, too

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' user.chgroups ada admin,staff
    """
    import grp

    before = _existing(name)
    wanted = {str(group) for group in (groups.split(",") if isinstance(groups, str) else groups) if str(group)}
    for group in wanted:
        _one_word(group, "Group name")
    try:
        wanted.add(grp.getgrgid(before["gid"]).gr_name)
    except KeyError:
        pass
    now = set(before["groups"])
    for group in sorted(wanted - now):
        _dscl("append", "/Groups/" + group, "GroupMembership", name)
    for group in sorted(() if append else now - wanted):
        _dscl("delete", "/Groups/" + group, "GroupMembership", name)
    _flush()
    now = set(list_groups(name))
    return wanted <= now if append else now == wanted


# Private functions


def _format(entry):
    import grp

    gids = set(os.getgrouplist(entry.pw_name, entry.pw_gid))
    return {
        "uid": entry.pw_uid,
        "gid": entry.pw_gid,
        "name": entry.pw_name,
        "home": entry.pw_dir,
        "shell": entry.pw_shell,
        "fullname": entry.pw_gecos,
        "groups": sorted({group.gr_name for group in grp.getgrall() if group.gr_gid in gids}),
    }


def _existing(name):
    account = info(name)
    if not account:
        raise CommandExecutionError("User '%s' does not exist" % name)
    return account


def _first_free():
    taken = {entry.pw_uid for entry in pwd.getpwall()}
    return next(uid for uid in range(FIRST_UID, 1 << 24) if uid not in taken)


def _one_word(name, what):
    if any(char.isspace() for char in str(name)):
        raise SaltInvocationError("%s cannot contain whitespace" % what)


def _set(name, key, value, attribute, number=False):
    if number and not isinstance(value, int):
        raise SaltInvocationError("%s must be an integer" % key)
    before = _existing(name)[key]
    if value == before:
        return True
    _worked(_dscl("change", _path(name), attribute, before, value))
    _flush()
    return info(name).get(key) == value


def _path(name):
    return "/Users/%s" % name


def _must(action, path, *words):
    done = _dscl(action, path, *words)
    if not _worked(done):
        raise CommandExecutionError(
            "dscl could not %s %s %s: %s" % (action, path, words[0] if words else "", __context__["user.complaint"])
        )


def _worked(done):
    if done["retcode"] != 0:
        __context__["user.complaint"] = (done["stderr"] or done["stdout"]).strip()
    return done["retcode"] == 0


def _dscl(action, path, *words):
    command = ["dscl", "localhost", "-" + action, NODE + path] + [str(word) for word in words]
    return __salt__["cmd.run_all"](command, python_shell=False, ignore_retcode=True, env={"LC_ALL": "C"})


def _flush():
    """Clear the directory cache of the C library."""
    __salt__["cmd.run_all"](["dscacheutil", "-flushcache"], python_shell=False, ignore_retcode=True)
