"""Whole writes: a file has its old content or its new one, never a part, whatever happens to disk, process or power.

The new content goes to a file of an unguessable name beside the target, made by O_EXCL so that nothing planted there is
followed. Owner, mode and SELinux context are set, the bytes are on disk, and only then is it renamed.
"""

import errno
import os
import stat

from thin.utils import safepath
from thin.utils.files import owner

PIECE = 1 << 18
SELINUX = "security.selinux"


def write(path, pieces, uid=None, gid=None, mode=None, keep_inode=False):
    """Make ``pieces`` (bytes, or an iterable of bytes) the content of the regular file ``path``.

    What is not given stays as the file at ``path`` has it; a new one gets our own owner and mode 0600. ``mode`` is
    in bits. A link at ``path`` is replaced: ``safepath.real`` gives the path that one leads to. Raises OSError; the old
    file is untouched then and the temporary one is gone. Returns the stat result of what was written.
    """
    with safepath.at(path) as place:
        return write_at(place, pieces, uid, gid, mode, keep_inode)


def write_at(place, pieces, uid=None, gid=None, mode=None, keep_inode=False):
    """As ``write``, for a ``safepath.Place``."""
    old = place.look()
    if old is not None and not stat.S_ISREG(old.st_mode):
        old = None
    descriptor, temp = place.temporary()
    try:
        try:
            _fill(descriptor, pieces)
            _dress(descriptor, old, uid, gid, mode)
            if old is not None:
                _copy_context(place, descriptor)
            os.fsync(descriptor)
            if keep_inode and old is not None and old.st_nlink > 1:
                written = _over(descriptor, place)
                place.discard(temp)
            else:
                written = _take(place, temp, descriptor, old)
        finally:
            os.close(descriptor)
    except BaseException:
        place.discard(temp)
        raise
    if old is None:
        _default_context(place.path)
    return written


def _take(place, temp, descriptor, old):
    try:
        place.take(temp)
        return os.fstat(descriptor)
    except OSError as exc:
        # a mount point, as container engines make of /etc/hosts, cannot be renamed over
        if exc.errno not in (errno.EBUSY, errno.EXDEV) or old is None:
            raise
        written = _over(descriptor, place)
        place.discard(temp)
        return written


def _fill(descriptor, pieces):
    for piece in (pieces,) if isinstance(pieces, (bytes, bytearray)) else pieces:
        view = memoryview(piece)
        while view:
            view = view[os.write(descriptor, view):]


def _dress(descriptor, old, uid, gid, mode):
    """Owner before mode: a change of owner clears setuid and setgid."""
    now = os.fstat(descriptor)
    uid = (old.st_uid if old else now.st_uid) if uid is None else uid
    gid = (old.st_gid if old else now.st_gid) if gid is None else gid
    if (uid, gid) != (now.st_uid, now.st_gid):
        try:
            os.fchown(descriptor, uid, gid)
        except PermissionError:
            pass  # not root: the caller looks again and says what could not be set
    if mode is None:
        mode = stat.S_IMODE(old.st_mode) if old else 0o600
    os.fchmod(descriptor, mode)


def _over(descriptor, place):
    """Put the finished content into the file that is there."""
    os.lseek(descriptor, 0, os.SEEK_SET)
    target = place.open(os.O_RDWR | os.O_TRUNC)
    try:
        _fill(target, iter(lambda: os.read(descriptor, PIECE), b""))
        os.fsync(target)
        return os.fstat(target)
    finally:
        os.close(target)


def _copy_context(place, descriptor):
    context = place.attribute(SELINUX)
    if context is not None:
        try:
            os.setxattr(descriptor, SELINUX, context)
        except OSError:
            pass  # the file system keeps no contexts


def _default_context(path):
    """A file moved into place has the context of where it was made; restorecon gives it that of its name."""
    try:
        with open("/sys/fs/selinux/enforce") as enforce:
            if enforce.read().strip() != "1":
                return
    except OSError:
        return
    import subprocess

    try:
        subprocess.call(["restorecon", path], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                        stderr=subprocess.DEVNULL)
    except OSError:
        pass


def pieces(path):
    """The bytes of a file, one piece after the other."""
    with open(path, "rb", opener=safepath.opener) as source:
        for piece in iter(lambda: source.read(PIECE), b""):
            yield piece


def makedirs(path, user=None, group=None, mode=None):
    """Make every directory on the way to the file ``path`` that is not there yet, each with this owner and mode.

    Returns the directories made, top first. Raises OSError (also when something in the way is no directory).
    """
    missing, directory = [], os.path.normpath(os.path.dirname(os.path.abspath(path)))
    while not os.path.isdir(directory):
        missing.append(directory)
        directory = os.path.dirname(directory)
    for directory in reversed(missing):
        mkdir(directory, user, group, mode)
    return missing[::-1]


def mkdir(path, user=None, group=None, mode=None):
    """Make one directory. The mode is exact where one is given, else what the umask leaves."""
    with safepath.at(path) as place:
        place.mkdir(0o777 if mode is None else 0o700)
        with place.pin() as pinned:
            wanted = owner.drift(pinned.stat(), user, group, owner.normalize_mode(mode))
            if mode is None:
                wanted.pop("mode", None)
            if wanted:
                owner.dress(pinned, wanted)
