"""What functions that make keys, certificates, requests or lists share: encodings, and the files that they write."""

import os

from thin.exceptions import CommandExecutionError, SaltInvocationError
from thin.utils.files import safepath

#: encodings of requests and of revocation lists
PLAIN = ("der", "pem")


def write(path, data, mode):
    """The file's new content, whole or not at all. ``mode``: that of a new one, less the umask.

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
    """Raise CommandExecutionError for an encoding that is none of the valid ones."""
    if encoding not in valid:
        raise CommandExecutionError("Invalid value '%s' for encoding. Valid: %s" % (encoding, ", ".join(valid)))


def no_more(kwargs, ignored):
    """Raise SaltInvocationError for arguments that are neither ignored nor private."""
    unknown = [name for name in kwargs if not name.startswith("_") and name not in ignored]
    if unknown:
        raise SaltInvocationError("Unrecognized keyword arguments: %s" % unknown)


def returned(out, encoding, raw):
    """What callers get of the bytes ``out``: a text, base64 of a binary encoding, or with ``raw`` the bytes."""
    import base64

    if raw:
        return out
    return (out if encoding.endswith("pem") else base64.b64encode(out)).decode("ascii")
