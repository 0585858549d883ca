"""Extracts archives in a private folder, and moves the result into place through open directories.

    with unpacking.Stage(dest) as stage:
        ...  # a program that runs in stage.folder and extracts into stage.name
        stage.check("a.tar", allow_setid=False, ...)
        stage.place(explicit)

The stage is a folder of mode 0700 within ``dest`` (or above it, if ``dest`` does not exist), so that its content only
needs to be renamed. Programs reach it by its open descriptor, never by its path, because the owner of ``dest`` can
rename the stage and put another folder in its place. What was extracted is checked again before it is moved, because a
program may read an archive otherwise than pushsalt does.

    .pushsalt-extract-<random>/      0700, ours, locked while in use
        <random>/                    the content of the archive; owner and mode may be those of the archive's "."
"""

import errno
import os
import stat

from thin.utils.archives import archivemembers
from thin.utils.files import osutil, safepath
from thin.utils.files.places import A_LINK, LISTED, NOFOLLOW, named
from thin.utils.programs.commands import OpenFolder

PREFIX = ".pushsalt-extract-"
#: The maximum depth of folders in an archive: each level needs two open folders.
DEPTH = 200
_COPIED = 1 << 18


class Held(object):
    """Files to move: from the open folder ``tree`` to the open folder ``dest``, whose path is ``path``. ``base`` is the
    open folder that contains the stage."""

    def __init__(self, path):
        self.path = path
        self.base = self.dest = self.tree = None
        self.times = None  # (atime, mtime) of ``dest`` to set at the end
        self.folders = {}  # path below ``tree`` -> stat result, from before anything was moved

    def check(self, name, **allowed):
        """The error text if the archive ``name`` extracted something that is not allowed, or "". ``allowed``: the
        arguments of ``archivemembers.refusal``."""
        wrong, names = [], {}
        inherited = os.fstat(self.base).st_mode & stat.S_ISGID
        for path, status in self._all(self.tree, "", DEPTH):
            kind = stat.S_IFMT(status.st_mode)
            if kind == stat.S_IFDIR:
                bits = archivemembers.special_bits(status.st_mode & ~inherited)
            else:
                if status.st_nlink > 1:
                    same = names.setdefault(status.st_ino, [status.st_nlink, path])
                    same[0] -= 1
                bits = archivemembers.special_bits(status.st_mode) if kind == stat.S_IFREG else ""
            if kind in archivemembers.SPECIAL:
                wrong.append((path, "is %s" % archivemembers.SPECIAL[kind], "allow_devices"))
            elif bits:
                wrong.append((path, "has the " + bits, "allow_setid"))
        for left, path in names.values():
            if left:
                wrong.append((path, "is a hard link to a file outside of it", "allow_outside"))
        return archivemembers.sentence(name, [fault for fault in wrong if not allowed.get(fault[2])])

    def _all(self, descriptor, path, depth):
        """Yield (path, stat) of everything in an open folder."""
        for name in sorted(os.listdir(descriptor)):
            inner = path + "/" + name if path else name
            status = os.lstat(name, dir_fd=descriptor)
            yield inner, status
            if not stat.S_ISDIR(status.st_mode):
                continue
            if not depth:
                raise OSError(errno.ENAMETOOLONG, "The archive has more than %d levels of directories" % DEPTH, inner)
            self.folders[inner] = status
            if os.geteuid():  # not root: we need access, whatever mode the archive set
                os.chmod(name, 0o700, dir_fd=descriptor)
            below = os.open(name, LISTED, dir_fd=descriptor)
            try:
                for pair in self._all(below, inner, depth - 1):
                    yield pair
            finally:
                os.close(below)

    def look(self):
        """Record the folders as ``check`` does, without checks."""
        for _ in self._all(self.tree, "", DEPTH):
            pass

    def place(self, explicit=(), owners=True):
        """Move everything into the folder. ``explicit``: the paths of folders that get the archive's mode (with
        ``owners`` also its owner and time) even if they existed before; "" is ``dest`` itself. Raises OSError,
        Refused."""
        _Placing(self, frozenset(explicit), owners).run()


class Stage(Held):
    """A context manager with the private folder. ``folder``: where programs run; ``name``: the folder that they extract
    into, relative to it; ``inside``: that folder. Call ``check`` or ``look`` before ``place`` if there may be folders.
    Raises OSError.

    ``anew``: the caller removes and creates ``dest`` before ``place``. Then, or if ``dest`` does not exist, the stage
    is in the nearest existing folder above it."""

    def __init__(self, dest, anew=False):
        super(Stage, self).__init__(dest)
        self._above = os.path.dirname(dest.rstrip("/")) if anew else dest
        while not os.path.isdir(self._above) and self._above not in ("", "/"):
            self._above = os.path.dirname(self._above.rstrip("/"))
        self.outer = None
        self._own = PREFIX + os.urandom(12).hex()
        self.name = os.urandom(12).hex()

    def __enter__(self):
        try:
            with safepath.at(self._above, follow=True) as place:
                self.base = place.enter()
            if self._above == self.path:
                self.dest = os.dup(self.base)
            self._sweep()
            os.mkdir(self._own, 0o700, dir_fd=self.base)
            self.outer = os.open(self._own, LISTED, dir_fd=self.base)
            status = os.fstat(self.outer)
            if status.st_uid != os.geteuid() or status.st_mode & 0o077:
                raise safepath.Refused("'%s' was exchanged by another user while it was extracted to" % self.path)
            _locked(self.outer)
            os.mkdir(self.name, dir_fd=self.outer)
            self.tree = os.open(self.name, LISTED, dir_fd=self.outer)
        except OSError as exc:
            self.__exit__()
            raise exc if isinstance(exc, safepath.Refused) else named(exc, self.path)
        self.folder = OpenFolder(self.outer, self.path)
        self.inside = OpenFolder(self.tree, self.path)
        return self

    def place(self, explicit=(), owners=True):
        if self.dest is None:
            with safepath.at(self.path, follow=True) as place:
                self.dest = place.enter()
        super(Stage, self).place(explicit, owners)

    def __exit__(self, *exc):
        if self.outer is not None:
            _clear(self.outer)
            os.close(self.outer)
        if self.tree is not None:
            os.close(self.tree)
        if self.base is not None:
            try:
                os.rmdir(self._own, dir_fd=self.base)
            except OSError:
                pass  # the owner of the folder moved it away: it is empty
            os.close(self.base)
        if self.dest is not None:
            if self.times:
                os.utime(self.dest, ns=self.times)  # path: an open folder
            os.close(self.dest)
        self.base = self.dest = self.outer = self.tree = None

    def _sweep(self):
        """Remove the stages of processes that were killed."""
        for name in os.listdir(self.base):
            if name.startswith(PREFIX):
                try:
                    descriptor = os.open(name, LISTED, dir_fd=self.base)
                except OSError:
                    continue
                status = os.fstat(descriptor)
                if status.st_uid == os.geteuid() and not status.st_mode & 0o077 and _locked(descriptor):
                    _clear(descriptor)
                    try:
                        os.rmdir(name, dir_fd=self.base)
                    except OSError:
                        pass
                os.close(descriptor)


def move(source, dest):
    """Move the content of our own folder ``source`` into the folder ``dest``, by open folders. ``dest`` is created if
    it is missing, and gets the owner and mode of ``source``. Raises OSError, Refused."""
    held = Held(dest)
    try:
        with safepath.at(dest, follow=True) as place:
            if place.look() is None:
                place.mkdir(0o700)
            held.dest = place.enter()
        held.tree = os.open(source, LISTED)
        held.look()
        held.place([""])
    finally:
        for descriptor in (held.dest, held.tree):
            if descriptor is not None:
                os.close(descriptor)


def _locked(descriptor):
    """Lock the folder against removal by others; False if another process has locked it."""
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as exc:
        return exc.errno not in (errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES)
    return True


def _clear(descriptor):
    """Remove the content of a stage."""
    for name in os.listdir(descriptor):
        try:
            if os.geteuid():
                _open_up(descriptor, name)
            osutil.rmtree(name, ignore_errors=True, dir_fd=descriptor)
        except OSError:
            pass


def _open_up(above, name):
    """Give ourselves, without root's rights, access to a folder of a stage and to all folders in it."""
    os.chmod(name, 0o700, dir_fd=above)
    inner = os.open(name, LISTED, dir_fd=above)
    try:
        for entry in os.listdir(inner):
            if stat.S_ISDIR(os.lstat(entry, dir_fd=inner).st_mode):
                _open_up(inner, entry)
    finally:
        os.close(inner)


class _Placing(object):
    """Moves the content of a stage into its folder."""

    def __init__(self, stage, explicit, owners):
        self.stage, self.explicit, self.owners = stage, explicit, owners

    def run(self):
        stage, wanted = self.stage, os.fstat(self.stage.tree)
        self._folder("", stage.tree, stage.dest)
        if "" in self.explicit:
            self._dress(stage.dest, wanted, False)
            stage.times = (wanted.st_atime_ns, wanted.st_mtime_ns) if self.owners else None

    def _folder(self, path, source, dest):
        """Move the content of the open folder ``source`` into ``dest``; ``path`` is their path within the archive."""
        for name in sorted(os.listdir(source)):
            inner = path + "/" + name if path else name
            status = os.lstat(name, dir_fd=source)
            try:
                if stat.S_ISDIR(status.st_mode):
                    self._subfolder(inner, name, source, dest)
                else:
                    _move(name, source, dest, status)
            except safepath.Refused:
                raise
            except OSError as exc:
                raise exc if exc.filename and str(exc.filename).startswith("/") else named(exc, self._shown(inner))

    def _shown(self, path):
        return os.path.join(self.stage.path, path)

    def _subfolder(self, path, name, source, dest):
        wanted = self.stage.folders[path]
        try:
            os.mkdir(name, 0o700, dir_fd=dest)
            made = True
        except FileExistsError:
            made = False
        below = None
        ours = os.open(name, LISTED, dir_fd=source)
        try:
            below = self._open(path, name, dest)
            self._folder(path, ours, below)
            if made or path in self.explicit:
                self._dress(below, wanted, made)
        finally:
            os.close(ours)
            if below is not None:
                os.close(below)

    def _open(self, path, name, dest):
        """Open the folder in ``dest``; a link to a folder is followed if no other user can change it."""
        try:
            return os.open(name, LISTED, dir_fd=dest)
        except OSError as exc:
            if exc.errno not in A_LINK + (errno.ENOTDIR,):
                raise
        if not stat.S_ISLNK(os.lstat(name, dir_fd=dest).st_mode):
            raise OSError(errno.ENOTDIR, "What is there is no directory", self._shown(path))
        with safepath.at(self._shown(path), follow=True) as place:
            return place.enter()

    def _dress(self, descriptor, wanted, made):
        """Set owner, mode and times. The owner comes first: chown clears setuid and setgid."""
        now = os.fstat(descriptor)
        if (made or self.owners) and (now.st_uid, now.st_gid) != (wanted.st_uid, wanted.st_gid):
            os.fchown(descriptor, wanted.st_uid, wanted.st_gid)
        if stat.S_IMODE(os.fstat(descriptor).st_mode) != stat.S_IMODE(wanted.st_mode):
            os.fchmod(descriptor, stat.S_IMODE(wanted.st_mode))
        if made or self.owners:
            os.utime(descriptor, ns=(wanted.st_atime_ns, wanted.st_mtime_ns))


def _move(name, source, dest, status):
    """Rename a file, link or device from the temporary folder over an existing one in ``dest``, as tar would replace
    it.
    """
    try:
        os.rename(name, name, src_dir_fd=source, dst_dir_fd=dest)
    except (IsADirectoryError, FileExistsError):
        os.rmdir(name, dir_fd=dest)  # an empty directory is replaced
        os.rename(name, name, src_dir_fd=source, dst_dir_fd=dest)
    except OSError as exc:
        if exc.errno != errno.EXDEV:
            raise
        _carry(name, source, dest, status)


def _carry(name, source, dest, status):
    """As ``_move``, if ``dest`` is on another file system: copy, then rename."""
    new = ".pushsalt-" + os.urandom(12).hex()
    try:
        if stat.S_ISREG(status.st_mode):
            _copied(name, source, new, dest, status)
        else:
            if stat.S_ISLNK(status.st_mode):
                os.symlink(os.readlink(name, dir_fd=source), new, dir_fd=dest)
            else:
                os.mknod(new, status.st_mode, status.st_rdev, dir_fd=dest)
            os.chown(new, status.st_uid, status.st_gid, dir_fd=dest, follow_symlinks=False)
            os.utime(new, ns=(status.st_atime_ns, status.st_mtime_ns), dir_fd=dest, follow_symlinks=False)
        try:
            os.rename(new, name, src_dir_fd=dest, dst_dir_fd=dest)
        except (IsADirectoryError, FileExistsError):
            os.rmdir(name, dir_fd=dest)
            os.rename(new, name, src_dir_fd=dest, dst_dir_fd=dest)
    except BaseException:
        try:
            os.unlink(new, dir_fd=dest)
        except OSError:
            pass
        raise


def _copied(name, source, new, dest, status):
    content = os.open(name, os.O_RDONLY | NOFOLLOW, dir_fd=source)
    try:
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | NOFOLLOW, 0o600, dir_fd=dest)
        try:
            for piece in iter(lambda: os.read(content, _COPIED), b""):
                while piece:
                    piece = piece[os.write(descriptor, piece) :]
            now = os.fstat(descriptor)
            if (now.st_uid, now.st_gid) != (status.st_uid, status.st_gid):
                os.fchown(descriptor, status.st_uid, status.st_gid)
            os.fchmod(descriptor, stat.S_IMODE(status.st_mode))
            os.utime(descriptor, ns=(status.st_atime_ns, status.st_mtime_ns))
        finally:
            os.close(descriptor)
    finally:
        os.close(content)
