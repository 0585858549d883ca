"""Place, a name in an open folder, and Pinned, an open file independent of its name. For ``safepath``."""

import errno
import os
import stat

from thin.exceptions import CommandExecutionError

CLOEXEC = getattr(os, "O_CLOEXEC", 0)
NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)
PATH = getattr(os, "O_PATH", 0)
FOLDER = getattr(os, "O_DIRECTORY", 0) | CLOEXEC
LISTED = os.O_RDONLY | os.O_NONBLOCK | FOLDER | NOFOLLOW
#: Errors of open(2) with O_NOFOLLOW for a link; EMLINK is FreeBSD's.
A_LINK = (errno.ELOOP, errno.EMLINK)
_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | NOFOLLOW | CLOEXEC
#: Called as ``watch(place, content)`` before what is at a Place changes; ``content`` is False if only owner or mode
#: change. Records what was there (thin.utils.files.keeping). None if nothing is recorded.
watch = None
#: Called with a ``Place`` before that; refuses what is no longer as it was planned (thin.planned). None: nothing is.
check = None


class Refused(CommandExecutionError, OSError):
    """Root does not follow this link, or does not write to this file. The text names its path and owner, and what to
    do."""

    def __init__(self, message):
        super(Refused, self).__init__(message)
        self.errno = errno.ELOOP

    def __str__(self):
        return self.message


def rulers():
    """The uids that can change everything in any case: root, and the owner of the folder ``/``."""
    return 0, os.stat("/").st_uid


def closed(status):
    """Whether only root can change the folder; for a sticky folder, whether only root can change root's files in it."""
    return status.st_uid in rulers() and (not status.st_mode & 0o022 or bool(status.st_mode & stat.S_ISVTX))


def named(exc, path):
    """The error with ``path`` as its filename."""
    exc.filename = path
    return exc


class Place(object):
    """A name in an open folder. ``path`` is the path as it was given. No method follows a link with this name.

    All methods raise OSError with the path in it; Refused if a link was put in place of the file, and for files that
    another user may have linked there (see ``guard``).
    """

    __slots__ = ("fd", "name", "path")

    def __init__(self, fd, name, path):
        self.fd = fd
        self.name = name
        self.path = path

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()

    def close(self):
        if self.fd is not None:
            os.close(self.fd)
            self.fd = None

    def _do(self, function, *args, **kwargs):
        try:
            return function(*args, **kwargs)
        except OSError as exc:
            if function is os.open and exc.errno in A_LINK:
                raise self._swapped()
            raise named(exc, self.path)

    def _swapped(self):
        return Refused("'%s' is a link, and it may not be followed here" % self.path)

    def _changes(self, content=True):
        if check is not None:
            check(self)
        if watch is not None:
            watch(self, content)

    def real_path(self):
        """The path without links on the way."""
        folder = os.readlink(self.folder) if self.folder else None
        if folder is None or not os.path.isabs(folder):
            folder = os.path.realpath(os.path.dirname(self.path))
        return os.path.normpath(os.path.join(folder, os.path.basename(self.name)))

    def lstat(self):
        return self._do(os.stat, self.name, dir_fd=self.fd, follow_symlinks=False)

    def look(self):
        """As ``lstat``, but None if nothing is there."""
        try:
            return self.lstat()
        except FileNotFoundError:
            return None

    def open(self, flags, mode=0o666):
        """Open and return a descriptor; a new file gets ``mode`` without the umask's bits. Raises Refused for writing
        to a file that ``guard`` refuses."""
        if flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            self._changes()
        cut, flags = flags & os.O_TRUNC, flags & ~os.O_TRUNC
        descriptor = self._do(os.open, self.name, flags | NOFOLLOW | CLOEXEC, mode, dir_fd=self.fd)
        try:
            if flags & (os.O_WRONLY | os.O_RDWR):
                self.guard(os.fstat(descriptor))
            if cut:
                os.ftruncate(descriptor, 0)
        except BaseException:
            os.close(descriptor)
            raise
        return descriptor

    def read(self):
        """The content of the file. Raises OSError for a named pipe, because reading it would block."""
        with os.fdopen(self.open_to_read(), "rb") as source:
            return source.read()

    def open_to_read(self):
        descriptor = self.open(os.O_RDONLY | os.O_NONBLOCK)
        kind = os.fstat(descriptor).st_mode
        if stat.S_ISFIFO(kind) or stat.S_ISDIR(kind):
            os.close(descriptor)
            if stat.S_ISDIR(kind):
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), self.path)
            raise OSError(errno.EINVAL, "A named pipe, not a file", self.path)
        os.set_blocking(descriptor, True)
        return descriptor

    def guard(self, status):
        """Raise Refused for a file with several hard links in a folder that others can change, if the system lets
        everybody link any file (``fs.protected_hardlinks`` is 0): it may be a file of the system."""
        if os.geteuid() or not stat.S_ISREG(status.st_mode) or status.st_nlink < 2 or self.fd is None:
            return
        folder = os.fstat(self.fd)
        if (closed(folder) and not folder.st_mode & 0o022) or _links_are_protected():
            return
        raise Refused(
            "'%s' is a file with several names in a folder that other users can change: another user may have linked "
            "it there. Set fs.protected_hardlinks to 1, or replace it by a copy" % self.path
        )

    def temporary(self, suffix="", prefix=".pushsalt-"):
        """(descriptor, name) of a new empty file in this folder, 0600, with an unpredictable name."""
        while True:
            name = self.sibling("%s%s%s" % (prefix, os.urandom(12).hex(), suffix)).name
            try:
                return self._do(os.open, name, _NEW, 0o600, dir_fd=self.fd), name
            except FileExistsError:
                continue

    def take(self, temporary):
        """Rename the file ``temporary`` of this folder to this name."""
        self._changes()
        self._do(os.rename, temporary, self.name, src_dir_fd=self.fd, dst_dir_fd=self.fd)

    def discard(self, temporary):
        """Unlink the file ``temporary`` of this folder; errors are ignored."""
        try:
            os.unlink(temporary, dir_fd=self.fd)
        except OSError:
            pass

    def rename(self, other):
        """Rename to the place ``other``."""
        self._changes()
        other._changes()
        try:
            os.rename(self.name, other.name, src_dir_fd=self.fd, dst_dir_fd=other.fd)
        except OSError as exc:
            exc.filename, exc.filename2 = self.path, other.path
            raise

    def link(self, other):
        """Make a hard link to this file at the place ``other``."""
        other._changes(content=False)
        try:
            os.link(self.name, other.name, src_dir_fd=self.fd, dst_dir_fd=other.fd, follow_symlinks=False)
        except OSError as exc:
            exc.filename, exc.filename2 = self.path, other.path
            raise

    def unlink(self):
        self._changes()
        self._do(os.unlink, self.name, dir_fd=self.fd)

    def rmdir(self):
        self._changes()
        self._do(os.rmdir, self.name, dir_fd=self.fd)

    def mkdir(self, mode=0o777):
        self._changes(content=False)
        self._do(os.mkdir, self.name, mode, dir_fd=self.fd)

    def mknod(self, mode, device=0):
        self._changes(content=False)
        self._do(os.mknod, self.name, mode, device, dir_fd=self.fd)

    def symlink(self, target):
        self._changes(content=False)
        try:
            os.symlink(target, self.name, dir_fd=self.fd)
        except OSError as exc:
            exc.filename, exc.filename2 = target, self.path
            raise

    def readlink(self):
        return self._do(os.readlink, self.name, dir_fd=self.fd)

    def utime(self, times=None, ns=None):
        """Set the times of this entry; of a link itself, not of its target."""
        given = {"ns": ns} if ns is not None else {"times": times}
        self._do(os.utime, self.name, dir_fd=self.fd, follow_symlinks=False, **given)

    def pin(self):
        """The file, folder or link that has this name now, as Pinned."""
        return Pinned(self)

    def enter(self):
        """A descriptor of the folder with this name, to list it and to open its content."""
        return self._do(os.open, self.name, LISTED, dir_fd=self.fd)

    def remove(self):
        """Remove a file or link, or a folder with its content. Returns False if nothing is here."""
        status = self.look()
        if status is None:
            return False
        if self.name == ".":
            raise OSError(errno.EINVAL, "Not a name in a folder", self.path)
        if not stat.S_ISDIR(status.st_mode):
            self.unlink()
            return True
        from thin.utils.files import osutil

        self._changes()
        try:
            osutil.rmtree(self.name, dir_fd=self.fd)
        except OSError as exc:
            if exc.filename == self.name:
                exc.filename = self.path
            raise
        return True

    def sibling(self, name):
        """The Place of another name in this folder; valid as long as this one is open."""
        head, _ = os.path.split(self.path)
        inner = name if self.fd is not None else os.path.join(os.path.dirname(self.name), name)
        return Lent(self.fd, inner, os.path.join(head, name))

    def attributes(self):
        """``{name: value}`` of the extended attributes; empty if the system has none. Linux."""
        seen, attributes = self._seen(), {}
        try:
            names = os.listxattr(seen, follow_symlinks=False)
        except (AttributeError, OSError):
            return attributes
        for name in names:
            try:
                attributes[name] = os.getxattr(seen, name, follow_symlinks=False)
            except OSError:
                continue  # we may not read it
        return attributes

    def set_attribute(self, name, value):
        self._do(os.setxattr, self._seen(), name, value, follow_symlinks=False)

    def _seen(self):
        """A path for this name that goes through the open folder, if the system has such paths."""
        return os.path.join(self.folder or os.path.dirname(self.path), os.path.basename(self.name))

    @property
    def folder(self):
        """A path of the open folder, as working directory for a program; None if the system has no such paths."""
        path = "/proc/self/fd/%d" % (-1 if self.fd is None else self.fd)
        return path if os.path.isdir(path) else None


class Lent(Place):
    """A Place whose folder is closed by another object."""

    __slots__ = ()

    def close(self):
        pass


class Pinned(object):
    """An open file, folder or link, independent of later renames. A context manager that closes it."""

    __slots__ = ("fd", "place")

    def __init__(self, place):
        self.place = place
        self.fd = None
        if PATH and place.fd is not None:
            self.fd = place._do(os.open, place.name, PATH | NOFOLLOW | CLOEXEC, dir_fd=place.fd)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        if self.fd is not None:
            os.close(self.fd)
            self.fd = None

    def stat(self):
        return os.fstat(self.fd) if self.fd is not None else self.place.lstat()

    def expect(self, written):
        """Raise Refused if this is not the file of the stat result ``written``, so that a file that another user put
        there does not get its owner and mode."""
        if not os.path.samestat(self.stat(), written):
            raise Refused("'%s' was exchanged by another user while it was written" % self.place.path)

    def chown(self, uid, gid):
        """Set user and group (-1: do not change); of a link itself, not of its target."""
        place = self.place
        place.guard(self.stat())
        place._changes(content=False)
        if not self._do(os.chown, uid, gid):
            place._do(os.chown, place.name, uid, gid, dir_fd=place.fd, follow_symlinks=False)

    def chmod(self, mode):
        """Set the mode, an integer. Raises Refused for a link."""
        status, place = self.stat(), self.place
        if stat.S_ISLNK(status.st_mode):
            raise place._swapped()
        place.guard(status)
        place._changes(content=False)
        if self._do(os.chmod, mode):
            return
        if os.chmod in os.supports_follow_symlinks:
            place._do(os.chmod, place.name, mode, dir_fd=place.fd, follow_symlinks=False)
            return
        descriptor = place.open(os.O_RDONLY | os.O_NONBLOCK)
        try:
            place._do(os.fchmod, descriptor, mode)
        finally:
            os.close(descriptor)

    def _do(self, function, *args):
        """Call ``function`` with a path of this very file. Returns False if there is none: no descriptor or no
        /proc."""
        if self.fd is None:
            return False
        try:
            function("/proc/self/fd/%d" % self.fd, *args)
        except FileNotFoundError:
            return False
        except OSError as exc:
            raise named(exc, self.place.path)
        return True


def _links_are_protected():
    try:
        with open("/proc/sys/fs/protected_hardlinks", encoding="utf-8") as source:
            return source.read().strip() != "0"
    except OSError:
        return False
