"""Users of a FreeBSD, by pw(8). Salt: modules/pw_user.py

Functions that change something return whether it worked; if not, ``__context__["user.complaint"]`` has the error
message.
"""

import grp
import os
import pwd

from thin.exceptions import CommandExecutionError
from thin.utils.system import accounts

__virtualname__ = "user"
__fits__ = {"kernel": ("FreeBSD", "DragonFly")}
__usual__ = True
__reads__ = ("info", "getent", "list_users", "list_groups", "primary_group", "get_loginclass")
__changes__ = (
    "add",
    "delete",
    "rename",
    "chuid",
    "chgid",
    "chshell",
    "chhome",
    "chgroups",
    "chloginclass",
    "chfullname",
    "chroomnumber",
    "chworkphone",
    "chhomephone",
)

GECOS = ("fullname", "roomnumber", "workphone", "homephone")


def __virtual__():
    if __grains__.get("kernel") in ("FreeBSD", "DragonFly"):
        return __virtualname__
    return False, "The pw_user execution module cannot be loaded: it is for FreeBSD and DragonFly"


# Queries


def info(name, root=None):
    """
    ``{"uid", "gid", "name", "home", "shell", "groups", "passwd", "fullname", …}``; {} for no such user.

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
    What ``info`` returns, for all users.

    refresh
        without effect: they are always read again

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' user.getent
    """
    return [_format(entry) for entry in pwd.getpwall()]


def list_users():
    """
    The sorted names of all users.

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' user.list_users
    """
    return sorted(entry.pw_name for entry in pwd.getpwall())


def list_groups(name):
    """
    The sorted names of all groups of the user, the primary one included; [] for no such user.

    name
        the user's name

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' user.list_groups ada
    """
    return info(name).get("groups", [])


def primary_group(name):
    """
    The name of the user's primary group.

    name
        the user's name

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' user.primary_group ada
    """
    return grp.getgrgid(_existing(name)["gid"]).gr_name


def get_loginclass(name):
    """
    ``{"loginclass": class}`` of the user; the class is empty when none is set.

    name
        the user's name

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' user.get_loginclass ada
    """
    fields = _run(["pw", "usershow", "-n", str(name)])["stdout"].split(":")
    return {"loginclass": fields[4] if len(fields) > 4 else ""}


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
    createhome=True,
    loginclass=None,
    **kwargs,
):
    """
    Add a user; returns whether it worked.

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
        without effect
    fullname
        the full name
    roomnumber
        the room number
    workphone
        the phone number at work
    homephone
        the phone number at home
    createhome
        create the home
    loginclass
        the login class

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' user.add ada uid=1500 shell=/bin/sh
    """
    command = ["pw", "useradd", "-n", str(name)]
    for option, value in (("-s", shell), ("-u", uid), ("-g", gid), ("-d", home), ("-L", loginclass)):
        if value not in (None, ""):
            command += [option, str(value)]
    command += ["-G", ",".join(str(group) for group in groups)] if groups else []
    command += ["-m"] if createhome else []
    command += ["-o"] if not unique else []
    fields = (fullname, roomnumber, workphone, homephone)
    return _change(command + ["-c", accounts.gecos_text(dict(zip(GECOS, fields)))])


def delete(name, remove=False, force=False, **kwargs):
    """
    Delete a user, with ``remove`` also the home; returns whether it worked.

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
    return _change(["pw", "userdel", "-n", str(name)] + (["-r"] if remove else []))


def rename(name, new_name):
    """
    Give the user another name; returns whether it worked. Raises CommandExecutionError when the new name is taken.

    name
        the user's name
    new_name
        the new name

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' user.rename ada countess
    """
    if info(new_name):
        raise CommandExecutionError("User '%s' already exists" % new_name)
    _existing(name)
    return _change(["pw", "usermod", "-n", str(name), "-l", str(new_name)])


def chuid(name, uid):
    """
    Change the user's number; returns whether it worked.

    name
        the user's name
    uid
        the number

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' user.chuid ada 1600
    """
    return _set(name, "uid", uid, ["-u", str(uid)])


def chgid(name, gid):
    """
    Change the user's primary group, given by number or name; returns whether it worked.

    name
        the user's name
    gid
        the primary group, by name or number

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' user.chgid ada staff
    """
    return _set(name, "gid", gid, ["-g", str(gid)])


def chshell(name, shell):
    """
    Change the user's login shell; returns whether it worked.

    name
        the user's name
    shell
        the login shell

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' user.chshell ada /usr/local/bin/fish
    """
    return _set(name, "shell", shell, ["-s", str(shell)])


def chhome(name, home, persist=False):
    """
    Change the user's home; ``persist`` also moves the files there. Returns whether it worked.

    name
        the user's name
    home
        the home's path
    persist
        move the files there

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' user.chhome ada /srv/ada persist=True
    """
    return _set(name, "home", home, ["-d", str(home)] + (["-m"] if persist else []))


def chgroups(name, groups, append=False):
    """
    Set the user's other groups, or with ``append`` add these; returns whether it worked.

    name
        the user's name
    groups
        further groups, as a list or joined by commas
    append
        leave the user in the others, too

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' user.chgroups ada wheel,audio append=True
    """
    wanted = set(groups.split(",") if isinstance(groups, str) else [str(group) for group in groups])
    now = set(list_groups(name))
    if now == wanted:
        return True
    return _change(["pw", "usermod", "-n", str(name), "-G", ",".join(sorted(wanted | now if append else wanted))])


def chloginclass(name, loginclass):
    """
    Change the user's login class; returns whether it worked.

    name
        the user's name
    loginclass
        the login class

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' user.chloginclass ada webdev
    """
    if get_loginclass(name)["loginclass"] == loginclass:
        return True
    return _change(["pw", "usermod", "-n", str(name), "-L", str(loginclass)])


def chfullname(name, fullname):
    """
    Set the user's full name; returns whether it worked.

    name
        the user's name
    fullname
        the full name

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' user.chfullname ada 'Ada Lovelace'
    """
    return _set_gecos(name, "fullname", fullname)


def chroomnumber(name, roomnumber):
    """
    Set the room number of the user; returns whether it worked.

    name
        the user's name
    roomnumber
        the room number

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' user.chroomnumber ada B-204
    """
    return _set_gecos(name, "roomnumber", roomnumber)


def chworkphone(name, workphone):
    """
    Set the work phone number of the user; returns whether it worked.

    name
        the user's name
    workphone
        the phone number at work

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' user.chworkphone ada 555-0131
    """
    return _set_gecos(name, "workphone", workphone)


def chhomephone(name, homephone):
    """
    Set the home phone number of the user; returns whether it worked.

    name
        the user's name
    homephone
        the phone number at home

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' user.chhomephone ada 555-0199
    """
    return _set_gecos(name, "homephone", homephone)


# Private functions


def _format(entry):
    gids = set(os.getgrouplist(entry.pw_name, entry.pw_gid))
    result = {
        "uid": entry.pw_uid,
        "gid": entry.pw_gid,
        "name": entry.pw_name,
        "passwd": entry.pw_passwd,
        "home": entry.pw_dir,
        "shell": entry.pw_shell,
        "groups": sorted({group.gr_name for group in grp.getgrall() if group.gr_gid in gids}),
    }
    fields = (entry.pw_gecos.split(",", 3) + [""] * 4)[:4]
    result.update(zip(GECOS, fields))
    return result


def _existing(name):
    account = info(name)
    if not account:
        raise CommandExecutionError("User '%s' does not exist" % name)
    return account


def _set(name, key, value, options):
    if value == _existing(name)[key]:
        return True
    return _change(["pw", "usermod", "-n", str(name)] + options)


def _set_gecos(name, key, value):
    before = info(name)
    value = "" if value is None else str(value)
    if not before or value == before[key]:
        return bool(before)
    return _change(["pw", "usermod", "-n", str(name), "-c", accounts.gecos_text(dict(before, **{key: value}))])


def _change(command):
    done = _run(command)
    if done["retcode"] != 0:
        __context__["user.complaint"] = (done["stderr"] or done["stdout"]).strip()
    return done["retcode"] == 0


def _run(command):
    return __salt__["cmd.run_all"](command, python_shell=False, ignore_retcode=True, env={"LC_ALL": "C"})
