"""Atomic writes of files: after a crash or a failure, a file has its old or its new content, never a mixture.

The new content is written to a temporary file in the same folder. It has an unpredictable name and is created with
O_EXCL, so that no link that another user put there is followed. Owner, mode, ACL and extended attributes are set and
the bytes are synced before it is renamed.

With ``keep_inode``, and in ``append``, the content is written into the existing file, so that hard links and bind
mounts of it show the new content and the folder need not be writable. This begins after all of the new content is there
and disk space is allocated. Salt: append, prepend, replace, keyvalue.
"""

import _signal as signal  # without the enums of `signal`, which cost more to import
import errno
import os
import stat

from thin.utils.files import owner, safepath
from thin.utils.files.osutil import ONLY_COPY

PIECE = 1 << 18
ACL = "system.posix_acl_access"
#: The tag of the ACL entry for the file's group.
_GROUP = 4
#: Attributes that depend on the content, not on the file: a write into the file drops or recomputes them, too.
_OF_CONTENT = ("security.capability", "security.ima", "security.evm")


class Torn(OSError):
    """Writing into a file failed in the middle. The text names the file with all of the new content."""


class _Unstopped(object):
    """Delays signals that stop the worker until an operation is complete. The supervisor sends SIGKILL seconds
    later."""

    def __enter__(self):
        if hasattr(signal, "pthread_sigmask"):
            self.before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGTERM, signal.SIGHUP, signal.SIGINT))

    def __exit__(self, *exc):
        if hasattr(signal, "pthread_sigmask"):
            signal.pthread_sigmask(signal.SIG_SETMASK, self.before)


def write(path, pieces, uid=None, gid=None, mode=None, keep_inode=False, like=None):
    """Make ``pieces`` (bytes, or an iterable of bytes) the content of the regular file ``path``.

    Owner and mode that are not given, ACL, SELinux context and extended attributes are those of the old file (``mode``
    limits an ACL, as chmod does). A new file gets our own owner and mode 0600. ``mode`` is a number. ``like``: the
    descriptor of an open file whose owner, mode and ACL are used instead, because the new file is a copy of it.
    A symbolic link at ``path`` is replaced; ``safepath.real`` resolves it. Returns the stat result of the written file.
    Raises OSError; then the old file is unchanged and the temporary file is removed, except for Torn.
    """
    with safepath.at(path) as place:
        return write_at(place, pieces, uid, gid, mode, keep_inode, like)


def write_at(place, pieces, uid=None, gid=None, mode=None, keep_inode=False, like=None):
    """As ``write``, for a ``safepath.Place``."""
    if like is not None:
        status = os.fstat(like)
        uid, gid, mode = status.st_uid, status.st_gid, stat.S_IMODE(status.st_mode)
    old = place.look()
    if old is not None and not stat.S_ISREG(old.st_mode):
        old = None
    into = keep_inode and old is not None
    descriptor, temp = _spool(place) if into else place.temporary()
    try:
        try:
            _fill(descriptor, pieces)
            if into:
                os.fsync(descriptor)
                written = _over(descriptor, place, temp, uid, gid, mode)
            else:
                _dress(descriptor, old, uid, gid, mode, place, like)
                os.fsync(descriptor)
                written = _take(place, temp, descriptor, old, uid, gid, mode)
        finally:
            os.close(descriptor)
    except Torn:
        raise
    except BaseException:
        place.discard(temp)
        raise
    if old is None:
        _default_context(place.path)
    return written


def append(path, data):
    """Append bytes to a regular file; it keeps its inode. Raises OSError; then the file has its old size."""
    with safepath.at(path) as place:
        target = _regular(place, os.O_WRONLY | os.O_APPEND)
        try:
            size = os.fstat(target).st_size
            with _Unstopped():
                try:
                    _fill(target, data)
                    os.fsync(target)
                except BaseException:
                    os.ftruncate(target, size)
                    raise
        finally:
            os.close(target)


def _spool(place):
    """(descriptor, name) of a temporary file in the same folder. If that is not writable, it is in another folder, and
    the name is a path."""
    try:
        return place.temporary()
    except OSError as exc:
        if exc.errno not in (errno.EACCES, errno.EPERM, errno.EROFS):
            raise
    from thin.utils.files import osutil

    return osutil.mkstemp()


def _take(place, temp, descriptor, old, uid, gid, mode):
    try:
        place.take(temp)
        return os.fstat(descriptor)
    except OSError as exc:
        # A mount point, such as /etc/hosts in a container, cannot be replaced by a rename.
        if exc.errno not in (errno.EBUSY, errno.EXDEV) or old is None:
            raise
        return _over(descriptor, place, temp, uid, gid, mode)


def _fill(descriptor, pieces):
    for piece in (pieces,) if isinstance(pieces, (bytes, bytearray)) else pieces:
        view = memoryview(piece)
        while view:
            view = view[os.write(descriptor, view) :]


def _dress(descriptor, old, uid, gid, mode, place=None, like=None):
    """Set owner and mode of the new file; the owner first, because chown clears setuid and setgid. ``place``: also copy
    the extended attributes of the file there. ``like``: also copy that file's ACL."""
    now = os.fstat(descriptor)
    uid = (old.st_uid if old else now.st_uid) if uid is None else uid
    gid = (old.st_gid if old else now.st_gid) if gid is None else gid
    if (uid, gid) != (now.st_uid, now.st_gid):
        try:
            os.fchown(descriptor, uid, gid)
        except PermissionError:
            pass  # not root: the caller compares afterwards and reports what could not be set
    if place is not None and old is not None:
        _copy_attributes(place, descriptor)
    if like is not None:
        mode = _copy_acl(like, descriptor, mode)
    if mode is None:
        mode = stat.S_IMODE(old.st_mode) if old else 0o600
    if place is not None or stat.S_IMODE(os.fstat(descriptor).st_mode) != mode:
        os.fchmod(descriptor, mode)


def _regular(place, flags):
    descriptor = place.open(flags | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "Not a regular file", place.path)
    return descriptor


def _over(descriptor, place, temp, uid, gid, mode):
    """Write the content of the temporary file ``temp`` (open as ``descriptor``) into the existing file, and remove it.

    Returns the stat result. Raises Torn. During the write ``temp`` is the only complete copy; its mode tells
    ``osutil.sweep`` to leave it if the worker is killed.
    """
    target = _regular(place, os.O_WRONLY)
    try:
        old, size = os.fstat(target), os.fstat(descriptor).st_size
        os.lseek(descriptor, 0, os.SEEK_SET)
        with _Unstopped():
            try:
                os.fchmod(descriptor, ONLY_COPY)
            except OSError:
                pass  # a file system without modes
            _make_room(target, old.st_size, size)  # may make the file longer
            try:
                _fill(target, iter(lambda: os.read(descriptor, PIECE), b""))
                os.ftruncate(target, size)
                os.fsync(target)
            except OSError as exc:
                words = "%s: it is written in part; the whole of it is in %s"
                whole = os.path.join(os.path.dirname(place.path), temp)
                raise Torn(exc.errno, words % (exc.strerror, whole), place.path)
            place.discard(temp)
        if (uid, gid, mode) != (None, None, None) or os.fstat(target).st_mode != old.st_mode:
            _dress(target, old, uid, gid, mode)
        return os.fstat(target)
    finally:
        os.close(target)


def _make_room(target, size, wanted):
    """Allocate disk space for a file that grows, so that a full disk is an error now and not during the write."""
    if wanted <= size or not hasattr(os, "posix_fallocate"):
        return
    try:
        os.posix_fallocate(target, size, wanted - size)
    except OSError as exc:
        os.ftruncate(target, size)
        if exc.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise


def _copy_attributes(place, descriptor):
    """Replace the extended attributes of the new file, with its ACL, by those of the old file."""
    old, new = place.attributes(), _attributes_of(descriptor)
    for name in new:
        if name == ACL and name not in old:  # inherited from the folder's default ACL
            os.removexattr(descriptor, name)
    for name, value in old.items():
        if name in _OF_CONTENT or new.get(name) == value:
            continue
        try:
            os.setxattr(descriptor, name, value)
        except OSError:
            if name == ACL:
                raise  # without its ACL the mode of the file would allow more


def _copy_acl(like, descriptor, mode):
    """Give a copy the ACL of the file ``like``, and not one that it inherited from its folder.

    Returns the mode for the copy. If no ACL can be set, it is the mode of ``like`` without the group bits that come
    from its ACL's mask."""
    acl = _attributes_of(like).get(ACL)
    if acl is None:
        if ACL in _attributes_of(descriptor):  # inherited from the folder's default ACL
            os.removexattr(descriptor, ACL)
        return mode
    try:
        os.setxattr(descriptor, ACL, acl)
    except OSError:
        import struct

        [group] = [bits for tag, bits, _ in struct.iter_unpack("<HHI", acl[4:]) if tag == _GROUP]
        return mode & ~0o070 | mode & (group << 3)
    return mode


def _attributes_of(descriptor):
    try:
        return {name: os.getxattr(descriptor, name) for name in os.listxattr(descriptor)}
    except (AttributeError, OSError):
        return {}


def _default_context(path):
    """Set the SELinux context of the new file with restorecon, because a renamed file keeps that of its first path."""
    try:
        with open("/sys/fs/selinux/enforce", encoding="utf-8") as enforce:
            if enforce.read().strip() != "1":
                return
    except OSError:
        return
    import subprocess

    try:
        subprocess.call(
            ["restorecon", path], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
    except OSError:
        pass


def pieces(path):
    """Yield the bytes of a file in pieces."""
    with open(path, "rb", opener=safepath.opener) as source:
        for piece in iter(lambda: source.read(PIECE), b""):
            yield piece


def makedirs(path, user=None, group=None, mode=None):
    """Create the missing directories above the file ``path``, each with this owner and mode.

    Returns the created directories, topmost first. Raises OSError, also if a component of the path is no directory.
    """
    missing, directory = [], os.path.normpath(os.path.dirname(os.path.abspath(path)))
    while not os.path.isdir(directory):
        missing.append(directory)
        directory = os.path.dirname(directory)
    made = []
    for directory in reversed(missing):
        try:
            mkdir(directory, user, group, mode)
        except FileExistsError:  # another process created it meanwhile, such as a parallel state
            if not os.path.isdir(directory):
                raise
        else:
            made.append(directory)
    return made


def mkdir(path, user=None, group=None, mode=None):
    """Create one directory. ``mode`` is set exactly; without it, the umask decides."""
    with safepath.at(path) as place:
        place.mkdir(0o777 if mode is None else 0o700)
        with place.pin() as pinned:
            wanted = owner.drift(pinned.stat(), user, group, owner.normalize_mode(mode))
            if mode is None:
                wanted.pop("mode", None)
            if wanted:
                owner.dress(pinned, wanted)
