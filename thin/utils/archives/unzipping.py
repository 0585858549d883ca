"""Writes the members of a zip archive through open folders."""

import os
import stat

from thin.utils.archives import archivemembers, zips
from thin.utils.files import safepath
from thin.utils.files.places import FOLDER, NOFOLLOW

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | NOFOLLOW


class Inside(object):
    """Resolves members to places below the open folder ``top``, through no link."""

    def __init__(self, top):
        self.top = top

    def place(self, name):
        """The Place of a member; missing folders are created."""
        from thin.utils.files.places import Place

        way = archivemembers.parts(name) or ["."]
        descriptor = os.dup(self.top)
        try:
            for step in way[:-1]:
                try:
                    os.mkdir(step, dir_fd=descriptor)
                except FileExistsError:
                    pass
                inner = os.open(step, os.O_RDONLY | FOLDER | NOFOLLOW, dir_fd=descriptor)
                os.close(descriptor)
                descriptor = inner
        except BaseException:
            os.close(descriptor)
            raise
        return Place(descriptor, way[-1], name)


class Anywhere(object):
    """Resolves members to the paths that their names say, relative to the folder ``dest``."""

    def __init__(self, dest):
        self.dest = dest

    def place(self, name):
        path = os.path.join(self.dest, name)
        safepath.makedirs(os.path.dirname(os.path.normpath(path)) or "/")
        return safepath.at(path)


def all_of(stream, members, password, extract_perms, where):
    """Write all members. Raises ZipError, OSError."""
    umask = os.umask(0)
    os.umask(umask)
    for member in members:
        with where.place(member.name) as place:
            _write(stream, member, place, password)
            if extract_perms and member.kind == "file":
                _chmod(place, member, 0o666 & ~umask)
    if extract_perms:
        for member in reversed(members):  # children before their parents
            if member.kind == "dir":
                with where.place(member.name) as place:
                    _chmod(place, member, 0o777 & ~umask)


def _chmod(place, member, otherwise):
    with place.pin() as pinned:
        pinned.chmod(stat.S_IMODE(member.mode) if member.mode else otherwise)


def _write(stream, member, place, password):
    if member.kind == "dir":
        try:
            place.mkdir()
        except FileExistsError:
            pass
        return
    if place.look() is not None:
        place.unlink()
    pieces = zips.pieces(stream, member, password)
    if member.kind == "link":
        place.symlink(b"".join(pieces).decode("utf-8", "surrogateescape"))
        return
    first = next(pieces, b"")  # before the file is created: a wrong password leaves no file
    with os.fdopen(place.open(_NEW), "wb") as target:
        target.write(first)
        for piece in pieces:
            target.write(piece)
