"""Paths. Salt: ``salt/utils/path.py``."""

import os
import posixpath


def islink(path):
    return os.path.islink(path)


def readlink(path):
    """The target of a link. Raises OSError if the path is no link."""
    return os.readlink(path)


def which(exe=None):
    """The path of a program, or None."""
    if not exe:
        return None
    if os.path.isabs(exe):
        return exe if _executable(exe) else None
    folders = os.environ.get("PATH", "").split(os.pathsep)
    for folder in dict.fromkeys(folders + ["/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/local/bin"]):
        full = os.path.join(folder, exe)
        if folder and _executable(full):
            return full
    return None


def _executable(path):
    return os.path.isfile(path) and os.access(path, os.X_OK)


def which_bin(exes):
    """The path of the first of these programs that exists, or None."""
    if isinstance(exes, str):
        exes = [exes]
    if not hasattr(exes, "__iter__"):
        return None
    return next((path for path in map(which, exes) if path), None)


def check_or_die(command):
    """Raise CommandNotFoundError if there is no such program."""
    from thin.exceptions import CommandNotFoundError

    if command is None:
        raise CommandNotFoundError("'None' is not a valid command.")
    if not which(command):
        raise CommandNotFoundError("'%s' is not in the path" % command)


def join(*parts, **kwargs):
    """The parts as one normalized path; a later part that begins with a slash is relative, too."""
    if not parts:
        return ""
    first, rest = parts[0], [part.lstrip("/") for part in parts[1:]]
    return posixpath.normpath(posixpath.join(first, *rest)) if rest else posixpath.normpath(first)


def safe_path(path, allow_path=None):
    """Whether a path, with its links resolved, is in ``allow_path`` (by default the working directory)."""
    root = os.path.realpath(allow_path or os.getcwd())
    return os.path.commonpath([root, os.path.realpath(path)]) == root


def sanitize_win_path(winpath):
    return winpath


def os_walk(top, *args, **kwargs):
    return os.walk(top, *args, **kwargs)


def expand(path):
    """The path with ``~`` and variables expanded."""
    return os.path.expandvars(os.path.expanduser(path))
