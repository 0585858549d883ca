"""Files, directories and links: paths, properties, owners and modes, reading. Salt: salt.modules.file.

Arguments, values and errors are Salt's. file_digests.py, file_managed.py, file_paths.py and file_write.py have the
other functions of the same Salt module; the code that compares and writes files is in thin/utils/files/, shared with
the states of the same name.
"""

import os
import stat

from thin.exceptions import CommandExecutionError, SaltInvocationError
from thin.utils.files import owner, safepath
from thin.utils.files.arguments import absolute, expand

__controller__ = ("basename", "dirname", "join", "normpath", "pardir")
__recorded__ = ("basename", "dirname", "join", "normpath", "pardir")
__usual__ = True
__reads__ = (
    "basename",
    "dirname",
    "join",
    "normpath",
    "pardir",
    "file_exists",
    "directory_exists",
    "path_exists_glob",
    "access",
    "stats",
    "lstat",
    "statvfs",
    "diskusage",
    "readdir",
    "open_files",
    "uid_to_user",
    "user_to_uid",
    "gid_to_group",
    "group_to_gid",
    "get_uid",
    "get_user",
    "get_gid",
    "get_group",
    "get_mode",
    "lsattr",
    "get_selinux_context",
    "read",
    "seek_read",
    "contains",
    "contains_regex",
    "contains_glob",
    "search",
    "grep",
)
# an empty `delete` means to delete files
__reads_unless__ = {"find": {"delete": (False,), "exec": (False,)}}
__changes__ = ("set_mode", "chown", "lchown", "chgrp", "check_perms", "chattr", "set_selinux_context", "restorecon")


# -- paths -------------------------------------------------------------------------------------------------------------


def basename(path):
    """The last part of a path."""
    return os.path.basename(path)


def dirname(path):
    """A path without its last part."""
    return os.path.dirname(path)


def join(*args):
    """The parts as one path; an absolute part replaces those before it."""
    return os.path.join(*[str(part) for part in args])


def normpath(path):
    """A path without ``.``, ``..`` and doubled separators."""
    return os.path.normpath(path)


def pardir():
    """The name of the parent directory: ``..``."""
    return os.path.pardir


# -- properties


def file_exists(path):
    """True for a regular file, or a link to one."""
    return os.path.isfile(expand(path))


def directory_exists(path):
    """True for a directory, or a link to one."""
    return os.path.isdir(expand(path))


def path_exists_glob(path):
    """True when a path with wildcards matches anything."""
    import glob

    return bool(glob.glob(expand(path)))


def access(path, mode):
    """True if this process has the access ``mode``: f (exists), r, w or x."""
    path = absolute(path, "Path to link must be absolute.")
    modes = {"f": os.F_OK, "r": os.R_OK, "w": os.W_OK, "x": os.X_OK}
    if mode not in modes and mode not in modes.values():
        raise SaltInvocationError("Invalid mode specified.")
    return os.access(path, modes.get(mode, mode))


def stats(path, hash_type=None, follow_symlinks=True):
    """inode, uid, gid, user, group, atime, mtime, ctime, size, mode, type and target of ``path``."""
    return owner.stats(path, hash_type, follow_symlinks)


def lstat(path):
    """The fields of lstat(2), {} if the path does not exist."""
    path = absolute(path, "Path to file must be absolute.")
    try:
        st = os.lstat(path)
    except OSError:
        return {}
    words = ("st_atime", "st_ctime", "st_gid", "st_mode", "st_mtime", "st_nlink", "st_size", "st_uid")
    return {word: getattr(st, word) for word in words}


def statvfs(path):
    """The fields of statvfs(3) of the file system that contains ``path``."""
    path = absolute(path)
    try:
        st = os.statvfs(path)
    except OSError:
        raise CommandExecutionError("Could not statvfs '%s'" % path)
    words = ("bavail", "bfree", "blocks", "bsize", "favail", "ffree", "files", "flag", "frsize", "namemax")
    return {"f_" + word: getattr(st, "f_" + word) for word in words}


def diskusage(path):
    """Bytes of the file, or of all files below a directory; files with several hard links count once."""
    path = expand(path)
    if os.path.isfile(path):
        return os.stat(path).st_size
    sizes = {}
    for folder, _, files in os.walk(path):
        for name in files:
            try:
                st = os.stat(os.path.join(folder, name))
            except OSError:
                continue
            sizes[st.st_dev, st.st_ino] = st.st_size
    return sum(sizes.values())


def readdir(path):
    """Names in a directory, with ``.`` and ``..``."""
    path = absolute(path, "Dir path must be absolute.")
    if not os.path.isdir(path):
        raise SaltInvocationError("A valid directory was not specified: %s" % path)
    return [".", ".."] + os.listdir(path)


def find(path, *args, **kwargs):
    """Paths below ``path`` that pass the tests name, iname, regex, iregex, type, size, mtime, owner, group, grep,
    maxdepth and mindepth; ``print``, ``exec`` and ``delete`` are actions for them."""
    from thin.utils.files import find as finder

    if "delete" in args:
        kwargs["delete"] = "f"
    elif "print" in args:
        kwargs["print"] = "path"
    try:
        return finder.find(path, kwargs)
    except ValueError as exc:
        return "error: %s" % exc


def open_files(by_pid=False):
    """{path: [pids]} of files that processes have open (Linux), or {pid: [paths]}."""
    open_files = {}
    for pid in os.listdir("/proc") if os.path.isdir("/proc") else ():
        if not pid.isdigit():
            continue
        try:
            paths = {os.readlink("/proc/%s/fd/%s" % (pid, fd)) for fd in os.listdir("/proc/%s/fd" % pid)}
        except OSError:
            continue
        for path in sorted(paths):
            if path.startswith("/") and os.path.exists(path):
                key, value = (int(pid), path) if by_pid else (path, int(pid))
                open_files.setdefault(key, []).append(value)
    return open_files


# -- owners and modes --------------------------------------------------------------------------------------------------


def uid_to_user(uid):
    """The user's name, the uid itself if there is none."""
    return owner.uid_to_user(uid)


def user_to_uid(user):
    """The uid of a user, "" if there is none; by default the uid of this process."""
    return owner.user_to_uid(user)


def gid_to_group(gid):
    """The group's name, the gid itself if there is none."""
    try:
        gid = int(gid)
    except ValueError:
        gid = owner.group_to_gid(gid)
    return "" if gid == "" else owner.gid_to_group(gid)


def group_to_gid(group):
    """The gid of a group, "" if there is none."""
    return owner.group_to_gid(group)


def get_uid(path, follow_symlinks=True):
    """The uid of a file's owner."""
    return stats(path, None, follow_symlinks)["uid"]


def get_user(path, follow_symlinks=True):
    """The name of a file's owner."""
    return stats(path, None, follow_symlinks)["user"]


def get_gid(path, follow_symlinks=True):
    """The gid of a file's group."""
    return stats(path, None, follow_symlinks)["gid"]


def get_group(path, follow_symlinks=True):
    """The name of a file's group."""
    return stats(path, None, follow_symlinks)["group"]


def get_mode(path, follow_symlinks=True):
    """A file's mode, as text: "0644"."""
    return stats(path, None, follow_symlinks)["mode"]


def set_mode(path, mode):
    """Set the mode; returns the mode afterwards, or an error text for an invalid mode."""
    path = expand(path)
    if not os.path.exists(path):
        raise CommandExecutionError("%s: File not found" % path)
    digits = str(mode).lstrip("0Oo") or "0"
    try:
        safepath.chmod(path, int(digits, 8))
    except (ValueError, OSError, OverflowError):
        return "Invalid Mode " + digits
    return get_mode(path)


def chown(path, user, group):
    """Set the owner. Returns None, or an error text if the path, user or group does not exist."""
    path = expand(path)
    if not os.path.lexists(path):
        return _unknown_owners(user, group) + "File not found"
    return owner.chown(path, user, group, follow_symlinks=os.path.exists(path))


def lchown(path, user, group):
    """Set the owner of a link itself. Returns None, or an error text if the path, user or group does not exist."""
    return owner.chown(expand(path), user, group, follow_symlinks=False)


def chgrp(path, group):
    """Set the group. Returns None, or an error text if the path or group does not exist."""
    return chown(path, get_user(path), group)


def _unknown_owners(user, group):
    words = "User does not exist\n" if user and owner.user_to_uid(user) == "" else ""
    return words + ("Group does not exist\n" if group and owner.group_to_gid(group) == "" else "")


def check_perms(
    name, ret, user, group, mode, attrs=None, follow_symlinks=False, seuser=None, serole=None, setype=None, serange=None
):
    """Set owner, mode, attributes and context if they differ: (ret with changes and comment, former values)."""
    from thin.utils.files import labels

    name = expand(name)
    mode = owner.normalize_mode(mode)
    listed = bool(ret) and isinstance(ret["comment"], list)
    ret = ret or {"name": name, "changes": {}, "comment": "", "result": True}
    words = list(ret["comment"]) if listed else [ret["comment"]] if ret["comment"] else []
    st = owner.look(name, follow_symlinks)
    if st is None:
        raise CommandExecutionError("Path not found: %s" % name)
    link = stat.S_ISLNK(st.st_mode)
    perms = {
        "luser": st.st_uid if isinstance(user, int) else owner.uid_to_user(st.st_uid),
        "lgroup": st.st_gid if isinstance(group, int) else owner.gid_to_group(st.st_gid),
        "lmode": owner.mode_text(st),
    }
    wanted = owner.drift(st, user or None, group or None, None if link else mode)
    perms.update(("c" + key, value) for key, value in wanted.items())
    selinux = {"seuser": seuser, "serole": serole, "setype": setype, "serange": serange}
    if __opts__["test"]:
        ret["changes"].update(wanted)
        if attrs is not None or any(selinux.values()):
            ret["changes"].update(labels.predict(name, attrs, selinux))
        if ret["changes"]:
            ret["result"] = None
    else:
        failed = []
        if wanted:
            done, failed = owner.enforce(name, wanted, follow_symlinks)
            ret["changes"].update(done)
        if attrs is not None or any(selinux.values()):
            changes, more = labels.enforce(name, attrs, selinux)
            ret["changes"].update(changes)
            failed += more
        if failed:
            ret["result"] = False
            words += failed
    ret["comment"] = words if listed else "; ".join(words)
    return ret, perms


def lsattr(path):
    """{path: [letters]} of a file's attributes, None if attributes are not supported."""
    from thin.utils.files import labels

    if not os.path.exists(path):
        raise SaltInvocationError("File or directory does not exist: " + path)
    return labels.lsattr(path)


def chattr(*files, **kwargs):
    """Add or remove attributes: ``operator`` is add or remove, ``attributes`` letters of aAcCdDeijPsStTu."""
    from thin.utils.files import labels

    operator, attributes = kwargs.get("operator"), kwargs.get("attributes")
    if operator not in ("add", "remove"):
        raise SaltInvocationError("Need an operator: 'add' or 'remove' to modify attributes.")
    if attributes is None:
        raise SaltInvocationError("Need attributes: [aAcCdDeijPsStTu]")
    return labels.chattr("+" if operator == "add" else "-", attributes, *files)


def get_selinux_context(path):
    """``user:role:type:range`` of a file, or a sentence if it has none."""
    from thin.utils.files import labels

    parts = labels.context(path)
    return ":".join(parts) if parts else "No selinux context information is available for %s" % path


def set_selinux_context(path, user=None, role=None, type=None, range=None, persist=False):
    """Set parts of a file's SELinux context; returns the context afterwards, or False."""
    from thin.utils.files import labels

    if not any((user, role, type, range)):
        return False
    if persist:
        result = __salt__["selinux.fcontext_add_policy"](path, sel_type=type, sel_user=user, sel_level=range)
        if result.get("retcode") != 0:
            raise CommandExecutionError("Problem setting fcontext: %s" % result)
    _, errors = labels.enforce(path, None, {"seuser": user, "serole": role, "setype": type, "serange": range})
    return False if errors else get_selinux_context(path)


def restorecon(path, recursive=False):
    """Set a file's context to that of the policy for its path. True if that worked."""
    from thin.utils.files import labels

    return labels.run("restorecon", "-FR" if recursive else "-F", path)[0] == 0


# -- reading -----------------------------------------------------------------------------------------------------------


def read(path, binary=False):
    """The content of a file: text, or bytes with ``binary``."""
    from thin.utils.files import edit

    data = edit.read(path)
    return data if binary is True else data.decode("utf-8", "surrogateescape")


def seek_read(path, size, offset):
    """``size`` bytes of a file from ``offset`` on."""
    with open(expand(path), "rb") as source:
        source.seek(int(offset))
        return source.read(int(size))


def _chunks(path):
    """The text of a file in pieces, up to the first bytes that are not text; nothing if it cannot be read."""
    try:
        with open(path, errors="surrogateescape", encoding="utf-8") as source:
            for line in source:
                yield line
    except OSError:
        return


def contains(path, text):
    """True if a file contains this text, ignoring white space around it."""
    from thin.utils.files import edit

    try:
        return str(text).strip().encode("utf-8", "surrogateescape") in edit.read(expand(path))
    except OSError:
        return False


def contains_regex(path, regex, lchar=""):
    """True when a line matches; ``lchar`` are characters to strip from its beginning."""
    import re

    search = re.compile(regex).search
    return any(search(line.lstrip(lchar) if lchar else line) for line in _chunks(expand(path)))


def contains_glob(path, glob_expr):
    """True when the whole text matches a glob."""
    import fnmatch

    path = expand(path)
    return os.path.isfile(path) and fnmatch.fnmatch("".join(_chunks(path)), glob_expr)


def search(path, pattern, flags=8, bufsize=1, ignore_if_missing=False, multiline=False):
    """True when a regular expression matches somewhere in a file."""
    from thin.utils.files import edit

    flags = edit.regex_flags(flags) | (8 if multiline else 0)
    return edit.search_file(path, pattern, flags, ignore_if_missing)


def grep(path, pattern, *opts):
    """What ``cmd.run_all`` returns for grep(1)."""
    import glob

    from thin.utils import words as shell

    options = []
    for option in opts:
        words = shell.split(option)
        if len(words) > 1:
            raise SaltInvocationError(
                "Passing multiple command line arguments in a single string is not supported, please pass the "
                "following arguments separately: %s" % option
            )
        options += words
    paths = sorted(glob.glob(expand(path))) or [expand(path)]
    try:
        return __salt__["cmd.run_all"](["grep"] + options + [pattern] + paths, python_shell=False)
    except OSError as exc:
        raise CommandExecutionError(exc.strerror)
