"""Changes files through open folders, so that nobody who exchanges a file, folder or link meanwhile redirects the
change.

Each component of a path is opened relative to the one before it, without following links. Root follows a link only if
nobody else could have made or changed it: root owns the link, and it is in folders that root owns and others cannot
write to (or that are sticky). Any other link on root's way raises ``Refused``. Other users follow links as the system
does. A link as the last component is only followed with ``follow``, by the same rules.

    with safepath.at(path) as place:          # opens the folder that contains it
        descriptor, temporary = place.temporary()
        ...
        place.take(temporary)                 # renames within that folder

``Place`` is a name in an open folder, ``Pinned`` an open file independent of its name. The functions at the end make
one change each; they have the names, arguments and errors of those in ``os``, and raise ``Refused``
(by default, ``makedirs`` accepts an existing folder and ``chown`` changes a link itself).
``thin.utils.files.safetree`` is for trees. For ``open``: ``open(path, "w", opener=safepath.opener)``.
On systems without functions for open folders, the components are checked by their paths before the last one is used.
"""

import errno
import os
import stat

from thin.utils.files.places import A_LINK, FOLDER, NOFOLLOW, PATH, Place, Refused, closed, named, rulers

_LINKS = 40  # the kernel's limit
#: Flags to open a folder on the way: O_PATH, if the system has it, needs no permission to read.
_STEP = (PATH or os.O_RDONLY | os.O_NONBLOCK) | FOLDER | NOFOLLOW
_NO_LINK_THERE = (errno.EINVAL, errno.ENOENT, errno.ENOTDIR)
_FUNCTIONS = {os.open, os.stat, os.unlink, os.rmdir, os.rename, os.mkdir, os.symlink, os.readlink, os.chown, os.link}
BY_DESCRIPTOR = _FUNCTIONS <= os.supports_dir_fd


# -- resolving paths ---------------------------------------------------------------------------------------------------


def at(path, follow=False, below=None):
    """The ``Place`` of a path. Its folder is open until ``close`` or the end of ``with``.

    ``follow``: a link as the last component is followed; the place is that of its target, which need not exist.
    ``below``: a folder that ``path`` is relative to; no link within it is followed, and ``..`` is refused. Raises
    Refused, and OSError for components that are missing or no folders.
    """
    path = os.fspath(path)
    if isinstance(path, bytes):
        path = os.fsdecode(path)
    if not path:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
    if below is not None:
        return _below(os.fspath(below), path)
    if os.geteuid() != 0 or not BY_DESCRIPTOR:
        return _plainly(path, follow)
    return _Way(path if path.startswith("/") else os.path.join(os.getcwd(), path)).walk(path, follow)


class Near(object):
    """``at`` for many paths, sorted by folder: consecutive paths in one folder share the open folder. A Place is valid
    until the next call of ``at``. A context manager that closes the last folder."""

    def __init__(self):
        self._head, self._place = None, None

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        if self._place is not None:
            self._place.close()
            self._place = None

    def at(self, path, follow=False):
        head, name = os.path.split(path)
        if follow or name in ("", ".", ".."):
            return at(path, follow)
        if self._place is None or head != self._head:
            self.__exit__()
            self._head, self._place = head, at(os.path.join(head, "any"))
        return self._place.sibling(name)


def real(path):
    """``os.path.realpath`` for a path that is to be changed. Raises Refused for links that root does not follow. Links
    that are exchanged afterwards are detected by ``at``."""
    path = os.fspath(path)
    path = path if path.startswith("/") else os.path.join(os.getcwd(), path)
    if os.geteuid() != 0 or not BY_DESCRIPTOR:
        check(path)
        return os.path.realpath(path)
    return _Way(path).real(path)


def _below(folder, path):
    steps = [step for step in path.split("/") if step not in ("", ".")]
    if path.startswith("/") or ".." in steps:
        raise Refused("'%s' leads out of the folder '%s'" % (path, folder))
    if not BY_DESCRIPTOR:
        return _plainly(os.path.join(folder, *steps), False)
    shown = os.path.join(folder, *steps)
    with at(folder, follow=True) as top:
        descriptor = top.enter()
    try:
        for count, step in enumerate(steps[:-1], 1):
            try:
                inner = os.open(step, _STEP, dir_fd=descriptor)
            except OSError as exc:
                current = os.path.join(folder, *steps[:count])
                if exc.errno in A_LINK + (errno.ENOTDIR,) and _target(step, descriptor) is not None:
                    raise Refused("'%s' is a link: nothing is done through links in '%s'" % (current, folder))
                raise named(exc, current)
            os.close(descriptor)
            descriptor = inner
    except BaseException:
        os.close(descriptor)
        raise
    return Place(descriptor, steps[-1] if steps else ".", shown)


def _plainly(path, follow):
    """The Place for a user other than root, or without functions for open folders: the system resolves the links."""
    if os.geteuid() == 0:
        _look_along(path, follow)  # root, but no functions for open folders
    real = _followed(path) if follow else path
    head, name = os.path.split(real.rstrip("/"))
    if name in ("", ".", ".."):
        head, name = real, "."
    if not BY_DESCRIPTOR:
        return Place(None, os.path.join(head, name), path)
    try:
        return Place(os.open(head or ".", _STEP & ~NOFOLLOW), name, path)
    except OSError as exc:
        raise named(exc, path)


def _followed(path):
    """The path after following a link, and links to links, as its last component. Raises OSError for too many.

    Not ``realpath``: since Python 3.13 it starts at ``/`` and fails below a folder that this user may not search.
    """
    for _ in range(_LINKS):
        if not os.path.islink(path):
            return path
        path = os.path.join(os.path.dirname(path), os.readlink(path))
    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)


def _look_along(path, follow):
    """Raise Refused for a link that root may not follow. It checks by path, so that later changes are not noticed."""
    todo, current, trusted, links = _steps(os.path.join(os.getcwd(), path)), "/", closed(os.lstat("/")), 0
    while todo:
        step = todo.pop()
        current = os.path.join(current, step) if step != ".." else os.path.dirname(current)
        try:
            status = os.lstat(current)
        except OSError:
            return
        if not stat.S_ISLNK(status.st_mode):
            trusted = trusted and closed(status)
        elif todo or follow:
            links += 1
            if not (trusted and status.st_uid in rulers()):
                raise _refusal(current, status, os.lstat(os.path.dirname(current)))
            if links > _LINKS:
                return
            target = os.readlink(current)
            todo += _steps(target)
            current, trusted = (
                ("/", closed(os.lstat("/"))) if target.startswith("/") else (os.path.dirname(current), True)
            )


def _steps(path):
    """The components of a path in reverse order."""
    return [step for step in reversed(path.split("/")) if step not in ("", ".")]


def _target(step, descriptor):
    """The target of a link, or None if it is no link."""
    try:
        return os.readlink(step, dir_fd=descriptor)
    except OSError as exc:
        if exc.errno in _NO_LINK_THERE:
            return None
        raise


class _Way(object):
    """Resolves a path for root: holds the open folders from ``/`` on, each opened from the one before it. It follows
    links itself."""

    def __init__(self, path):
        self._todo = _steps(path)
        self._names = []
        self._opened = [os.open("/", _STEP)]
        self._links = 0
        self._missing = ""

    def walk(self, path, follow):
        try:
            name = self._walk(follow)
            return Place(self._opened.pop(), name, path)
        except OSError as exc:
            raise exc if isinstance(exc, Refused) else named(exc, path)
        finally:
            self._close()

    def real(self, path):
        try:
            step = self._walk(follow=True)
            return "/" + "/".join(self._names + ([step] if step != "." else []))
        except Refused:
            raise
        except OSError as exc:
            if exc.errno == errno.ELOOP:
                raise Refused("'%s' has too many links in it" % path)
            if exc.errno not in (errno.ENOENT, errno.ENOTDIR):
                raise named(exc, path)
            # a link leads to a path that does not exist
            return os.path.normpath("/" + "/".join(self._names + [self._missing] + self._todo[::-1]))
        finally:
            self._close()

    def _close(self):
        for descriptor in self._opened:
            os.close(descriptor)

    def _walk(self, follow):
        todo, opened = self._todo, self._opened
        while todo:
            step = self._missing = todo.pop()
            if step == "..":
                if self._names:
                    os.close(opened.pop())
                    self._names.pop()
            elif todo:
                self._enter(step)
            else:
                target = _target(step, opened[-1]) if follow else None
                if target is None:
                    return step
                self._follow(step, target)
        return "."

    def _enter(self, step):
        try:
            self._opened.append(os.open(step, _STEP, dir_fd=self._opened[-1]))
            self._names.append(step)
        except OSError as exc:
            if exc.errno not in A_LINK and exc.errno != errno.ENOTDIR:
                raise
            target = _target(step, self._opened[-1])
            if target is None:
                raise exc
            self._follow(step, target)

    def _follow(self, step, target):
        status = os.stat(step, dir_fd=self._opened[-1], follow_symlinks=False)
        folders = [os.fstat(descriptor) for descriptor in self._opened]
        open_to = [folder for folder in folders if not closed(folder)]
        if open_to or status.st_uid not in rulers():
            raise _refusal("/" + "/".join(self._names + [step]), status, (open_to or folders)[-1])
        self._links += 1
        if self._links > _LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        if target.startswith("/"):
            while self._names:
                os.close(self._opened.pop())
                self._names.pop()
        self._todo += _steps(target)


def _user(uid):
    """The name of a user, or the uid if there is none."""
    try:
        import pwd

        return pwd.getpwuid(uid).pw_name
    except (ImportError, KeyError, OverflowError):
        return uid


def _refusal(link, status, folder):
    if status.st_uid not in rulers():
        whose = "a link of the user %s" % _user(status.st_uid)
    elif folder.st_uid not in rulers():
        whose = "a link in a folder of the user %s" % _user(folder.st_uid)
    else:
        whose = "a link in a folder that other users can write to"
    return Refused(
        "'%s' is %s: root follows only links that no other user can change. Use the path that it leads to, or give "
        "the link and the folders above it to root" % (link, whose)
    )


# -- single changes ----------------------------------------------------------------------------------------------------


def opener(path, flags):
    """For ``open(path, mode, opener=safepath.opener)``: follows a link only where root may follow it."""
    with at(path, follow=True) as place:
        return place.open(flags) if flags & (os.O_WRONLY | os.O_RDWR) else place.open_to_read()


def temporary(folder, suffix="", prefix=".pushsalt-", programs=False):
    """(descriptor, path) of a new empty file, 0600, with an unpredictable name. Without a folder:
    ``osutil.mkstemp``."""
    if not folder:
        from thin.utils.files import osutil

        return osutil.mkstemp(prefix, suffix, programs)
    with at(os.path.join(folder, "any")) as place:
        descriptor, name = place.temporary(suffix, prefix)
    return descriptor, os.path.join(folder, os.path.basename(name))


def read(path, follow=True):
    """The content of a file. Raises OSError."""
    with at(path, follow) as place:
        return place.read()


def chown(path, uid, gid, follow=False):
    with at(path, follow) as place, place.pin() as pinned:
        pinned.chown(uid, gid)


def chmod(path, mode, follow=True):
    with at(path, follow) as place, place.pin() as pinned:
        pinned.chmod(mode)


def utime(path, times=None, ns=None, follow=True):
    with at(path, follow) as place:
        place.utime(times, ns)


def unlink(path):
    with at(path) as place:
        place.unlink()


def rmdir(path):
    with at(path) as place:
        place.rmdir()


def remove(path):
    """Remove a file or link, or a folder with its content. Returns False if nothing was there. Raises OSError."""
    try:
        with at(path) as place:
            return place.remove()
    except (FileNotFoundError, NotADirectoryError):
        return False


def mkdir(path, mode=0o777):
    with at(path) as place:
        place.mkdir(mode)


def makedirs(path, mode=0o777, exist_ok=True):
    """Create the folder and the missing ones above it."""
    parent = os.path.dirname(os.path.normpath(path))
    if parent and not os.path.lexists(parent):
        makedirs(parent, exist_ok=True)
    try:
        mkdir(path, mode)
    except FileExistsError:
        if not (exist_ok and os.path.isdir(path)):
            raise


def mknod(path, mode, device=0):
    with at(path) as place:
        place.mknod(mode, device)


def symlink(target, path):
    with at(path) as place:
        place.symlink(target)


def link(source, path):
    """Make a hard link ``path`` to the file ``source`` (to a link itself, if it is one)."""
    with at(source) as old, at(path) as new:
        old.link(new)


def rename(source, path):
    with at(source) as old, at(path) as new:
        old.rename(new)


def check(path, follow=True):
    """Raise Refused if a change of the path would be refused. Of a path that does not exist, the existing part is
    checked."""
    try:
        at(path, follow).close()
    except Refused:
        raise
    except OSError:
        pass
