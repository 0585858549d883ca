"""Users, by useradd, usermod and userdel. Salt: modules/useradd.py

``root`` is the root folder of another system; ``local`` uses libuser's commands, for local accounts beside a directory.
Functions that change something return whether it worked; if not, ``__context__["user.complaint"]`` has the error
message. What is written down about a user is in useradd_about.py.
"""

import os
import pwd

from thin.exceptions import CommandExecutionError
from thin.utils.system import accounts

__virtualname__ = "user"
__parts__ = ("useradd_about",)
__usual__ = True
__reads__ = ("info", "getent", "list_users", "list_groups", "primary_group")
__changes__ = ("add", "delete", "rename", "chuid", "chgid", "chshell", "chhome", "chgroups")

MAIL_SPOOL_MISSING = 12  # userdel's exit code when the home or the mail spool could not be removed


def __virtual__():
    if __grains__.get("kernel") in ("Linux", "OpenBSD", "NetBSD"):
        return __virtualname__
    return False, (
        "useradd execution module not loaded: either pwd python library not available"
        " or system not one of Linux, OpenBSD, NetBSD or AIX"
    )


# Queries


def info(name, root=None):
    """
    ``{"uid", "gid", "name", "home", "shell", "groups", "passwd", "fullname", …}``; {} for no such user.

    name
        the user's name
    root
        in the system below this folder

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' user.info ada
    """
    entry = _entry(name, root)
    return _format(entry, _groups_of(entry.pw_name, entry.pw_gid, root)) if entry else {}


def getent(refresh=False, root=None):
    """
    What ``info`` returns, for all users.

    refresh
        without effect: they are always read again
    root
        in the system below this folder

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' user.getent
    """
    entries = accounts.groups(root) if root else _all_groups()
    return [
        _format(entry, accounts.group_names(entry.pw_name, entry.pw_gid, entries))
        for entry in (accounts.users(root) if root else pwd.getpwall())
    ]


def list_users(root=None):
    """
    The sorted names of all users.

    root
        in the system below this folder

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' user.list_users
    """
    return sorted(entry.pw_name for entry in (accounts.users(root) if root else pwd.getpwall()))


def list_groups(name):
    """
    The sorted names of all groups of the user, the primary one included; [] for no such user.

    name
        the user's name

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' user.list_groups ada
    """
    entry = _entry(name, None)
    return _groups_of(entry.pw_name, entry.pw_gid, None) if entry else []


def primary_group(name):
    """
    The name of the user's primary group.

    name
        the user's name

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' user.primary_group ada
    """
    import grp

    entry = _entry(name, None)
    if entry is None:
        raise CommandExecutionError("User '%s' does not exist" % name)
    return grp.getgrgid(entry.pw_gid).gr_name


# Changes


def add(
    name,
    uid=None,
    gid=None,
    groups=None,
    home=None,
    shell=None,
    unique=True,
    system=False,
    fullname="",
    roomnumber="",
    workphone="",
    homephone="",
    other="",
    createhome=True,
    loginclass=None,
    nologinit=False,
    root=None,
    usergroup=None,
    local=False,
):
    """
    Add a user; returns whether it worked, including all groups (in Salt also without them). ``usergroup``: with (or, if
    False, without) a group of the same name.

    name
        the user's name
    uid
        the number
    gid
        the primary group, by name or number
    groups
        further groups, as a list or joined by commas
    home
        the home's path
    shell
        the login shell
    unique
        False allows a number that another user has
    system
        with a number from the range of system accounts
    fullname
        the full name
    roomnumber
        the room number
    workphone
        the phone number at work
    homephone
        the phone number at home
    other
        what else the comment field says
    createhome
        create the home
    loginclass
        the login class
    nologinit
        leave the user out of lastlog and faillog
    root
        in the system below this folder
    usergroup
        with a group of the user's name, or (False) without
    local
        use libuser's commands (for machines with a directory service)

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' user.add ada uid=1500 shell=/bin/sh
    """
    command = ["luseradd" if local else "useradd"]
    for option, value in (("-s", shell), ("-u", uid), ("-d", home)):
        if value not in (None, ""):
            command += [option, str(value)]
    if gid not in (None, ""):
        command += ["-g", str(gid)]
    elif usergroup:
        command += [] if local else ["-U"]
    elif groups and name in groups and _user_groups_enabled():
        command += ["-g", name]  # useradd would want to make the group that is there
    if usergroup is False:
        command.append("-n" if local else "-N")
    if not createhome:
        command.append("-M")
    elif not local:
        command.append("-m")
    command += ["-l"] if nologinit else []
    command += ["-o"] if not unique else []
    command += ["-r"] if system else []
    comment = accounts.gecos_text(
        {
            "fullname": fullname,
            "roomnumber": roomnumber,
            "workphone": workphone,
            "homephone": homephone,
            "other": other,
        }
    )
    command += ["-c", comment] if comment else []
    added = _change(command + ([] if local else accounts.root_option(root)), name)
    if added and groups:  # not by -G, which makes the user a member of its primary group too
        return chgroups(name, groups, root=None if local else root)
    return added


def delete(name, remove=False, force=False, root=None, local=False):
    """
    Delete a user, with ``remove`` also the home; returns whether it worked. ``force``: even while logged in.

    name
        the user's name
    remove
        the home, too
    force
        even while the user is logged in
    root
        in the system below this folder
    local
        use libuser's commands (for machines with a directory service)

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' user.delete ada remove=True
    """
    command = ["luserdel" if local else "userdel"]
    command += ["-r"] if remove else []
    command += ["-f"] if force and not local else []
    done = accounts.run(__salt__, command + ([] if local else accounts.root_option(root)) + ["--", str(name)])
    if done["retcode"] == MAIL_SPOOL_MISSING and ("var/mail" in done["stderr"] or "var/spool/mail" in done["stderr"]):
        return True  # Debian's userdel -r says so of every user who never had mail
    return accounts.worked(__context__, done)


def rename(name, new_name, root=None):
    """
    Give the user another name; returns whether it worked. Raises CommandExecutionError when the new name is taken.

    name
        the user's name
    new_name
        the new name
    root
        in the system below this folder

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' user.rename ada countess
    """
    if info(new_name, root):
        raise CommandExecutionError("User '%s' already exists" % new_name)
    if not info(name, root):
        raise CommandExecutionError("User '%s' does not exist" % name)
    return _change(["usermod"] + accounts.root_option(root) + ["-l", new_name], name)


def chuid(name, uid, root=None):
    """
    Change the user's number; returns whether it worked.

    name
        the user's name
    uid
        the number
    root
        in the system below this folder

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' user.chuid ada 1600
    """
    return _set(name, "uid", uid, ["-u", str(uid)], root)


def chgid(name, gid, root=None):
    """
    Change the user's primary group, given by number or name; returns whether it worked.

    name
        the user's name
    gid
        the primary group, by name or number
    root
        in the system below this folder

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' user.chgid ada staff
    """
    return _set(name, "gid", gid, ["-g", str(gid)], root)


def chshell(name, shell, root=None):
    """
    Change the user's login shell; returns whether it worked.

    name
        the user's name
    shell
        the login shell
    root
        in the system below this folder

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' user.chshell ada /usr/bin/fish
    """
    return _set(name, "shell", shell, ["-s", shell], root)


def chhome(name, home, persist=False, root=None):
    """
    Change the user's home; ``persist`` moves the files there, too. Whether that worked.

    name
        the user's name
    home
        the home's path
    persist
        move the files there
    root
        in the system below this folder

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' user.chhome ada /srv/ada persist=True
    """
    return _set(name, "home", home, ["-d", home] + (["-m"] if persist else []), root)


def chgroups(name, groups, append=False, root=None):
    """
    Set the user's other groups, or with ``append`` add these; returns whether it worked.

    name
        the user's name
    groups
        further groups, as a list or joined by commas
    append
        leave the user in the others, too
    root
        in the system below this folder

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' user.chgroups ada wheel,audio append=True
    """
    wanted = groups.split(",") if isinstance(groups, str) else [str(group) for group in groups]
    if set(info(name, root).get("groups", ())) == set(wanted):
        return True
    command = ["usermod"] + accounts.root_option(root) + (["-a"] if append else []) + ["-G", ",".join(wanted)]
    done = accounts.run(__salt__, command + ["--", str(name)])
    if done["retcode"] != 0 and "not found in" in done["stderr"]:  # a user of a directory, groups of this machine
        added = [_change(["gpasswd", "-a", str(name)], group) for group in wanted]
        return all(added)
    return accounts.worked(__context__, done)


# Private functions


def _entry(name, root):
    if root:
        return next((entry for entry in accounts.users(root) if entry.pw_name == str(name)), None)
    try:
        return pwd.getpwnam(str(name))
    except KeyError:
        return None


def _format(entry, groups):
    data = {
        "uid": entry.pw_uid,
        "gid": entry.pw_gid,
        "name": entry.pw_name,
        "passwd": entry.pw_passwd,
        "home": entry.pw_dir,
        "shell": entry.pw_shell,
        "groups": groups,
    }
    data.update(accounts.gecos(entry.pw_gecos))
    return data


def _groups_of(name, gid, root):
    if root:
        return accounts.group_names(name, gid, accounts.groups(root))
    import grp

    gids = set(os.getgrouplist(name, gid))
    names = {entry.gr_name for entry in _all_groups() if entry.gr_gid in gids}
    for other in gids.difference(entry.gr_gid for entry in _all_groups()):  # of a directory that does not list its own
        try:
            names.add(grp.getgrgid(other).gr_name)
        except KeyError:
            pass
    return sorted(names)


def _all_groups():
    import grp

    return grp.getgrall()


def _user_groups_enabled():
    try:
        with open("/etc/login.defs", encoding="utf-8", errors="replace") as stream:
            return any(line.split()[:2] == ["USERGROUPS_ENAB", "yes"] for line in stream)
    except OSError:
        return False


def _set(name, key, value, options, root):
    before = info(name, root)
    if not before:
        raise CommandExecutionError("User '%s' does not exist" % name)
    if value == before[key]:
        return True
    return _change(["usermod"] + accounts.root_option(root) + options, name)


def _change(command, name):
    return accounts.change(__salt__, __context__, command, name)
