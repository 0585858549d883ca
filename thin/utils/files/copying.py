"""Copies of files and directories, with owner and mode."""

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


def _copy(src, dst):
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
                _copy(path, os.path.join(dst, name))
        st = os.stat(src)
        os.chown(dst, st.st_uid, st.st_gid)
        os.chmod(dst, stat.S_IMODE(st.st_mode))
    else:
        st = os.stat(src)
        atomic.write(os.path.realpath(dst), atomic.pieces(src), st.st_uid, st.st_gid, stat.S_IMODE(st.st_mode))
