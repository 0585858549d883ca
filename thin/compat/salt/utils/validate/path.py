"""Salt: ``salt/utils/validate/path.py``."""

import os


def is_writeable(path, check_parent=False):
    """Whether a path is writable, or with ``check_parent`` its folder if it does not exist."""
    if os.access(path, os.F_OK):
        return os.access(path, os.W_OK)
    return check_parent and os.access(os.path.dirname(path) or os.getcwd(), os.W_OK)


def is_readable(path):
    return os.access(path, os.F_OK) and os.access(path, os.R_OK)


def is_executable(path):
    return os.access(path, os.F_OK) and os.access(path, os.X_OK)
