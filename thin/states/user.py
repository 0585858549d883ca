"""User accounts. Salt: states/user.py

A state compares what is wanted with the account (``user.info``) and its shadow entry (``shadow.info``), changes what
differs, and compares again. Passwords are hashes (or, with ``hash_password``, are hashed here) and never shown.
user_absent.py removes accounts.
"""

import os

from thin.exceptions import CommandExecutionError, SaltInvocationError
from thin.utils.files import safepath
from thin.utils.system import accounts

__usual__ = True

REDACTED = "XXX-REDACTED-XXX"

#: argument -> (key of shadow.info, its name in the comment on a failure)
_AGES = (
    ("date", "lstchg", "last change date"),
    ("mindays", "min", "minimum days"),
    ("maxdays", "max", "maximum days"),
    ("inactdays", "inact", "inactive days"),
    ("warndays", "warn", "warn days"),
    ("expire", "expire", "expire days"),
)
_GECOS = ("fullname", "roomnumber", "workphone", "homephone", "other")


def present(
    name,
    uid=None,
    gid=None,
    usergroup=None,
    groups=None,
    optional_groups=None,
    remove_groups=True,
    home=None,
    createhome=True,
    persist_home=False,
    password=None,
    hash_password=False,
    enforce_password=True,
    empty_password=False,
    shell=None,
    unique=True,
    system=False,
    fullname=None,
    roomnumber=None,
    workphone=None,
    homephone=None,
    other=None,
    loginclass=None,
    date=None,
    mindays=None,
    maxdays=None,
    inactdays=None,
    warndays=None,
    expire=None,
    win_homedrive=None,
    win_profile=None,
    win_logonscript=None,
    win_description=None,
    nologinit=False,
    allow_uid_change=False,
    allow_gid_change=False,
    password_lock=None,
    local=False,
):
    """
    The account exists with these properties; properties that are not given are not changed

    name
        the user's name
    uid
        the number
    gid
        the primary group, by number or name
    usergroup
        the primary group has the user's name (True); a new user gets no group of that name (False)
    groups
        further groups; they must exist
    optional_groups
        further groups; those that do not exist are left out
    remove_groups
        False: the user stays in other groups, too
    home
        the home's path
    createhome
        create the home when it is not there
    persist_home
        move the files when the home changes
    password
        the hash of the password (macOS: the password)
    hash_password
        ``password`` is the password itself, and is hashed here
    enforce_password
        False: set it only if there was none
    empty_password
        anybody can log in without one
    shell
        the login shell
    unique
        False allows a number that another user has
    system
        a new user gets a number from the range of system accounts
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
    loginclass
        the login class (BSD)
    date
        the day of the last change of the password: days since 1970, or YYYY-MM-DD
    mindays
        days before which the password cannot be changed again
    maxdays
        days after which it must be changed
    inactdays
        days after which an expired password locks the account
    warndays
        days of warning before it must be changed
    expire
        the day on which the account expires: days since 1970, or YYYY-MM-DD
    win_homedrive
        for Windows; ignored with a warning
    win_profile
        for Windows; ignored with a warning
    win_logonscript
        for Windows; ignored with a warning
    win_description
        for Windows; ignored with a warning
    nologinit
        a new user is left out of lastlog and faillog
    allow_uid_change
        the uid of an existing user may be changed; files keep the old one
    allow_gid_change
        the primary group of an existing user may be changed; files keep the old one
    password_lock
        the password is locked (True), or not (False)
    local
        read and change local accounts of a machine with a directory service

    .. code-block:: yaml

        ada:
          user.present:
            - uid: 1600
            - groups: [sudo]
            - shell: /bin/bash
    """
    ret = _ret(name, True, "User %s is present and up to date" % name)
    wanted = {
        "uid": _number(uid),
        "gid": _number(gid),
        "home": home,
        "createhome": createhome,
        "shell": shell,
        "password": None if password is None else str(password),
        "enforce_password": enforce_password,
        "empty_password": empty_password,
        "password_lock": password_lock,
        "remove_groups": remove_groups,
        "date": date,
        "mindays": mindays,
        "maxdays": maxdays,
        "inactdays": inactdays,
        "warndays": warndays,
        "expire": expire or None,
        "loginclass": loginclass,
    }
    for key, value in zip(_GECOS, (fullname, roomnumber, workphone, homephone, other)):
        wanted[key] = None if value is None else str(value)
    for key in ("fullname", "roomnumber", "workphone"):
        if wanted[key] and "," in wanted[key]:
            return _with(ret, False, "Unsupported char ',' in %s" % wanted[key])
    if password and hash_password:
        wanted["password"] = _hashed(name, str(password))
    windows = {"win_homedrive": win_homedrive, "win_profile": win_profile}
    windows.update(win_logonscript=win_logonscript, win_description=win_description)
    _unsupported(ret, wanted, loginclass, windows)
    for key in ("date", "expire"):
        wanted[key] = None if wanted[key] is None else accounts.as_date(wanted[key], __grains__.get("kernel"))

    groups, missing = _existing(groups)
    if missing and not __opts__["test"]:
        return _with(ret, False, "The following group(s) are not present: %s" % ",".join(missing))
    optional = _existing(optional_groups)[0]
    wanted["groups"] = None if groups is None and not optional else sorted(set(groups or []) | set(optional or []))
    if usergroup and accounts.gid_of(name) is not None:
        wanted["gid"] = name

    adding = {
        "unique": unique,
        "system": system,
        "nologinit": nologinit,
        "loginclass": loginclass,
        "local": local,
        "usergroup": usergroup,
        "gid": _number(gid),
    }
    try:
        changes = _changes(name, wanted, local, allow_uid_change, allow_gid_change)
        return _reached(ret, wanted, changes, missing, adding, persist_home)
    except (CommandExecutionError, SaltInvocationError) as exc:
        return _with(ret, False, str(exc))


def _reached(ret, wanted, changes, missing, adding, persist_home):
    """The return after the account was created or changed, or (in a dry run) the prediction."""
    if changes is None:
        if __opts__["test"]:
            pending = " (pending groups: %s)" % ",".join(missing) if missing else ""
            return _with(ret, None, "User %s set to be added%s" % (ret["name"], pending))
        return _create(ret, wanted, adding)
    if not changes:
        return ret
    if __opts__["test"]:
        words = "The following user attributes are set to be changed:\n"
        words += "".join("%s: %s\n" % item for item in _shown(changes).items())
        if missing:
            words += "groups (pending creation): %s\n" % ",".join(missing)
        return _with(ret, None, words)
    return _update(ret, wanted, changes, persist_home, adding["local"])


# Comparison


def _changes(name, wanted, local, allow_uid=True, allow_gid=True):
    """``{attribute: wanted value}`` of what differs; None when there is no such user.

    Raises CommandExecutionError for a change of uid or gid that is not allowed.
    """
    user = _info(name, local)
    if not user:
        return None
    change = {}
    if wanted["uid"] is not None and user["uid"] != wanted["uid"]:
        change["uid"] = wanted["uid"]
    if wanted["gid"] is not None and user["gid"] not in (wanted["gid"], accounts.gid_of(wanted["gid"])):
        change["gid"] = wanted["gid"]
    _refuse(change, user, allow_uid, allow_gid)
    groups = _group_change(name, user, change.get("gid", user["gid"]), wanted)
    if groups is not None:
        change["groups"] = groups
    if wanted["home"] and user["home"] != wanted["home"]:
        change["home"] = wanted["home"]
    home = wanted["home"] or user["home"]
    if wanted["createhome"] and home and not os.path.isdir(home):
        change["homeDoesNotExist"] = home
    if wanted["shell"] and user["shell"] != wanted["shell"]:
        change["shell"] = wanted["shell"]
    if "shadow.info" in __salt__ and "shadow.default_hash" in __salt__:  # macOS does not show its hashes
        change.update(_shadow_changes(__salt__["shadow.info"](name), wanted))
    for key in _GECOS:
        if wanted[key] is not None and user.get(key, wanted[key]) != wanted[key]:
            change[key] = wanted[key]
    if wanted["loginclass"] and _loginclass(name) != wanted["loginclass"]:
        change["loginclass"] = wanted["loginclass"]
    return change


def _shadow_changes(entry, wanted):
    change = {}
    password = wanted["password"]
    if password and not wanted["empty_password"] and entry["passwd"] != password:
        if wanted["enforce_password"] or entry["passwd"] == __salt__["shadow.default_hash"]():
            change["passwd"] = password
    if wanted["empty_password"] and entry["passwd"]:
        change["empty_password"] = True
    for key, exists, _ in _AGES:
        if wanted[key] is not None and entry[exists] != wanted[key]:
            change[key] = wanted[key]
    lock = wanted["password_lock"]
    if lock is not None and bool(lock) != entry["passwd"].startswith("!"):
        change["password_lock"] = bool(lock)
    return change


def _refuse(change, user, allow_uid, allow_gid):
    errors = [
        "Changing %s (%s -> %s) not permitted, set allow_%s_change to True to force this change. "
        "Note that this will not change file ownership." % (key, user[key], change[key], key)
        for key, allowed in (("uid", allow_uid), ("gid", allow_gid))
        if key in change and not allowed
    ]
    if errors:
        raise CommandExecutionError("Encountered error checking for needed changes", info=errors)


def _group_change(name, user, gid, wanted):
    """The sorted names of the wanted supplementary groups, or None to leave them unchanged.

    Groups are compared by number, since several names may have the same one. The user is never removed from the group
    with the user's own name.
    """
    if wanted["groups"] is None:
        return None
    primary = accounts.gid_of(gid)
    current = {group: accounts.gid_of(group) for group in user["groups"]}
    current = {group: number for group, number in current.items() if number not in (primary, user["gid"])}
    target = {group: accounts.gid_of(group) for group in wanted["groups"]}
    target = {group: number for group, number in target.items() if number != primary}
    if name not in target:
        current.pop(name, None)
    have, want = set(current.values()), set(target.values())
    if wanted["remove_groups"]:
        return None if have == want else sorted(target)
    return None if want <= have else sorted(set(target) | set(current))


# Changes


def _update(ret, wanted, changes, persist_home, local):
    name = ret["name"]
    before, shadow_before = _info(name, local), _shadow(name)
    left = dict(changes)
    if "passwd" in left:
        __salt__["shadow.set_password"](name, left.pop("passwd"))
    if left.pop("empty_password", False):
        __salt__["shadow.del_password"](name)
    if "password_lock" in left:
        __salt__["shadow.lock_password" if left.pop("password_lock") else "shadow.unlock_password"](name)
    _change_home(name, before, left, persist_home)
    for key, _, _ in _AGES:
        if key in left:
            __salt__["shadow.set_" + key](name, left.pop(key))
    groups = left.pop("groups", None)
    for key in left:
        __salt__["user.ch" + key](name, left[key])
    if groups is not None:
        __salt__["user.chgroups"](name, groups, not wanted["remove_groups"])

    after, shadow_after = _info(name, local), _shadow(name)
    ret["changes"] = {key: after[key] for key in after if after[key] != before.get(key)}
    for key in shadow_after:
        if shadow_after[key] != shadow_before.get(key):
            ret["changes"][key] = REDACTED if key == "passwd" else shadow_after[key]
    if "loginclass" in changes:
        ret["changes"]["loginclass"] = _loginclass(name)
    if ret["changes"]:
        ret["comment"] = "Updated user %s" % name
    missed = _changes(name, wanted, local)
    if missed:
        return _with(ret, False, "These values could not be changed: %s%s" % (_shown(missed), _complaint()))
    return ret


def _change_home(name, before, left, persist):
    """Set and create the home, and remove both from ``left``."""
    home = left.pop("home", None)
    absent_home = left.pop("homeDoesNotExist", None)
    if home is not None:
        __salt__["user.chhome"](name, home, persist=persist)
    if absent_home is not None and not os.path.isdir(absent_home):
        safepath.makedirs(absent_home, 0o755)
        safepath.chmod(absent_home, 0o755)
        safepath.chown(absent_home, before["uid"], before["gid"])


def _create(ret, wanted, adding):
    name = ret["name"]
    for key in ("uid", "groups", "home", "shell", "createhome") + _GECOS:
        adding[key] = wanted[key]
    added = __salt__["user.add"](name=name, **adding)
    info = _info(name, adding["local"])
    if added is not True and (isinstance(added, str) or not info):
        words = added if isinstance(added, str) else "Failed to create new user %s%s" % (name, _complaint())
        return _with(ret, False, words)
    failed = [] if added is True else ["set its groups%s" % _complaint()]  # the next run tries again
    ret["changes"] = info
    if not wanted["createhome"]:
        ret["changes"]["home"] = ""
    if "shadow.default_hash" in __salt__:
        failed += _create_shadow(name, wanted, ret["changes"])
    elif "shadow.info" in __salt__ and wanted["password"] and not wanted["empty_password"]:
        ret["changes"]["passwd"] = REDACTED
        if not __salt__["shadow.set_password"](name, wanted["password"]):
            failed.append("set password to %s" % REDACTED)
    if failed:
        return _with(ret, False, "User %s created but failed to %s%s" % (name, ", ".join(failed), _complaint()))
    return _with(ret, True, "New user %s created" % name)


def _create_shadow(name, wanted, changes):
    """The properties of the new user's shadow entry that could not be set, as text."""
    failed = []
    if wanted["password"] and not wanted["empty_password"]:
        if not __salt__["shadow.set_password"](name, wanted["password"]):
            failed.append("set password to %s" % REDACTED)
        changes["password"] = REDACTED
    elif wanted["empty_password"]:
        if not __salt__["shadow.del_password"](name):
            failed.append("empty password")
        changes["password"] = ""
    for key, _, called in _AGES:
        if wanted[key] is not None:
            if not __salt__["shadow.set_" + key](name, wanted[key]):
                failed.append("set %s to %s" % (called, wanted[key]))
            changes[key] = wanted[key]
    if wanted["password_lock"]:
        if not __salt__["shadow.lock_password"](name):
            failed.append("lock the password")
    return failed


# Helpers


def _hashed(name, password):
    """The hash of the password, with the salt of the present hash, so that the same password has the same hash."""
    parts = _shadow(name)["passwd"].split("$")
    algorithm = {"1": "md5", "5": "sha256", "6": "sha512"}.get(parts[1]) if len(parts) > 3 else None
    if algorithm:
        return __salt__["shadow.gen_password"](password, "$".join(parts[2:-1]), algorithm)
    return __salt__["shadow.gen_password"](password)


def _existing(groups):
    """``(those that exist, those that do not)`` of a list of groups; None stays None."""
    if groups is None:
        return None, []
    names = [str(group) for group in (groups.split(",") if isinstance(groups, str) else groups)]
    missing = [group for group in names if not __salt__["group.info"](group)]
    return [group for group in names if group not in missing], missing


def _info(name, local):
    return __salt__["user.info"](name, **({"root": "/"} if local else {}))


def _shadow(name):
    return __salt__["shadow.info"](name) if "shadow.info" in __salt__ else {"passwd": ""}


def _unsupported(ret, wanted, loginclass, for_windows):
    """Report arguments that have no meaning on this system, and remove them."""
    words = "The argument '%s' is %s and has no effect here"
    warnings = [words % (key, "for Windows") for key in sorted(for_windows) if for_windows[key] is not None]
    for key, _, _ in _AGES:
        if wanted[key] is not None and "shadow.set_" + key not in __salt__:
            warnings.append(words % (key, "not supported by this platform"))
            wanted[key] = None
    if loginclass and __grains__.get("kernel") not in ("FreeBSD", "DragonFly", "OpenBSD"):
        wanted["loginclass"] = None  # without a warning, as in Salt
    for warning in warnings:
        ret.setdefault("warnings", []).append(warning)


def _loginclass(name):
    login_class = __salt__["user.get_loginclass"](name)
    return login_class.get("loginclass") if isinstance(login_class, dict) else login_class


def _shown(changes):
    return {key: REDACTED if key == "passwd" else value for key, value in changes.items()}


def _number(value):
    return int(value) if isinstance(value, str) and value.isdigit() else value


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
