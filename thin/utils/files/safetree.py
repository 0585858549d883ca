"""Walks trees through open folders: no link in them is followed, even if folders are exchanged for links meanwhile."""

import errno
import os
import stat

from thin.utils.files.places import A_LINK, LISTED, Lent, named
from thin.utils.files.safepath import at


class Folder(object):
    """An open folder of a tree. ``folders`` and ``others`` are names; a link is one of the others. Remove names from
    ``folders`` to skip them. ``place(name)`` is valid until the iteration goes on to the next folder."""

    __slots__ = ("fd", "folders", "others", "path")

    def __init__(self, path, fd):
        self.path = path
        self.fd = fd
        self.folders, self.others = [], []
        for name in os.listdir(fd):
            try:
                kind = os.stat(name, dir_fd=fd, follow_symlinks=False).st_mode
            except FileNotFoundError:
                continue
            (self.folders if stat.S_ISDIR(kind) else self.others).append(name)

    def place(self, name):
        """The Place of a name; it need not be closed."""
        return Lent(self.fd, name, os.path.join(self.path, name))


def descend(path, follow=True, failed=None):
    """Yield each ``Folder`` of a tree, ``path`` first. No link below ``path`` is followed.

    A folder that was removed or replaced by a link meanwhile is skipped. Raises Refused and OSError for ``path``
    itself, and for unreadable folders below it; the latter are passed to ``failed(path, error)`` instead, if it is
    given.
    """
    with at(path, follow) as top:
        entry = _Open(path, top.enter(), None)
    todo = [entry]
    try:
        while todo:
            entry = todo.pop()
            try:
                if not entry.opened():
                    continue
                folder = Folder(entry.path, entry.fd)
            except OSError as exc:
                if failed is None or entry.is_top:
                    raise
                entry.close_when_done()
                failed(entry.path, exc)
                continue
            yield folder
            entry.waiting = len(folder.folders)
            todo += [_Open(os.path.join(entry.path, name), name, entry) for name in reversed(folder.folders)]
            entry.close_when_done()
    finally:
        for left in [entry] + todo:
            left.close()


class _Open(object):
    """An open folder, or the name of one in its parent ``_above``. ``waiting``: the number of subfolders that are not
    open yet; they need this one."""

    __slots__ = ("_above", "_name", "fd", "path", "waiting")

    def __init__(self, path, source, above):
        self.path = path
        self.fd, self._name = (source, None) if above is None else (None, source)
        self.waiting = 0
        self._above = above

    @property
    def is_top(self):
        return self._above is None

    def opened(self):
        above = self._above
        if above is None:
            return True
        try:
            self.fd = os.open(self._name, LISTED, dir_fd=above.fd)
        except OSError as exc:
            if exc.errno not in A_LINK + (errno.ENOENT, errno.ENOTDIR):
                raise named(exc, self.path)
        finally:
            above.waiting -= 1
            above.close_when_done()
        return self.fd is not None

    def close_when_done(self):
        if not self.waiting and self.fd is not None:
            os.close(self.fd)
            self.fd = None

    def close(self):
        """Close this one and all above it."""
        entry = self
        while entry is not None:
            entry.waiting = 0
            entry.close_when_done()
            entry = entry._above


def own_tree(path, uid, gid, follow=True):
    """Give ``path`` and its content to an owner (-1: do not change); links themselves, not their targets."""
    for folder in descend(path, follow):
        for name in folder.others:
            try:
                with folder.place(name).pin() as pinned:
                    pinned.chown(uid, gid)
            except FileNotFoundError:
                continue
        os.chown(folder.fd, uid, gid)
