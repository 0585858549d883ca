"""Parses /etc/passwd, /etc/group and /etc/shadow, also of another root, and converts dates for shadow(5).

Also numbers of groups, and the commands that change accounts.
"""

import os

_SHADOW = ("lstchg", "min", "max", "warn", "inact", "expire")


def has_busybox_tools(grains):
    """Whether a Linux has no useradd but an adduser: busybox's, as on Alpine and in small images."""
    from thin.utils.system.initsystem import FOLDERS

    def installed(name):
        return any(os.path.exists(os.path.join(folder, name)) for folder in FOLDERS)

    return grains.get("kernel") == "Linux" and not installed("useradd") and installed("adduser")


def rows(path, columns):
    """The lines of an account file, split at colons; lines with fewer columns are skipped."""
    with open(path, encoding="utf-8", errors="surrogateescape") as stream:
        split = [line.rstrip("\n").split(":") for line in stream]
    return [row for row in split if len(row) >= columns and row[0] and row[0][0] not in "+-#"]


def users(root):
    """The ``pwd.struct_passwd`` entries of the system below ``root``."""
    import pwd

    entries = rows(os.path.join(root, "etc/passwd"), 7)
    return [pwd.struct_passwd(row[:2] + [int(row[2]), int(row[3])] + row[4:7]) for row in entries]


def groups(root):
    """The ``grp.struct_group`` entries of the system below ``root``."""
    import grp

    entries = rows(os.path.join(root, "etc/group"), 4)
    return [grp.struct_group(row[:2] + [int(row[2]), [name for name in row[3].split(",") if name]]) for row in entries]


def shadow(root):
    """``{name: {"name", "passwd", "lstchg", "min", "max", "warn", "inact", "expire"}}`` in days; -1: not set."""
    result = {}
    for row in rows(os.path.join(root, "etc/shadow"), 2):
        days = (row[2:8] + [""] * 6)[:6]
        data = {key: int(value) if value else -1 for key, value in zip(_SHADOW, days)}
        result[row[0]] = dict(data, name=row[0], passwd=row[1])
    return result


def group_names(name, gid, entries):
    """The sorted names of all groups of a user: the primary one (``gid``) and those that list it."""
    return sorted({entry.gr_name for entry in entries if entry.gr_gid == gid or name in entry.gr_mem})


def gecos(text):
    """``{"fullname", "roomnumber", "workphone", "homephone", "other"}`` from a comment field."""
    fields = (text.split(",", 4) + [""] * 5)[:5]
    return dict(zip(("fullname", "roomnumber", "workphone", "homephone", "other"), fields))


def gecos_text(fields):
    """The comment field from the dict of ``gecos``."""
    order = ("fullname", "roomnumber", "workphone", "homephone", "other")
    return ",".join(fields.get(key) or "" for key in order).rstrip(",")


def days(value):
    """A date of an SLS as days since 1970: from a number, or ``YYYY-MM-DD``; another value is returned unchanged."""
    import datetime

    text = str(value).strip()
    if text.lstrip("-").isdigit():
        return int(text)
    try:
        year, month, day = [int(part) for part in text[:10].split("-")]
        return (datetime.date(year, month, day) - datetime.date(1970, 1, 1)).days
    except ValueError:
        return value


def gid_of(group):
    """The gid of a group given by name or number; None for a name that does not exist."""
    import grp

    if isinstance(group, int):
        return group
    try:
        return grp.getgrnam(str(group)).gr_gid
    except KeyError:
        return None


def as_date(value, kernel):
    """Days since 1970 as a date for ``usermod`` and the like; a BSD's are in seconds. ``kernel``: the grain."""
    if "BSD" not in str(kernel):
        return days(value)
    number = days(value)
    return str(number * 86400 if isinstance(number, int) and "-" in str(value)[1:] else value)


def root_option(root):
    """The option for another system's root folder as a list; [] for this system."""
    return ["-R", root] if root else []


def change(salt, context, command, name):
    """Run a command with the name of a user or group as its last word. Returns whether it succeeded, see ``worked``."""
    return worked(context, run(salt, command + ["--", str(name)]))


def worked(context, done):
    """Whether a command succeeded; its error is stored in ``context["user.complaint"]``."""
    if done["retcode"] != 0:
        context["user.complaint"] = (done["stderr"] or done["stdout"]).strip()
    return done["retcode"] == 0


def run(salt, command):
    """The return of cmd.run_all for a command, in English; ``salt``: the execution functions."""
    return salt["cmd.run_all"](command, python_shell=False, ignore_retcode=True, env={"LC_ALL": "C"})
