"""Reads and writes small text files of the system.

Bytes that are not UTF-8 survive reading and writing; line ends are not converted.
"""

import os

from thin.exceptions import CommandExecutionError
from thin.utils.files import safepath


def read(path, default=None):
    """The text of a file; ``default`` if it does not exist. Raises CommandExecutionError if it cannot be read."""
    try:
        with open(path, encoding="utf-8", errors="surrogateescape", newline="", opener=safepath.opener) as source:
            return source.read()
    except (FileNotFoundError, NotADirectoryError):
        return default
    except OSError as exc:
        raise CommandExecutionError("Could not read from file: %s (%s)" % (path, exc.strerror))


def lines(path):
    """The lines of a file with their newlines; [] if it does not exist. Raises CommandExecutionError."""
    return split(read(path, ""))


def split(text):
    """The lines of a text with their newlines; only newlines end one, unlike in ``splitlines``."""
    lines = text.split("\n")
    return [line + "\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])


def write(path, text, mode=0o644, uid=None, gid=None):
    """Replace the content of a file atomically, following links; owner and mode are kept.

    A new file gets ``mode``; ``uid`` and ``gid`` are set if they are given. Raises CommandExecutionError.
    """
    from thin.utils.files import atomic

    path = safepath.real(path)
    try:
        kept = None if os.path.exists(path) else mode
        atomic.write(path, text.encode("utf-8", "surrogateescape"), uid=uid, gid=gid, mode=kept)
    except OSError as exc:
        raise CommandExecutionError("Could not write to file: %s (%s)" % (path, exc.strerror))
