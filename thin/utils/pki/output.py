"""Encodings and output files, for the functions that make keys, certificates, requests or lists."""

import os

from thin.exceptions import CommandExecutionError, SaltInvocationError
from thin.utils.files import safepath

#: Encodings of requests and of revocation lists.
PLAIN = ("der", "pem")


def write(path, data, mode):
    """Write a file atomically. ``mode``: of a new file, without the umask's bits.

    Raises CommandExecutionError.
    """
    from thin.utils.files import atomic

    umask = os.umask(0)
    os.umask(umask)
    real = safepath.real(path)
    try:
        atomic.write(real, data, mode=None if os.path.exists(real) else mode & ~umask)
    except OSError as exc:
        raise CommandExecutionError("Unable to write %s: %s" % (path, exc.strerror))


def check(encoding, valid):
    """Raise CommandExecutionError for an invalid encoding."""
    if encoding not in valid:
        raise CommandExecutionError("Invalid value '%s' for encoding. Valid: %s" % (encoding, ", ".join(valid)))


def no_more(kwargs, ignored):
    """Raise SaltInvocationError for arguments that are neither among ``ignored`` nor begin with an underscore."""
    unknown = [name for name in kwargs if not name.startswith("_") and name not in ignored]
    if unknown:
        raise SaltInvocationError("Unrecognized keyword arguments: %s" % unknown)


def returned(out, encoding, raw):
    """The return value for the bytes ``out``: text, base64 of a binary encoding, or with ``raw`` the bytes."""
    import base64

    if raw:
        return out
    return (out if encoding.endswith("pem") else base64.b64encode(out)).decode("ascii")
