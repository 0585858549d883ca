"""Owners and modes of files: reading them, comparing them with what is wanted, setting them."""

import errno
import os
import stat
from collections import namedtuple

from thin.exceptions import CommandExecutionError

try:
    import grp
    import pwd
except ImportError:  # no such databases on this platform
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
    """The mode as four octal digits in text ("0644"), or None. Takes 644, "0644", "644", "0o644". Salt:
    salt.utils.files."""
    if mode is None:
        return None
    return str(mode).replace("0o", "0").strip("\"'").lstrip("0").zfill(4)


def mode_bits(mode):
    """The number behind a normalized mode. Raises CommandExecutionError when it is no octal number."""
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
    """The mode that a program without wishes would give a new file."""
    return "%04o" % (0o666 & ~current_umask())


def parent_mode(dir_mode, mode):
    """The mode of directories made on the way to a file: ``dir_mode``, else the file's with x wherever any bit is
    set."""
    if dir_mode is not None or mode is None:
        return dir_mode
    return "".join(digit if digit == "0" else str(int(digit) | 1) for digit in str(mode)[-3:])


def uid_to_user(uid):
    """The user's name, or the uid itself when nobody has it."""
    try:
        return pwd.getpwuid(uid).pw_name
    except (KeyError, AttributeError, OverflowError):
        return uid


def gid_to_group(gid):
    """The group's name, or the gid itself if there is none."""
    try:
        return grp.getgrgid(int(gid)).gr_name
    except (KeyError, AttributeError, OverflowError):
        return gid
    except ValueError:
        return ""


def user_to_uid(user):
    """The uid of a name (an int is its own answer; None is the user who asks), "" when there is no such user."""
    if user is None:
        return os.geteuid()
    if isinstance(user, int):
        return user
    try:
        return pwd.getpwnam(user).pw_uid
    except (KeyError, TypeError, ValueError):
        return ""


def group_to_gid(group):
    """The gid of a name (an int is its own answer), "" when there is no such group."""
    if group is None:
        return ""
    if isinstance(group, int):
        return group
    try:
        return grp.getgrnam(group).gr_gid
    except (KeyError, TypeError, ValueError):
        return ""


def missing_owners(user, group):
    """Salt's sentence about a user and a group that do not exist, "" when both do or are not asked for."""
    words = ""
    if user and user_to_uid(user) == "":
        words += "User %s is not available " % user
    if group and group_to_gid(group) == "":
        words += "Group %s is not available" % group
    return words


def primary_group(user):
    """The name of the user's primary group; that of root when there is no such user."""
    try:
        gid = (pwd.getpwuid(user) if isinstance(user, int) else pwd.getpwnam(user)).pw_gid
    except (KeyError, TypeError):
        gid = 0
    return gid_to_group(gid)


def same_user(user, uid):
    """True when ``user`` (name or number) is the owner ``uid``."""
    return user == uid or user == uid_to_user(uid)


def same_group(group, gid):
    return group == gid or group == gid_to_group(gid)


def drift(st, user, group, mode):
    """What of user, group and mode (None: not asked for) differs from a stat result, in Salt's shape of changes."""
    changes = {}
    if user is not None and user != "" and not same_user(user, st.st_uid):
        changes["user"] = user
    if group is not None and group != "" and not same_group(group, st.st_gid):
        changes["group"] = group
    if mode is not None and mode != mode_text(st):
        changes["mode"] = mode
    return changes


def born(directory, mode):
    """What a stat result would show of a file that we make in a directory with these bits."""
    parent = os.stat(directory)
    gid = parent.st_gid if parent.st_mode & stat.S_ISGID else os.getegid()
    return Born(os.geteuid(), gid, stat.S_IFREG | stat.S_IMODE(mode))


def look(path, follow_symlinks=True):
    """The stat result of what is at ``path``; that of the link itself when it leads nowhere; None when nothing is
    there."""
    try:
        return os.stat(path) if follow_symlinks else os.lstat(path)
    except OSError:
        try:
            return os.lstat(path)
        except OSError:
            return None


def found(path, follow_symlinks=True):
    """``look`` where something is expected. Raises OSError when nothing is there (any more)."""
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
    """Salt's dict of ``file.stats``. Raises CommandExecutionError when nothing is at ``path``."""
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
    """Set the owner. Returns None, or Salt's words about an unknown user or group; nothing is set then. Raises
    OSError."""
    from thin.utils.files import safepath

    uid, gid, errors = _ids(user, group)
    if not errors:
        safepath.chown(path, uid, gid, follow_symlinks)
    return errors or None


def chown_tree(path, user, group):
    """As ``chown`` for all below and with a folder, links themselves."""
    from thin.utils.files import safetree

    uid, gid, errors = _ids(user, group)
    if not errors:
        safetree.own_tree(path, uid, gid)
    return errors or None


def _ids(user, group):
    """(uid, gid, Salt's words about who does not exist), -1 for "leave it"."""
    uid, gid, errors = user_to_uid(user) if user is not None else "", group_to_gid(group), ""
    if uid == "" and user:
        errors += "User does not exist\n"
    if gid == "" and group:
        errors += "Group does not exist\n"
    return -1 if uid == "" else uid, -1 if gid == "" else gid, errors


def enforce(path, wanted, follow_symlinks=True, written=None, near=None):
    """Set what ``drift`` found and look again: (changes that hold now, words about those that do not). Raises OSError,
    ``safepath.Refused`` among them: also where the file is not the one that was ``written`` (its stat result).

    ``near``: a ``safepath.Near`` of the caller, who has many paths."""
    from thin.utils.files import safepath

    follow = follow_symlinks and os.path.exists(path)  # a link that leads nowhere is changed itself
    way = near or safepath
    with way.at(path, follow) as place, place.pin() as pinned:
        if written is not None:
            pinned.expect(written)
        return dress(pinned, wanted)


def dress(pinned, wanted):
    """``enforce`` for a ``safepath.Pinned``.

    A change of owner clears setuid bits, so the mode is set after it, to its old value when no other is wanted.
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
        if exc.errno not in (1, 13, 30):  # not permitted, denied, read-only: the second look tells
            raise
    left = drift(pinned.stat(), wanted.get("user"), wanted.get("group"), wanted.get("mode"))
    words.extend("Failed to change %s to %s" % item for item in left.items())
    return {key: value for key, value in wanted.items() if key not in left}, words
