"""The program of the first stage: starts ``thin.__main__`` from the runtime that is stored on the target.

Its compiled code is in the image of a target that is known, where ``thin/warmstart.py`` finds it; else the controller's
text is compiled. So it contains only what a warm start needs; ``thin.coldstart`` finds another directory or receives
the runtime.
"""

import gc
import marshal
import os
import sys

try:
    from _blake2 import blake2b

    blake2b(key=b"0")  # some systems refuse it in FIPS mode
except (ImportError, ValueError):
    blake2b = None

#: Number of new containers until garbage is collected; with the usual 700 each start would examine all objects.
COLLECT = 20000
FRAME_LIMIT = 64 * 1024 * 1024
DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
#: errno -> the limited resource of a process, the letter of ulimit and the name in setrlimit(2) for its limit
LIMITS = {
    11: ("processes", "u", "NPROC"),
    12: ("memory", "v", "AS"),
    24: ("open files", "n", "NOFILE"),
    27: ("the size of files", "f", "FSIZE"),
}


def digest(data, key=b""):
    """The digest of an image's part, 32 bytes; with a key of up to 64 bytes it is a MAC."""
    if blake2b:
        return blake2b(data, digest_size=32, key=key).digest()
    from hashlib import sha256  # HMAC-SHA256

    key = key.ljust(64, b"\0")
    inner = sha256(bytes(byte ^ 0x36 for byte in key) + data).digest()
    return sha256(bytes(byte ^ 0x5C for byte in key) + inner).digest()


def sha256(data=b""):
    """A SHA-256 object by Python's own implementation: the import of hashlib would load OpenSSL."""
    try:
        if sys.version_info >= (3, 12):
            from _sha2 import sha256 as new
        else:
            from _sha256 import sha256 as new
    except ImportError:
        from hashlib import sha256 as new
    return new(data)


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


def frame(nonce, kind, fields):
    """A frame in place of a msgpack message: a key=value line for each field, percent-encoded."""
    pairs = ((key, str(value).replace("%", "%25").replace("\n", "%0A").replace("\r", "%0D")) for key, value in fields)
    payload = "\n".join("%s=%s" % pair for pair in pairs).encode("utf-8", "surrogateescape")
    return nonce + kind + len(payload).to_bytes(4, "big") + payload


def send(data, fd=1):
    while data:
        data = data[os.write(fd, data) :]


def limit(exc):
    """The limit of the process that caused this exception, as text for people; empty if it was none."""
    number = 12 if isinstance(exc, MemoryError) else 11 if isinstance(exc, BlockingIOError) else exc.errno
    what, letter, name = LIMITS.get(number, ("", "", ""))
    if not what:
        return ""
    try:
        import resource

        most = resource.getrlimit(getattr(resource, "RLIMIT_" + name))[0]
    except (ImportError, OSError, MemoryError):  # even these calls can exceed the limit
        return "the limit on %s is reached (ulimit -%s)" % (what, letter)
    if most == resource.RLIM_INFINITY:
        return "the machine has no more memory" if number == 12 else ""
    return "the limit on %s is %d (ulimit -%s)" % (what, most, letter)


def trouble(exc):
    """The kind and the message of the E frame that reports this exception."""
    number = getattr(exc, "errno", None)
    words = limit(exc) if isinstance(exc, (OSError, MemoryError)) else ""
    kind = "limit_reached" if words else "disk_full" if number in (28, 122) else "bootstrap_failed"
    return kind, ": ".join([type(exc).__name__] + [text for text in (str(exc), words) if text])


def stamp(name, dir_fd):
    """The inode, size and times of a file, which change when it is changed; None if it cannot be examined."""
    try:
        status = os.stat(name, dir_fd=dir_fd, follow_symlinks=False)
    except OSError:
        return None
    return [status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns]


def hello(p, path, **fields):
    """The H frame."""
    pairs = [
        ("python", "%d.%d.%d" % sys.version_info[:3]),
        ("exe", sys.executable),
        ("uid", os.geteuid()),
        ("pid", os.getpid()),
        ("dir", path),
        ("sha", p["sha"]),
    ]
    send(frame(p["nonce"], b"H", pairs + sorted(fields.items())))


def warm(p, dir_fd, header, data):
    """The session's state if the runtime that is stored in the usual directory passes verification, else None."""
    tar, image = names(p)
    if header is None or header["stamp"] != stamp(tar, dir_fd):
        if dir_fd >= 0:
            os.close(dir_fd)
        return None
    home = os.environ["HOME"]
    path = home + "/.cache/pushsalt"
    hello(p, path, have=1, warm=1)
    return dict(
        p,
        home=home,
        path=path,
        dir_fd=dir_fd,
        tar=tar,
        image=image,
        header=header,
        data=data,
        archive=None,
        received=False,
        pending=b"",
        fresh={},
    )


def load(state):
    """Execute thin/store.py, and with it everything else."""
    if state["header"] is not None:
        code = body(state["data"], state["header"]["modules"]["thin.store"])
        if code is None:
            raise ValueError("the image is damaged")
    else:
        length = int(state["archive"][124:135], 8)
        code = compile(state["archive"][512 : 512 + length], "thin/store.py", "exec", 0, True)
        state["fresh"]["thin.store"] = code
    module = sys.modules["thin.store"] = type(sys)("thin.store")
    module.__file__ = "thin/store.py"
    exec(code, module.__dict__)  # noqa: S102
    return module


def boot(p, coldstart, dir_fd, header, data):
    """Start the session; never returns.

    ``p`` and ``coldstart`` are those of thin.warmstart; then the usual directory, or -1, with the header and the bytes
    of the image there, or None.
    """
    gc.set_threshold(COLLECT)
    try:
        os.umask(0o77)
        state = warm(p, dir_fd, header, data)
        if state is None:
            space = {"__name__": "thin.coldstart"}
            exec(compile(coldstart, "thin/coldstart.py", "exec", 0, True), space)  # noqa: S102
            state = space["prepare"](p)
        store = load(state)
    except Exception as exc:
        send(frame(p["nonce"], b"E", list(zip(("kind", "message"), trouble(exc)))))
        os._exit(70)
    store.start(state)
