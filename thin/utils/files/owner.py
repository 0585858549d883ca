"""Reads, compares and sets owners and modes of files."""

import errno
import os
import stat
from collections import namedtuple

from thin.exceptions import CommandExecutionError

try:
    import grp
    import pwd
except ImportError:  # the platform has no user database
    grp = pwd = None

KINDS = (
    (stat.S_ISLNK, "link"),
    (stat.S_ISREG, "file"),
    (stat.S_ISDIR, "dir"),
    (stat.S_ISCHR, "char"),
    (stat.S_ISBLK, "block"),
    (stat.S_ISFIFO, "pipe"),
    (stat.S_ISSOCK, "socket"),
)

Born = namedtuple("Born", "st_uid st_gid st_mode")


def normalize_mode(mode):
    """The mode as four octal digits ("0644"), or None. Accepts 644, "0644", "644", "0o644". Salt:
    salt.utils.files."""
    if mode is None:
        return None
    return str(mode).replace("0o", "0").strip("\"'").lstrip("0").zfill(4)


def mode_bits(mode):
    """A normalized mode as integer. Raises CommandExecutionError if it is not octal."""
    try:
        return int(normalize_mode(mode), 8)
    except ValueError:
        raise CommandExecutionError("Invalid Mode %s" % mode)


def mode_text(st):
    """The permission bits of a stat result as normalized mode."""
    return "%04o" % stat.S_IMODE(st.st_mode)


def current_umask():
    umask = os.umask(0)
    os.umask(umask)
    return umask


def default_mode():
    """The mode of a new file under the current umask."""
    return "%04o" % (0o666 & ~current_umask())


def parent_mode(dir_mode, mode):
    """The mode of directories created above a file: ``dir_mode``, else the file's mode with an x for each class that
    has any permission."""
    if dir_mode is not None or mode is None:
        return dir_mode
    return "".join(digit if digit == "0" else str(int(digit) | 1) for digit in str(mode)[-3:])


def uid_to_user(uid):
    """The name of the user, or the uid if there is none."""
    try:
        return pwd.getpwuid(uid).pw_name
    except (KeyError, AttributeError, OverflowError):
        return uid


def gid_to_group(gid):
    """The name of the group, or the gid if there is none."""
    try:
        return grp.getgrgid(int(gid)).gr_name
    except (KeyError, AttributeError, OverflowError):
        return gid
    except ValueError:
        return ""


def user_to_uid(user):
    """The uid of a user name; an int is returned unchanged, None is the current user. "" if there is no such user."""
    if user is None:
        return os.geteuid()
    if isinstance(user, int):
        return user
    try:
        return pwd.getpwnam(user).pw_uid
    except (KeyError, TypeError, ValueError):
        return ""


def group_to_gid(group):
    """The gid of a group name; an int is returned unchanged. "" if there is no such group."""
    if group is None:
        return ""
    if isinstance(group, int):
        return group
    try:
        return grp.getgrnam(group).gr_gid
    except (KeyError, TypeError, ValueError):
        return ""


def missing_owners(user, group):
    """Salt's text about a user and a group that do not exist; "" if both do or are not given."""
    words = ""
    if user and user_to_uid(user) == "":
        words += "User %s is not available " % user
    if group and group_to_gid(group) == "":
        words += "Group %s is not available" % group
    return words


def primary_group(user):
    """The name of the user's primary group; root's group if there is no such user."""
    try:
        gid = (pwd.getpwuid(user) if isinstance(user, int) else pwd.getpwnam(user)).pw_gid
    except (KeyError, TypeError):
        gid = 0
    return gid_to_group(gid)


def same_user(user, uid):
    """Whether ``user`` (name or number) is the user ``uid``."""
    return user == uid or user == uid_to_user(uid)


def same_group(group, gid):
    return group == gid or group == gid_to_group(gid)


def drift(st, user, group, mode):
    """``{"user", "group", "mode"}`` with those wanted values (None: any) that differ from a stat result."""
    changes = {}
    if user is not None and user != "" and not same_user(user, st.st_uid):
        changes["user"] = user
    if group is not None and group != "" and not same_group(group, st.st_gid):
        changes["group"] = group
    if mode is not None and mode != mode_text(st):
        changes["mode"] = mode
    return changes


def born(directory, mode):
    """The stat result that a new file of ours in this directory would have, with this mode."""
    parent = os.stat(directory)
    gid = parent.st_gid if parent.st_mode & stat.S_ISGID else os.getegid()
    return Born(os.geteuid(), gid, stat.S_IFREG | stat.S_IMODE(mode))


def look(path, follow_symlinks=True):
    """The stat result of ``path``; that of the link if it is a broken link; None if nothing is there."""
    try:
        return os.stat(path) if follow_symlinks else os.lstat(path)
    except OSError:
        try:
            return os.lstat(path)
        except OSError:
            return None


def existing(path, follow_symlinks=True):
    """As ``look``, but raises OSError if nothing is there."""
    st = look(path, follow_symlinks)
    if st is None:
        raise OSError(errno.ENOENT, os.strerror(errno.ENOENT), path)
    return st


def kind(st):
    for test, word in KINDS:
        if test(st.st_mode):
            return word
    return "file"


def stats(path, hash_type=None, follow_symlinks=True):
    """The dict of Salt's ``file.stats``. Raises CommandExecutionError if nothing is at ``path``."""
    path = os.path.expanduser(path)
    st = look(path, follow_symlinks)
    if st is None:
        raise CommandExecutionError("Path not found: %s" % path)
    ret = {
        "inode": st.st_ino,
        "uid": st.st_uid,
        "gid": st.st_gid,
        "group": gid_to_group(st.st_gid),
        "user": uid_to_user(st.st_uid),
        "atime": st.st_atime,
        "mtime": st.st_mtime,
        "ctime": st.st_ctime,
        "size": st.st_size,
        "mode": mode_text(st),
    }
    if hash_type:
        from thin.utils.files import hashes

        ret["sum"] = hashes.file_hash(path, hash_type)
    ret["type"] = kind(st)
    ret["target"] = os.path.realpath(path) if follow_symlinks else os.path.abspath(path)
    return ret


def chown(path, user, group, follow_symlinks=True):
    """Set the owner. Returns None, or Salt's text about an unknown user or group; then nothing is set. Raises
    OSError."""
    from thin.utils.files import safepath

    uid, gid, errors = _ids(user, group)
    if not errors:
        safepath.chown(path, uid, gid, follow_symlinks)
    return errors or None


def chown_tree(path, user, group):
    """As ``chown``, for a folder and its content; links themselves are changed, not their targets."""
    from thin.utils.files import safetree

    uid, gid, errors = _ids(user, group)
    if not errors:
        safetree.own_tree(path, uid, gid)
    return errors or None


def _ids(user, group):
    """(uid, gid, Salt's text about those that do not exist). -1: do not change."""
    uid, gid, errors = user_to_uid(user) if user is not None else "", group_to_gid(group), ""
    if uid == "" and user:
        errors += "User does not exist\n"
    if gid == "" and group:
        errors += "Group does not exist\n"
    return -1 if uid == "" else uid, -1 if gid == "" else gid, errors


def enforce(path, wanted, follow_symlinks=True, written=None, near=None):
    """Set what ``drift`` found, then compare again. Returns (changes made, [text about what could not be set]).

    ``written``: the stat result of the file that is expected there. Raises OSError; ``safepath.Refused`` also if it is
    another file. ``near``: a ``safepath.Near``, for callers with many paths."""
    from thin.utils.files import safepath

    follow = follow_symlinks and os.path.exists(path)  # a broken link itself is changed
    way = near or safepath
    with way.at(path, follow) as place, place.pin() as pinned:
        if written is not None:
            pinned.expect(written)
        return dress(pinned, wanted)


def dress(pinned, wanted):
    """``enforce`` for a ``safepath.Pinned``.

    The mode is set after the owner, because chown clears setuid and setgid; without a wanted mode, to its old value.
    """
    before = pinned.stat()
    link = stat.S_ISLNK(before.st_mode)
    words = []
    try:
        if "user" in wanted or "group" in wanted:
            uid, gid, errors = _ids(wanted.get("user"), wanted.get("group"))
            if errors:
                words.append(errors)
            else:
                pinned.chown(uid, gid)
        if not link and ("mode" in wanted or pinned.stat().st_mode != before.st_mode):
            pinned.chmod(mode_bits(wanted.get("mode", mode_text(before))))
    except OSError as exc:
        if exc.errno not in (1, 13, 30):  # EPERM, EACCES, EROFS: reported by the comparison below
            raise
    left = drift(pinned.stat(), wanted.get("user"), wanted.get("group"), wanted.get("mode"))
    words.extend("Failed to change %s to %s" % item for item in left.items())
    return {key: value for key, value in wanted.items() if key not in left}, words
