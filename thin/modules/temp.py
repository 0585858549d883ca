"""New temporary files and directories. Salt: modules/temp.py"""

import os

from thin.utils.files import osutil, safepath

__changes__ = ("dir", "file")


def dir(suffix="", prefix="tmp", parent=None):
    """
    Create a directory that only this user can enter; returns its path

    suffix, prefix
        End and beginning of its name
    parent
        The directory that contains it

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' temp.dir prefix=app- parent=/srv/tmp
    """
    while True:
        path = os.path.join(parent or osutil.tempdir(), "%s%s%s" % (prefix, os.urandom(6).hex(), suffix))
        try:
            safepath.mkdir(path, 0o700)
            return path
        except FileExistsError:
            continue


def file(suffix="", prefix="tmp", parent=None):
    """
    Create an empty file that only this user can read; returns its path

    suffix, prefix
        End and beginning of its name
    parent
        The directory that contains it

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' temp.file prefix=app- parent=/srv/tmp
    """
    descriptor, path = safepath.temporary(parent, suffix, prefix)
    os.close(descriptor)
    return path
