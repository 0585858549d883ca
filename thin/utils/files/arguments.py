"""Conversion of arguments, for the functions of the file execution module."""

import os

from thin.exceptions import SaltInvocationError


def expand(path):
    """The path with ``~`` and ``~user`` replaced."""
    return os.path.expanduser(path)


def absolute(path, words="File path must be absolute."):
    """The expanded path. Raises SaltInvocationError for a relative one."""
    path = os.path.expanduser(path)
    if not os.path.isabs(path):
        raise SaltInvocationError(words)
    return path


def lines_given(args, kwargs):
    """The lines from the arguments of ``f(path, "a", "b")`` or ``f(path, args=["a", "b"])``."""
    if "args" in kwargs:
        return kwargs["args"] if isinstance(kwargs["args"], list) else [kwargs["args"]]
    return args


def cachedir(opts):
    """The directory on the target for backups, web sources and other files that modules keep.

    It is below the private directory (see thin.worker), unless ``cachedir`` is configured. Without a private directory
    it is Salt's /var/cache/salt/minion."""
    return opts.get("cachedir") or "/var/cache/salt/minion"
