"""Small text files of the system, read as text and written whole.

Bytes that are no UTF-8 survive a read and a write; line ends stay as they are.
"""

import os

from thin.exceptions import CommandExecutionError
from thin.utils.files import safepath


def read(path, default=None):
    """The text of a file; ``default`` if there is none. Raises CommandExecutionError for what cannot be read."""
    try:
        with open(path, encoding="utf-8", errors="surrogateescape", newline="", opener=safepath.opener) as source:
            return source.read()
    except (FileNotFoundError, NotADirectoryError):
        return default
    except OSError as exc:
        raise CommandExecutionError("Could not read from file: %s (%s)" % (path, exc.strerror))


def lines(path):
    """The lines of a file with their ends; [] when there is no such file."""
    return split(read(path, ""))


def split(text):
    """Lines with their ends; only newlines end one, unlike with ``splitlines``."""
    found = text.split("\n")
    return [line + "\n" for line in found[:-1]] + ([found[-1]] if found[-1] else [])


def write(path, text, mode=0o644, uid=None, gid=None):
    """Make this the content of a file: whole or not at all, through a link, owner and mode kept.

    A new file gets ``mode``; ``uid`` and ``gid`` are set where they are given. Raises CommandExecutionError.
    """
    from thin.utils.files import atomic

    path = safepath.real(path)
    try:
        kept = None if os.path.exists(path) else mode
        atomic.write(path, text.encode("utf-8", "surrogateescape"), uid=uid, gid=gid, mode=kept)
    except OSError as exc:
        raise CommandExecutionError("Could not write to file: %s (%s)" % (path, exc.strerror))
