"""How the functions of the file execution module take their arguments."""

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
    """The lines of ``f(path, "a", "b")`` or ``f(path, args=["a", "b"])``."""
    if "args" in kwargs:
        return kwargs["args"] if isinstance(kwargs["args"], list) else [kwargs["args"]]
    return args


def cachedir(opts):
    """Where backups, web sources and what else modules keep lie on the target: in our private folder there (see
    thin.worker), unless ``cachedir`` is configured or there is no such folder."""
    return opts.get("cachedir") or "/var/cache/salt/minion"
