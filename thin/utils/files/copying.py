"""Copies of files and directories, with owner and mode."""

import errno
import os
import stat

from thin.exceptions import CommandExecutionError, SaltInvocationError
from thin.utils.files import atomic, walk


def copy(src, dst, recurse=False, remove_existing=False):
    """Copy ``src`` to ``dst``. True; raises SaltInvocationError, CommandExecutionError. Salt: ``file.copy``."""
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
    """Rename, or copy and take away where ``dst`` is on another file system; into ``dst`` where that is a directory.

    Raises OSError. Salt: ``file.move``.
    """
    if os.path.isdir(dst) and not os.path.samefile(src, dst):
        dst = os.path.join(dst, os.path.basename(src.rstrip(os.sep)))
        if os.path.lexists(dst):
            raise OSError("Destination path '%s' already exists" % dst)
    try:
        os.rename(src, dst)
        return
    except OSError as exc:
        if exc.errno != errno.EXDEV:
            raise
    if os.path.islink(src):
        walk.remove(dst)
        os.symlink(os.readlink(src), dst)
    else:
        _copy(src, dst, times=True)
    walk.remove(src)


def _copy(src, dst, times=False):
    if os.path.isdir(src) and not os.path.islink(src):
        if not os.path.isdir(dst):
            os.makedirs(dst)
        for name in os.listdir(src):
            path = os.path.join(src, name)
            if os.path.islink(path):
                target = os.path.join(dst, name)
                walk.remove(target)
                os.symlink(os.readlink(path), target)
            else:
                _copy(path, os.path.join(dst, name), times)
        st = os.stat(src)
        os.chown(dst, st.st_uid, st.st_gid)
        os.chmod(dst, stat.S_IMODE(st.st_mode))
    else:
        st = os.stat(src)
        if not stat.S_ISREG(st.st_mode):
            raise OSError("'%s' is a special file" % src)
        atomic.write(os.path.realpath(dst), atomic.pieces(src), st.st_uid, st.st_gid, stat.S_IMODE(st.st_mode))
    if times:
        os.utime(dst, ns=(st.st_atime_ns, st.st_mtime_ns))
