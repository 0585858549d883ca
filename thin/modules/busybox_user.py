"""Changes of users with busybox (Alpine, small images): adduser, deluser, addgroup, delgroup.

What these commands cannot change is written to /etc/passwd directly. The functions that read users are those of
useradd.py. Functions that change something return whether it worked; if not, ``__context__["user.complaint"]`` has the
reason.
"""

from thin.exceptions import CommandExecutionError
from thin.utils.files import safepath
from thin.utils.system import accountfiles, accounts

__virtualname__ = "user"
__usual__ = True
__fits__ = {"init": ("sysvinit", "unknown", "upstart", "runit", "supervisord", "dumb-init", "tini")}  # any but systemd
__changes__ = (
    "add",
    "delete",
    "rename",
    "chuid",
    "chgid",
    "chshell",
    "chhome",
    "chgroups",
    "chfullname",
    "chroomnumber",
    "chworkphone",
    "chhomephone",
    "chother",
)

UID, GID, GECOS, HOME, SHELL = 2, 3, 4, 5, 6


def __virtual__():
    if accounts.has_busybox_tools(__grains__):
        return __virtualname__
    return False, "The busybox_user module is for systems whose accounts are made by busybox's adduser"


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
    Add a user; returns whether it worked

    name
        the user's name
    uid
        the number
    gid
        the primary group, by name or number; else a group with the user's name
    groups
        further groups
    home
        the home
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
        the rest of the comment field
    createhome
        create the home
    loginclass
        without meaning here
    nologinit
        without meaning here
    root
        not supported by busybox
    usergroup
        False: no group with the user's name, but ``users``
    local
        without meaning here

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' user.add ada uid=1500 shell=/bin/sh
    """
    if root:
        return _complain("busybox adds users to the running system only, not below %s" % root)
    had = bool(__salt__["group.info"](name))
    group = _group(name, gid, usergroup, system)
    if group is None:
        return False
    command = ["adduser", "-D", "-G", group]
    command += ["-h", str(home)] if home else []
    command += [] if createhome else ["-H"]
    command += ["-s", str(shell)] if shell else []
    command += ["-u", str(uid)] if uid not in (None, "") and unique else []
    command += ["-S"] if system else []
    fields = {
        "fullname": fullname,
        "roomnumber": roomnumber,
        "workphone": workphone,
        "homephone": homephone,
        "other": other,
    }
    command += ["-g", accounts.gecos_text(fields)]
    if not _did(command + [str(name)]):
        why = __context__["user.complaint"]
        if group == str(name) and not had:  # it was created for this user
            _did(["delgroup", group])
        return _complain(why)
    if uid not in (None, "") and not unique:
        import os

        accountfiles.edit(accountfiles.PASSWD, str(name), {UID: str(uid)})
        made = _existing(name)["home"]
        if createhome and os.path.isdir(made):
            safepath.chown(made, int(uid), -1)
    return chgroups(name, groups, append=True) if groups else True


def delete(name, remove=False, force=False, root=None, local=False):
    """
    Delete a user; returns whether it worked

    name
        the user's name
    remove
        the home, too
    force
        without meaning here: busybox deletes users who are logged in
    root
        not supported by busybox
    local
        without meaning here

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' user.delete ada remove=True
    """
    if root:
        return _complain("busybox deletes users of the running system only, not below %s" % root)
    return _did(["deluser"] + (["--remove-home"] if remove else []) + [str(name)])


def rename(name, new_name, root=None):
    """
    Give the user another name; returns whether it worked. Raises CommandExecutionError when the new name is taken

    name
        the user's name
    new_name
        the new one
    root
        not supported

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' user.rename ada countess
    """
    if __salt__["user.info"](new_name):
        raise CommandExecutionError("User '%s' already exists" % new_name)
    _existing(name)
    accountfiles.edit(accountfiles.PASSWD, str(name), {0: str(new_name)})
    accountfiles.edit(accountfiles.SHADOW, str(name), {0: str(new_name)})
    accountfiles.replace_member(accountfiles.GROUP, str(name), str(new_name))
    accountfiles.replace_member(accountfiles.GSHADOW, str(name), str(new_name))
    return bool(__salt__["user.info"](new_name))


def chuid(name, uid, root=None):
    """
    Change the user's number; returns whether it worked. The owner of files is not changed

    name
        the user's name
    uid
        the number
    root
        not supported

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' user.chuid ada 1600
    """
    return _set(name, "uid", int(uid), UID)


def chgid(name, gid, root=None):
    """
    Change the user's primary group; returns whether it worked

    name
        the user's name
    gid
        the group, by name or number
    root
        not supported

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' user.chgid ada staff
    """
    number = gid if str(gid).isdigit() else __salt__["group.info"](gid).get("gid")
    if number is None:
        return _complain("there is no group %s" % gid)
    return _set(name, "gid", int(number), GID)


def chshell(name, shell, root=None):
    """
    Change the user's login shell; returns whether it worked

    name
        the user's name
    shell
        its path
    root
        not supported

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' user.chshell ada /bin/ash
    """
    return _set(name, "shell", shell, SHELL)


def chhome(name, home, persist=False, root=None):
    """
    Change the user's home; returns whether it worked

    name
        the user's name
    home
        its path
    persist
        move the files there
    root
        not supported

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' user.chhome ada /srv/ada persist=True
    """
    import os

    before = _existing(name)["home"]
    if before == home:
        return True
    if persist and os.path.isdir(before) and not os.path.exists(home) and not _did(["mv", "--", before, str(home)]):
        return False
    return _set(name, "home", home, HOME)


def chgroups(name, groups, append=False, root=None):
    """
    Set the user's supplementary groups; returns whether it worked

    name
        the user's name
    groups
        their names, as a list or joined by commas
    append
        leave the user in the others, too
    root
        not supported

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' user.chgroups ada wheel,audio append=True
    """
    wanted = set(groups.split(",") if isinstance(groups, str) else [str(group) for group in groups])
    _existing(name)
    now = {group["name"] for group in __salt__["group.getent"]() if name in group["members"]}
    primary = {group["name"] for group in __salt__["group.getent"]() if group["gid"] == _existing(name)["gid"]}
    added = [_did(["addgroup", str(name), group]) for group in sorted(wanted - now - primary)]
    gone = [] if append else [_did(["delgroup", str(name), group]) for group in sorted(now - wanted)]
    return all(added + gone)


def chfullname(name, fullname, root=None):
    """
    Set the user's full name; returns whether it worked

    name
        the user's name
    fullname
        the full name
    root
        not supported

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' user.chfullname ada 'Ada Lovelace'
    """
    return _set_gecos(name, "fullname", fullname)


def chroomnumber(name, roomnumber, root=None):
    """
    Set the room number of the user; returns whether it worked

    name
        the user's name
    roomnumber
        the room number
    root
        not supported

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' user.chroomnumber ada B-204
    """
    return _set_gecos(name, "roomnumber", roomnumber)


def chworkphone(name, workphone, root=None):
    """
    Set the work phone number of the user; returns whether it worked

    name
        the user's name
    workphone
        the number
    root
        not supported

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' user.chworkphone ada 555-0131
    """
    return _set_gecos(name, "workphone", workphone)


def chhomephone(name, homephone, root=None):
    """
    Set the home phone number of the user; returns whether it worked

    name
        the user's name
    homephone
        the number
    root
        not supported

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' user.chhomephone ada 555-0199
    """
    return _set_gecos(name, "homephone", homephone)


def chother(name, other, root=None):
    """
    Set the rest of the user's comment field; returns whether it worked

    name
        the user's name
    other
        the text
    root
        not supported

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' user.chother ada analyst
    """
    return _set_gecos(name, "other", other)


# Private functions


def _group(name, gid, usergroup, system):
    """The name of the primary group; a missing group with the user's name is created. None if that fails."""
    if gid not in (None, ""):
        if not str(gid).isdigit():
            return str(gid)
        result = [group["name"] for group in __salt__["group.getent"]() if group["gid"] == int(gid)]
        if not result:
            _complain("there is no group with the number %s" % gid)
        return result[0] if result else None
    if usergroup is False:
        return "users"
    if not __salt__["group.info"](name) and not _did(["addgroup"] + (["-S"] if system else []) + [str(name)]):
        return None
    return str(name)


def _existing(name):
    account = __salt__["user.info"](name)
    if not account:
        raise CommandExecutionError("User '%s' does not exist" % name)
    return account


def _set(name, key, value, column):
    if value == _existing(name)[key]:
        return True
    accountfiles.edit(accountfiles.PASSWD, str(name), {column: str(value)})
    return __salt__["user.info"](name)[key] == value


def _set_gecos(name, key, value):
    before = __salt__["user.info"](name)
    value = "" if value is None else str(value)
    if not before or value == before[key]:
        return bool(before)
    text = accounts.gecos_text(dict(before, **{key: value}))
    return accountfiles.edit(accountfiles.PASSWD, str(name), {GECOS: text})


def _did(command):
    done = __salt__["cmd.run_all"](command, python_shell=False, ignore_retcode=True, env={"LC_ALL": "C"})
    if done["retcode"] != 0:
        _complain("%s: %s" % (" ".join(command), (done["stderr"] or done["stdout"]).strip()))
    return done["retcode"] == 0


def _complain(words):
    __context__["user.complaint"] = words
    return False
