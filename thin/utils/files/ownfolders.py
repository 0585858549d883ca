"""Whether other users can change what a path refers to. If they can, only an open descriptor stays the same file."""

import os

from thin.utils.files import safetree
from thin.utils.files.places import closed, rulers


def others_may_change(path, user=None):
    """The first folder, of ``path`` and those above it, in which users other than root, ourselves and ``user`` can
    exchange files; None if there is none."""
    ours = _ours(user)
    way = os.path.realpath(path)
    while True:
        status = os.lstat(way)
        if not closed(status) and (status.st_uid not in ours or status.st_mode & 0o022):
            return way
        if way == "/":
            return None
        way = os.path.dirname(way)


def changeable(path):
    """A folder above ``path`` or in it, in which another user can create or exchange files; None if there is none."""
    above = others_may_change(os.path.dirname(os.path.realpath(path)))
    if above:
        return above
    ours = _ours(None)
    for folder in safetree.descend(path):
        status = os.fstat(folder.fd)
        if status.st_uid not in ours or status.st_mode & 0o022:
            return folder.path
    return None


def alterable(path):
    """Whether another user can change the content of the file, or replace the file."""
    path = os.path.realpath(path)
    status = os.lstat(path)
    if status.st_uid not in _ours(None) or status.st_mode & 0o022:
        return True
    return others_may_change(os.path.dirname(path)) is not None


def _ours(user):
    uids = rulers() + (os.geteuid(),)
    if user:
        import pwd

        try:
            uids += (pwd.getpwnam(user).pw_uid,)
        except KeyError:
            pass  # the unknown user is reported where it is used
    return uids
