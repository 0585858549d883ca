"""Creating, moving and removing files, directories, links and nodes: a part of ``file``. Salt: salt.modules.file."""

import os
import stat

from thin.exceptions import CommandExecutionError, SaltInvocationError
from thin.utils.files import owner, safepath
from thin.utils.files.arguments import absolute, expand

__virtualname__ = "file"
__usual__ = True
__func_alias__ = {"makedirs_": "makedirs"}
__reads__ = ("is_link", "is_hardlink", "readlink", "is_chrdev", "is_blkdev", "is_fifo", "get_devmm")
__changes__ = (
    "mkdir",
    "makedirs",
    "makedirs_perms",
    "rmdir",
    "remove",
    "rename",
    "move",
    "copy",
    "link",
    "symlink",
    "mknod",
    "mknod_chrdev",
    "mknod_blkdev",
    "mknod_fifo",
)


# -- creating, moving, removing


def mkdir(dir_path, user=None, group=None, mode=None):
    """Create a directory and its missing parents. Returns True."""
    path = os.path.normpath(expand(dir_path))
    if not os.path.isdir(path):
        makedirs_perms(path, user, group, mode)
    return True


def makedirs_(path, user=None, group=None, mode=None):
    """Create the parent directories of ``path`` (and itself if it ends in a slash); returns a text if they exist."""
    from thin.utils.files import atomic

    path = expand(path)
    parent = os.path.normpath(os.path.dirname(path))
    if os.path.isdir(parent):
        return "Directory '%s' already exists" % parent
    if os.path.exists(parent):
        return "The path '%s' already exists and is not a directory" % parent
    if not os.path.isabs(path):
        raise SaltInvocationError(
            "Recursive creation for path '%s' would result in an infinite loop. Please use an absolute path." % path
        )
    atomic.makedirs(os.path.join(parent, "file"), user, group, owner.normalize_mode(mode))
    return None


def makedirs_perms(name, user=None, group=None, mode="0755"):
    """Create a directory and its missing parents, all with this owner and mode."""
    from thin.utils.files import atomic

    path = os.path.normpath(expand(name))
    mode = owner.normalize_mode(mode) if mode else None
    atomic.makedirs(path, user, group, mode)
    atomic.mkdir(path, user, group, mode)


def rmdir(path, recurse=False, verbose=False, older_than=None):
    """Remove an empty directory, with ``recurse`` also empty ones in it. True if all of them were removed."""
    import time

    path = absolute(path)
    if not os.path.isdir(path):
        raise SaltInvocationError("A valid directory was not specified: %s" % path)
    limit = time.time() - int(older_than) * 86400 if older_than else None
    folders = [path]
    if recurse:
        below = os.walk(path, topdown=False)  # path: names only; rmdir uses open directories
        folders = [os.path.join(root, name) for root, dirs, _ in below for name in dirs] + folders
    deleted, errors = [], []
    for folder in folders:
        if limit is not None and os.path.getmtime(folder) >= limit:
            continue
        try:
            safepath.rmdir(folder)
            deleted.append(folder)
        except OSError as exc:
            errors.append([folder, str(exc)])
    result = not errors and (path in deleted or recurse)
    return {"deleted": deleted, "errors": errors, "result": result} if verbose else result


def remove(path, **kwargs):
    """Remove a file, a link or a directory with its content. False if it did not exist."""
    from thin.utils.files import walk

    path = expand(path)
    if not os.path.isabs(path):
        raise SaltInvocationError("File path must be absolute: %s" % path)
    try:
        return walk.remove(path)
    except OSError as exc:
        raise CommandExecutionError("Could not remove '%s': %s" % (path, exc))


def rename(src, dst):
    """Rename a file or directory. Returns True."""
    src, dst = absolute(src), expand(dst)
    try:
        safepath.rename(src, dst)
    except OSError:
        raise CommandExecutionError("Could not rename '%s' to '%s'" % (src, dst))
    return True


def move(src, dst, disallow_copy_and_unlink=False):
    """Move a file or directory, also to another file system. {"result", "comment"}."""
    from thin.utils.files import copying

    src, dst = expand(src), expand(dst)
    for word, path in (("Source", src), ("Destination", dst)):
        if not os.path.isabs(path):
            raise SaltInvocationError("%s path must be absolute." % word)
    try:
        (safepath.rename if disallow_copy_and_unlink else copying.move)(src, dst)
    except OSError as exc:
        raise CommandExecutionError("Unable to move '%s' to '%s': %s" % (src, dst, exc))
    return {"result": True, "comment": "'%s' moved to '%s'" % (src, dst)}


def copy(src, dst, recurse=False, remove_existing=False):
    """Copy a file, or with ``recurse`` a directory, with its owner and mode. Returns True."""
    from thin.utils.files import copying

    src, dst = absolute(src), expand(dst)
    if not os.path.exists(src):
        raise CommandExecutionError("No such file or directory '%s'" % src)
    return copying.copy(src, dst, recurse, remove_existing)


def link(src, path):
    """Make ``path`` a hard link to the file ``src``. Returns True."""
    src = absolute(src)
    try:
        safepath.link(src, path)
    except OSError as exc:
        raise CommandExecutionError("Could not create '%s': %s" % (path, exc))
    return True


def symlink(src, path, force=False, atomic=False, follow_symlinks=True):
    """Make ``path`` a symbolic link to ``src``. Returns True."""
    from thin.utils.files import links

    return links.make(src, expand(path), force, atomic, follow_symlinks)


def is_link(path, nostat=False):
    """True for a symbolic link."""
    return os.path.islink(expand(path))


def is_hardlink(path):
    """True for a file with more than one hard link."""
    try:
        return os.lstat(absolute(path, "Path to file must be absolute.")).st_nlink > 1
    except OSError:
        return False


def readlink(path, canonicalize=False):
    """The target of a symbolic link as written; with ``canonicalize``, the path to which it finally resolves."""
    path = os.path.expandvars(expand(path))
    if not os.path.isabs(path):
        raise SaltInvocationError("Path to link must be absolute: %s" % path)
    if not os.path.islink(path):
        raise SaltInvocationError("A valid link was not specified: %s" % path)
    return os.path.realpath(path) if canonicalize else os.readlink(path)


# -- device nodes ------------------------------------------------------------------------------------------------------


def _is(path, test):
    try:
        return test(os.stat(expand(path)).st_mode)
    except FileNotFoundError:
        return False


def is_chrdev(name):
    """True for a character device."""
    return _is(name, stat.S_ISCHR)


def is_blkdev(name):
    """True for a block device."""
    return _is(name, stat.S_ISBLK)


def is_fifo(name):
    """True for a named pipe."""
    return _is(name, stat.S_ISFIFO)


def get_devmm(name):
    """(major, minor) of a device, (0, 0) of anything else."""
    name = expand(name)
    if not (is_chrdev(name) or is_blkdev(name)):
        return 0, 0
    device = os.stat(name).st_rdev
    return os.major(device), os.minor(device)


def mknod(name, ntype, major=0, minor=0, user=None, group=None, mode="0600"):
    """Make a character device (``c``), block device (``b``) or pipe (``p``); a state's return."""
    makers = {"c": mknod_chrdev, "b": mknod_blkdev}
    if ntype not in ("c", "b", "p"):
        raise SaltInvocationError(
            "Node type unavailable: '%s'. Available node types are character ('c'), block ('b'), and pipe ('p')."
            % ntype
        )
    makedirs_(name, user, group)
    if ntype == "p":
        return mknod_fifo(name, user, group, mode)
    return makers[ntype](name, major, minor, user, group, mode)


def mknod_chrdev(name, major, minor, user=None, group=None, mode="0660"):
    """Make a character device; a state's return."""
    return _mknod(name, stat.S_IFCHR, "Character device", os.makedev(int(major), int(minor)), user, group, mode)


def mknod_blkdev(name, major, minor, user=None, group=None, mode="0660"):
    """Make a block device; a state's return."""
    return _mknod(name, stat.S_IFBLK, "Block device", os.makedev(int(major), int(minor)), user, group, mode)


def mknod_fifo(name, user=None, group=None, mode="0660"):
    """Make a named pipe; a state's return."""
    return _mknod(name, stat.S_IFIFO, "Fifo pipe", 0, user, group, mode)


def _mknod(name, kind, words, device, user, group, mode):
    name = expand(name)
    ret = {"name": name, "changes": {}, "comment": "", "result": False}
    if os.path.lexists(name):
        ret["comment"] = "File %s exists and cannot be overwritten" % name
        return ret
    ret["changes"] = {"new": "%s %s created." % (words, name)}
    if __opts__["test"]:
        ret["result"] = None
        return ret
    with safepath.at(name) as place:
        place.mknod(kind | owner.mode_bits(mode or "0660"), device)
        with place.pin() as pinned:
            ret["result"] = True
            wanted = owner.drift(pinned.stat(), user, group, owner.normalize_mode(mode))
            if wanted:
                owner.dress(pinned, wanted)
    return ret
