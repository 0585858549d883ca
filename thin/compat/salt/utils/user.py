"""Users and groups. Salt: ``salt/utils/user.py``."""

import grp
import os
import pwd


def get_user():
    """The user of this process."""
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return str(os.geteuid())


get_specific_user = get_user


def get_uid(user=None):
    """The uid of a user, by default that of this process; None if there is no such user."""
    if not user:
        return os.geteuid()
    try:
        return pwd.getpwnam(user).pw_uid
    except KeyError:
        return None


def get_gid(group=None):
    if not group:
        return os.getegid()
    try:
        return grp.getgrnam(group).gr_gid
    except KeyError:
        return None


def get_default_group(user):
    return grp.getgrgid(pwd.getpwnam(user).pw_gid).gr_name


def get_group_dict(user=None, include_default=True):
    """``{group: gid}`` of a user."""
    result = {entry.gr_name: entry.gr_gid for entry in grp.getgrall() if user is None or user in entry.gr_mem}
    if user is not None:
        try:
            name = get_default_group(user)
        except KeyError:
            return result
        if include_default:
            result[name] = grp.getgrnam(name).gr_gid
        else:
            result.pop(name, None)
    return result


def get_group_list(user, include_default=True):
    return sorted(get_group_dict(user, include_default))


def get_gid_list(user, include_default=True):
    return sorted(set(get_group_dict(user, include_default).values()))


def chugid(runas, group=None):
    """Change this process to a user and the user's groups. Raises CommandExecutionError."""
    from salt.exceptions import CommandExecutionError

    try:
        account = pwd.getpwnam(runas)
        gid = get_gid(group) if group else account.pw_gid
        if (account.pw_uid, gid) == (os.getuid(), os.getgid()):
            return
        os.setgid(gid)
        os.initgroups(runas, gid)
        os.setuid(account.pw_uid)
    except (KeyError, OSError) as exc:
        raise CommandExecutionError("Failed to change to the user '%s': %s" % (runas, exc))


def chugid_and_umask(runas, umask, group=None):
    """``chugid`` if ``runas`` is given, and set the umask if one is given."""
    if runas is not None and get_user() != runas:
        chugid(runas, group)
    if umask is not None:
        os.umask(umask)
