"""The beginning of the first stage: starts the compiled ``thin/boot.py`` of the stored runtime, or compiles its text.

The controller sends this text, without its comments, as the first bytes on stdin, and then a call of ``begin`` with the
session's parameters and the texts of ``thin/boot.py`` and ``thin/coldstart.py``; see pushsalt.bundle.shim. It is
compiled on every start, some 40 microseconds for each line, so it has only what finds the compiled ``thin.boot``, in
few lines. Whatever differs from the usual case is left to ``thin/boot.py``, whose ``read_image`` makes the same checks.

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


def begin(p, text, coldstart):
    """Start the session; never returns.

    ``p``: nonce, sha and size (of the archive; "" and 0 with what coldstart.choose needs), key, dir (the inventory's
    thin_dir or ""), and the parameters of thin.__main__; ``text`` and ``coldstart``: ``thin/boot.py`` and
    ``thin/coldstart.py``.
    """
    main = sys.modules["thin.boot"] = sys.modules["__main__"]
    dir_fd, header, data, code = -1, None, None, None
    try:
        from _blake2 import blake2b

        image = (p["sha"], sys.implementation.cache_tag, sys.hexversion, blake2b(p["key"], digest_size=32).hexdigest())
        folder, flags = os.environ["HOME"] + "/.cache/pushsalt", os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
        if not p["dir"]:
            dir_fd = os.open(folder, flags | os.O_DIRECTORY)
            fd = os.open("thin-%s-%s-%x-%.12s.img" % image, flags, dir_fd=dir_fd)
            ours, file = os.fstat(dir_fd), os.fstat(fd)
            private = ours.st_uid == file.st_uid == os.geteuid() and not ours.st_mode & 0o22
            regular = file.st_mode >> 12 == 8 and file.st_size < 1 << 26
            data = os.read(fd, file.st_size) if private and regular else b""
            os.close(fd)
            head = data[44 : 44 + int.from_bytes(data[40:44], "big")]
            if data[:40] == b"PSIMAGE2" + blake2b(head, digest_size=32, key=p["key"]).digest():
                header = marshal.loads(head)  # noqa: S302
                _, at, size, digest = header["modules"]["thin.boot"]
                body = data[at : at + size]
                if blake2b(body, digest_size=32).digest() == digest:
                    code = marshal.loads(body)  # noqa: S302
    except Exception:  # whatever it is: thin/boot.py, compiled from its text, finds the cause and reports it
        code = None
    exec(code or compile(text, "thin/boot.py", "exec", 0, True), main.__dict__)  # noqa: S102
    main.boot(p, coldstart, dir_fd, header if code else None, data)
