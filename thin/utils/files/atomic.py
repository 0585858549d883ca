"""Whole writes: a file has its old content or its new one, never a part, whatever happens to disk, process or power.

The new content goes to a file of an unguessable name beside the target, made by O_EXCL so that nothing planted there is
followed. Owner, mode, ACL and extended attributes are set, the bytes are on disk, and only then is it renamed.

Where the inode is to stay (``keep_inode``, ``append``: names and mounts of the file elsewhere go on seeing it, and the
folder need not be ours to write to) the content is written into the file: after all of it is known, and room for it
is had. Salt: append, prepend, replace, keyvalue.
"""

import _signal as signal  # without the enums of `signal`, which cost more to import
import errno
import os
import stat

from thin.utils.files import owner, safepath
from thin.utils.files.osutil import ONLY_COPY

PIECE = 1 << 18
ACL = "system.posix_acl_access"
#: The tag of an ACL's entry for the file's own group.
_GROUP = 4
#: What belongs to the old bytes, not to the file: a write into it drops or recomputes them, too.
_OF_CONTENT = ("security.capability", "security.ima", "security.evm")


class Torn(OSError):
    """Writing into a file broke off. The text says where all of its new content is."""


class _Unstopped(object):
    """Delays signals that stop the worker until an operation is complete. Its supervisor kills it seconds later."""

    def __enter__(self):
        if hasattr(signal, "pthread_sigmask"):
            self.before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGTERM, signal.SIGHUP, signal.SIGINT))

    def __exit__(self, *exc):
        if hasattr(signal, "pthread_sigmask"):
            signal.pthread_sigmask(signal.SIG_SETMASK, self.before)


def write(path, pieces, uid=None, gid=None, mode=None, keep_inode=False, like=None):
    """Make ``pieces`` (bytes, or an iterable of bytes) the content of the regular file ``path``.

    What is not given stays as the file at ``path`` has it, and so do ACL, SELinux context and extended attributes
    (``mode`` limits an ACL, as chmod does); a new one gets our own owner and mode 0600. ``mode`` is in bits. ``like``
    is the descriptor of an open file whose copy it is: it has the owner, mode and ACL of that one, whatever was there.
    A link at ``path`` is replaced: ``safepath.real`` gives the path that one leads to. Raises OSError; the old file is
    untouched then and the temporary one is gone, but for Torn. Returns the stat result of what was written.
    """
    with safepath.at(path) as place:
        return write_at(place, pieces, uid, gid, mode, keep_inode, like)


def write_at(place, pieces, uid=None, gid=None, mode=None, keep_inode=False, like=None):
    """As ``write``, for a ``safepath.Place``."""
    if like is not None:
        found = os.fstat(like)
        uid, gid, mode = found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode)
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
    """Add bytes at the end of a regular file, which keeps its inode. Raises OSError; the file is as it was then."""
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
    """(descriptor, name) of a temporary file: in the same folder, or in another one (then it is a path)."""
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
        # a mount point, as container engines make of /etc/hosts, cannot be renamed over
        if exc.errno not in (errno.EBUSY, errno.EXDEV) or old is None:
            raise
        return _over(descriptor, place, temp, uid, gid, mode)


def _fill(descriptor, pieces):
    for piece in (pieces,) if isinstance(pieces, (bytes, bytearray)) else pieces:
        view = memoryview(piece)
        while view:
            view = view[os.write(descriptor, view) :]


def _dress(descriptor, old, uid, gid, mode, place=None, like=None):
    """Owner before mode: a change of owner clears setuid and setgid. ``place`` has what else the old file had."""
    now = os.fstat(descriptor)
    uid = (old.st_uid if old else now.st_uid) if uid is None else uid
    gid = (old.st_gid if old else now.st_gid) if gid is None else gid
    if (uid, gid) != (now.st_uid, now.st_gid):
        try:
            os.fchown(descriptor, uid, gid)
        except PermissionError:
            pass  # not root: the caller looks again and says what could not be set
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
    """Put the finished content, which the file ``temp`` has, into the file that is there, and take ``temp`` away.

    Raises Torn. While the file is written in part, ``temp`` has the only whole copy: by its mode ``osutil.sweep`` knows
    it and leaves it, should the worker be killed.
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
            _make_room(target, old.st_size, size)  # which may make the file longer
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
    """Have the disk keep room for a file that grows: it is full now, or not at all."""
    if wanted <= size or not hasattr(os, "posix_fallocate"):
        return
    try:
        os.posix_fallocate(target, size, wanted - size)
    except OSError as exc:
        os.ftruncate(target, size)
        if exc.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise


def _copy_attributes(place, descriptor):
    """Give the new file the extended attributes of the old one, its ACL among them, and no others."""
    old, new = place.attributes(), _attributes_of(descriptor)
    for name in new:
        if name == ACL and name not in old:  # from the folder's default ACL
            os.removexattr(descriptor, name)
    for name, value in old.items():
        if name in _OF_CONTENT or new.get(name) == value:
            continue
        try:
            os.setxattr(descriptor, name, value)
        except OSError:
            if name == ACL:
                raise  # without it the mode means more than it did


def _copy_acl(like, descriptor, mode):
    """Give a copy the ACL of the file ``like``, and none of its folder. Returns the mode: where no ACL can be set, that
    of the file without the bits that only its ACL made those of the group."""
    acl = _attributes_of(like).get(ACL)
    if acl is None:
        if ACL in _attributes_of(descriptor):  # from the folder's default ACL
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
    """Set the SELinux context for the new name with restorecon: a moved file keeps that of its former place."""
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
    made = []
    for directory in reversed(missing):
        try:
            mkdir(directory, user, group, mode)
        except FileExistsError:  # another process made it meanwhile, a parallel state for instance
            if not os.path.isdir(directory):
                raise
        else:
            made.append(directory)
    return made


def mkdir(path, user=None, group=None, mode=None):
    """Make one directory. A given mode is set exactly; the default depends on the umask."""
    with safepath.at(path) as place:
        place.mkdir(0o777 if mode is None else 0o700)
        with place.pin() as pinned:
            wanted = owner.drift(pinned.stat(), user, group, owner.normalize_mode(mode))
            if mode is None:
                wanted.pop("mode", None)
            if wanted:
                owner.dress(pinned, wanted)
