"""Copies of files and directories, with owner and mode."""

import errno
import os
import stat

from thin.exceptions import CommandExecutionError, SaltInvocationError
from thin.utils.files import atomic, safepath, safetree, walk


def copy(src, dst, recurse=False, remove_existing=False):
    """Copy ``src`` to ``dst``. Returns True; raises SaltInvocationError, CommandExecutionError. Salt: ``file.copy``."""
    if os.path.isdir(dst) or os.path.isdir(src):
        if not recurse:
            raise SaltInvocationError("Cannot copy overwriting a directory without recurse flag set to true!")
        if remove_existing:
            walk.remove(dst)
    try:
        _copy(src, dst)
    except OSError as exc:
        raise CommandExecutionError("Could not copy '%s' to '%s': %s" % (src, dst, exc))
    return True


def move(src, dst):
    """Rename, or copy and remove if ``dst`` is on another file system. If ``dst`` is a directory, move into it.

    Raises OSError. Salt: ``file.move``.
    """
    if os.path.isdir(dst) and not os.path.samefile(src, dst):
        dst = os.path.join(dst, os.path.basename(src.rstrip(os.sep)))
        if os.path.lexists(dst):
            raise OSError("Destination path '%s' already exists" % dst)
    try:
        safepath.rename(src, dst)
        return
    except OSError as exc:
        if exc.errno != errno.EXDEV:
            raise
    if os.path.islink(src):
        walk.remove(dst)
        safepath.symlink(os.readlink(src), dst)
    else:
        _copy(src, dst, times=True)
    walk.remove(src)


def _copy(src, dst, times=False):
    if not os.path.isdir(src) or os.path.islink(src):
        with safepath.at(src, follow=True) as source:
            _copy_file(source, dst, times)
        return
    made = []
    for folder in safetree.descend(src, follow=False):
        target = os.path.normpath(os.path.join(dst, os.path.relpath(folder.path, src)))
        if not os.path.isdir(target):
            safepath.makedirs(target)
        made.append((target, os.fstat(folder.fd)))
        for name in folder.others:
            source, path = folder.place(name), os.path.join(target, name)
            status = source.look()
            if status is None:
                continue  # removed meanwhile
            if stat.S_ISLNK(status.st_mode):
                walk.remove(path)
                safepath.symlink(source.readlink(), path)
            else:
                _copy_file(source, path, times)
    for target, status in reversed(made):
        _dress(target, status, times)


def _copy_file(source, dst, times):
    if not stat.S_ISREG(source.lstat().st_mode):
        raise OSError("'%s' is a special file" % source.path)
    with os.fdopen(source.open_to_read(), "rb") as stream:
        status = os.fstat(stream.fileno())
        atomic.write(safepath.real(dst), iter(lambda: stream.read(atomic.PIECE), b""), like=stream.fileno())
    if times:
        safepath.utime(dst, ns=(status.st_atime_ns, status.st_mtime_ns))


def _dress(path, status, times):
    """Give a folder the owner and mode of the stat result ``status``."""
    with safepath.at(path, follow=True) as place, place.pin() as pinned:
        pinned.chown(status.st_uid, status.st_gid)
        pinned.chmod(stat.S_IMODE(status.st_mode))
    if times:
        safepath.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
