"""Temporary files, and removal of directories, for Pythons without ``shutil`` and ``tempfile``."""

import errno
import os
import stat

_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_NONBLOCK | getattr(os, "O_CLOEXEC", 0)

#: The mode of a temporary file that is the only complete copy of a file being written: ``sweep`` leaves it.
ONLY_COPY = 0o400


def tempdir(programs=False):
    """The directory for temporary files: that of the environment, else /tmp or /var/tmp. Raises OSError if there is
    none.

    A directory in which others could exchange our files (owned by another user, or writable by others and not sticky)
    is only used if there is no other. ``programs``: programs can be executed in it, and nobody else can exchange them.
    """
    wanted = [os.environ.get(name) for name in ("TMPDIR", "TEMP", "TMP")] + ["/tmp", "/var/tmp"]
    result = [
        path
        for path in wanted + (["/run", "/dev/shm"] if programs else [])
        if path and os.path.isabs(path) and os.path.isdir(path) and os.access(path, os.W_OK | os.X_OK)
    ]
    safe = [path for path in result if _ours_stay(path)]
    if programs:
        safe = [path for path in safe if not os.statvfs(path).f_flag & getattr(os, "ST_NOEXEC", 0)]
        if not safe:
            raise PermissionError(
                errno.EACCES,
                "No directory for temporary programs: each is mounted noexec, or others can change what "
                "is in it. Set TMPDIR to one where programs may run",
                ", ".join(result),
            )
    if not safe + result:
        raise FileNotFoundError("no directory for temporary files can be written to")
    return (safe + result)[0]


def _ours_stay(path):
    """Whether no other user can rename or remove our files in the directory."""
    status = os.stat(path)
    writable = status.st_mode & 0o022 and not status.st_mode & stat.S_ISVTX
    return status.st_uid in (0, os.geteuid(), os.stat("/").st_uid) and not writable


def _unforeseen():
    """An unpredictable part of a file name. It begins with the worker's session id, by which ``sweep`` finds it."""
    return "%d-%s" % (os.getsid(0), os.urandom(12).hex())


def sweep(session):
    """Remove the temporary files and directories of a killed worker, except for those with the mode ONLY_COPY. Never
    raises. ``session``: the worker's session id."""
    import re

    wanted = re.compile(r"(?!__pushsalt_bg_)[\w.-]*?(?<![0-9a-f])%d-[0-9a-f]{24}(\.\w+)*" % session)
    for folder in {os.environ.get("TMPDIR") or "/tmp", "/tmp", "/var/tmp", "/run", "/dev/shm"}:
        try:
            top = os.open(folder, _FOLDER)
        except OSError:
            continue
        try:
            for name in os.listdir(top):
                if wanted.fullmatch(name):
                    _swept(name, top)
        except OSError:
            pass
        finally:
            os.close(top)


def _swept(name, top):
    try:
        status = os.lstat(name, dir_fd=top)
        if status.st_uid != os.geteuid() and os.geteuid():
            return
        if stat.S_ISREG(status.st_mode) and stat.S_IMODE(status.st_mode) == ONLY_COPY:
            return
        if stat.S_ISDIR(status.st_mode):
            rmtree(name, ignore_errors=True, dir_fd=top)
        else:
            os.unlink(name, dir_fd=top)
    except OSError:
        pass


def mkstemp(prefix=".pushsalt-", suffix="", programs=False):
    """(fd, path) of a new empty file, 0600, with an unpredictable name. ``programs``: see ``tempdir``. For a file in a
    given folder use ``safepath.temporary``. Raises OSError."""
    directory = tempdir(programs)
    while True:
        path = os.path.join(directory, "%s%s%s" % (prefix, _unforeseen(), suffix))
        try:
            return os.open(path, _NEW, 0o600), path
        except FileExistsError:
            continue


def mkdtemp(directory=None, prefix="pushsalt-", mode=0o700):
    """The path of a new private directory with an unpredictable name. Raises OSError.

    ``mode``: 0711 lets another user, who gets files in it, read these but not add or replace any."""
    directory = directory or tempdir()
    while True:
        path = os.path.join(directory, prefix + _unforeseen())
        try:
            os.mkdir(path, 0o700)
            if mode != 0o700:
                os.chmod(path, mode)  # independent of the umask
            return path
        except FileExistsError:
            continue


def rmtree(path, ignore_errors=False, dir_fd=None):
    """Remove a directory with its content. Links are removed and not followed: each directory is opened from its
    parent, so that exchanging one for a link has no effect. Raises OSError, also if ``path`` is a link.

    ``ignore_errors``: continue after an error. Without ``dir_fd``, no other user may be able to change the folders
    above ``path``; ``safepath.remove`` has no such condition.
    """
    name = os.path.normpath(path)
    try:
        todo = [_Opened(name, dir_fd)]
    except OSError:
        if ignore_errors:
            return
        raise
    try:
        while todo:
            folder = todo[-1]
            inner = None
            try:
                inner = folder.step()
                if inner is None:
                    todo.pop().close()
                    if todo:
                        os.rmdir(folder.name, dir_fd=todo[-1].descriptor)
                    else:
                        os.rmdir(name, dir_fd=dir_fd)
            except OSError:
                if not ignore_errors:
                    raise
            if inner:
                todo.append(inner)
    finally:
        for folder in todo:
            folder.close()


class _Opened(object):
    """A directory that is being emptied. ``step`` removes entries up to the next subdirectory, and returns this opened;
    None if nothing is left."""

    def __init__(self, name, above=None):
        self.name = name
        self.descriptor = os.open(name, _FOLDER, dir_fd=above)
        try:
            self.entries = os.listdir(self.descriptor)
        except OSError:
            os.close(self.descriptor)
            raise

    def step(self):
        while self.entries:
            name = self.entries.pop()
            if stat.S_ISDIR(os.lstat(name, dir_fd=self.descriptor).st_mode):
                return _Opened(name, self.descriptor)
            os.unlink(name, dir_fd=self.descriptor)
        return None

    def close(self):
        os.close(self.descriptor)
