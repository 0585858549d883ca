"""The beginning of the first stage: finds the stored runtime, and executes ``thin/boot.py``.

The controller sends this text, without its comments, as the first bytes on stdin, and then a call of ``begin`` with the
session's parameters and the texts of ``thin/boot.py`` and ``thin/coldstart.py``; see pushsalt.bundle.shim. It is
compiled on every start, so it contains only what is needed to find the compiled ``thin.boot``. While it runs, all
imports of ``thin.warmstart`` and ``thin.boot`` get this module.

Nothing that was not verified is ever executed:

- the archive ``thin-SHA256.tar`` is verified by its SHA-256, which the controller sends;
- the image ``thin-SHA256-PYTHON-KEYID.img`` (compiled code, see thin.store) is verified by a MAC with a key that is
  never on this disk. The image also records the state of the archive file when that was verified, so that a warm start
  need not read the archive.

Images are verified by BLAKE2b: Python's own SHA-256 takes three times as long, and that of OpenSSL longer to load than
to verify an image.
"""

import marshal
import os
import sys

try:
    from _blake2 import blake2b

    blake2b(key=b"0")  # some systems refuse it in FIPS mode
except (ImportError, ValueError):
    blake2b = None

FRAME_LIMIT = 64 * 1024 * 1024
DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def digest(data, key=b""):
    """The digest of an image's part, 32 bytes; with a key of up to 64 bytes it is a MAC."""
    if blake2b:
        return blake2b(data, digest_size=32, key=key).digest()
    from hashlib import sha256  # HMAC-SHA256

    key = key.ljust(64, b"\0")
    inner = sha256(bytes(byte ^ 0x36 for byte in key) + data).digest()
    return sha256(bytes(byte ^ 0x5C for byte in key) + inner).digest()


def private(path, dir_fd=None):
    """A descriptor of an existing folder: no link, this user's, not writable by others. Raises OSError."""
    fd = os.open(path, DIRECTORY, dir_fd=dir_fd)
    status = os.fstat(fd)
    if status.st_uid != os.geteuid() or status.st_mode & 0o22:
        os.close(fd)
        raise PermissionError(1, "it belongs to another user, or others can write to it", path)
    return fd


def read(name, dir_fd, limit):
    """The bytes of a regular file that belongs to this user, or None."""
    try:
        fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK, dir_fd=dir_fd)
    except OSError:
        return None
    try:
        status = os.fstat(fd)
        if status.st_mode & 0o170000 != 0o100000 or status.st_uid != os.geteuid() or status.st_size > limit:
            return None
        data = b""
        while len(data) < status.st_size:
            piece = os.read(fd, status.st_size - len(data))
            if not piece:
                return None
            data = data + piece if data else piece
        return data
    except OSError:
        return None
    finally:
        os.close(fd)


def names(p):
    """File names of the archive and of the image."""
    return "thin-%s.tar" % p["sha"], "thin-%s-%s-%x-%s.img" % (
        p["sha"],
        sys.implementation.cache_tag,
        sys.hexversion,
        digest(p["key"]).hex()[:12],
    )


def read_image(name, dir_fd, key):
    """(header, bytes) of the image when its MAC is right, else (None, None)."""
    data = read(name, dir_fd, FRAME_LIMIT)
    if data and data[:8] == b"PSIMAGE2":
        end = 44 + int.from_bytes(data[40:44], "big")
        if digest(data[44:end], key) == data[8:40]:
            return marshal.loads(data[44:end]), data  # noqa: S302
    return None, None


def body(data, entry):
    """The code of a module in the image if its digest is correct, else None."""
    _, at, length, expected = entry
    body = data[at : at + length] if at else b""
    return marshal.loads(body) if at and digest(body) == expected else None  # noqa: S302


def begin(p, text, coldstart):
    """Start the session; never returns.

    ``p``: nonce, sha and size (of the archive; "" and 0 with what coldstart.choose needs), key, dir (the inventory's
    thin_dir or ""), and the parameters of thin.__main__; ``text`` and ``coldstart``: ``thin/boot.py`` and
    ``thin/coldstart.py``.
    """
    main = sys.modules["thin.warmstart"] = sys.modules["thin.boot"] = sys.modules["__main__"]
    dir_fd, header, data, code = -1, None, None, None
    try:
        if not p["dir"]:
            dir_fd = private(os.environ["HOME"] + "/.cache/pushsalt")
            header, data = read_image(names(p)[1], dir_fd, p["key"])
        if header is not None:
            code = body(data, header["modules"]["thin.boot"])
    except (KeyError, OSError):
        pass
    exec(code or compile(text, "thin/boot.py", "exec", 0, True), main.__dict__)  # noqa: S102
    main.boot(p, coldstart, dir_fd, header, data)
