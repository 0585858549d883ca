"""Reads and sets access and modification times of files."""

import os
import time

from thin.exceptions import CommandExecutionError, SaltInvocationError
from thin.utils.files import safepath


def seconds(value):
    """A time as integer from a number or text; None is the current time. Raises SaltInvocationError."""
    if value is None:
        return time.time()
    try:
        return int(value)
    except (TypeError, ValueError):
        raise SaltInvocationError("atime and mtime must be integers")


def differ(path, atime, mtime):
    """Whether the file's times differ from the wanted ones (None: any)."""
    st = os.lstat(path)
    pairs = ((atime, st.st_atime), (mtime, st.st_mtime))
    return any(wanted is not None and str(wanted) != str(now) for wanted, now in pairs)


def touch(path, atime=None, mtime=None):
    """Create the file if it is missing, and set its times, by default to now. Raises CommandExecutionError."""
    times = None if atime is None and mtime is None else (seconds(atime), seconds(mtime))
    try:
        with safepath.at(path, follow=True) as place:
            if place.look() is None:
                os.close(place.open(os.O_WRONLY | os.O_CREAT))
            place.utime(times)
    except OSError as exc:
        raise CommandExecutionError(exc.strerror)
    return os.path.exists(path)
