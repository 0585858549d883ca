"""New temporary files and directories. Salt: modules/temp.py"""

import os

from thin.utils.files import osutil, safepath

__changes__ = ("dir", "file")


def dir(suffix="", prefix="tmp", parent=None):
    """
    Make a directory that only we may enter; its path

    suffix, prefix
        What its name ends and begins with
    parent
        Where it lies

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
    Make an empty file that only we may read; its path

    suffix, prefix
        What its name ends and begins with
    parent
        Where it lies

    CLI Example:

    .. code-block:: bash

        pushsalt run '*' temp.file prefix=app- parent=/srv/tmp
    """
    descriptor, path = safepath.temporary(parent, suffix, prefix)
    os.close(descriptor)
    return path
