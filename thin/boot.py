"""The program of the first stage: finds or receives the runtime, checks it, and starts ``thin.__main__`` from it.

The controller sends this text (stripped of comments), followed by a call of ``boot`` with the session's parameters, as the
first bytes on stdin; see pushsalt.bundle.shim. It is compiled on every start, so it does only what must come before the
runtime is there. Nothing that was not verified is ever executed:

- the archive ``thin-<sha256>.tar``, by its SHA-256, which the controller said;
- the image ``thin-<sha256>-<python>-<key id>.img`` (compiled code, see thin.store), by an HMAC whose key only the controller has.
  It also says which state of the archive file was verified before, so that a warm start need not read that file at all.

The private directory is the first of these that can be had: ``thin_dir`` of the inventory, ``$HOME/.cache/pushsalt``, ``/var/cache/pushsalt``
(root), ``/run/user/UID/pushsalt``. Each step of the way is made 0700, opened without following links and must
belong to this user; ours must not be writable by others. Without one, the runtime lives in memory.
"""

import marshal
import os
import sys

try:
    if sys.version_info >= (3, 12):
        from _sha2 import sha256
    else:
        from _sha256 import sha256  # importing hashlib would load OpenSSL
except ImportError:
    from hashlib import sha256

FRAME_LIMIT = 64 * 1024 * 1024
READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


def lines(fields):
    """Fields of a frame that is no msgpack: a key=value line each, percent-encoded."""
    text = "\n".join(
        "%s=%s" % (key, str(value).replace("%", "%25").replace("\n", "%0A").replace("\r", "%0D")) for key, value in fields
    )
    return text.encode("utf-8", "surrogateescape")


def frame(nonce, kind, fields):
    payload = lines(fields)
    return nonce + kind + len(payload).to_bytes(4, "big") + payload


def send(data):
    while data:
        data = data[os.write(1, data) :]


def mac(key, data):
    """HMAC-SHA256 with a key of up to 64 bytes (the hmac module would import hashlib)."""
    key = key.ljust(64, b"\0")
    inner = sha256(bytes(byte ^ 0x36 for byte in key) + data).digest()
    return sha256(bytes(byte ^ 0x5C for byte in key) + inner).digest()


def private(base, names):
    """A descriptor of base/names…, made where it is missing. Raises OSError when it is not ours alone."""
    uid = os.geteuid()
    fd = os.open(base, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        if os.fstat(fd).st_uid != uid:
            raise OSError("%s belongs to another user" % base)
        for name in names:
            try:
                os.mkdir(name, 0o700, dir_fd=fd)
            except OSError:
                pass  # it is there, or opening it will say why not
            inner = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=fd)
            os.close(fd)
            fd = inner
            base = base.rstrip("/") + "/" + name
            found = os.fstat(fd)
            if found.st_uid != uid:
                raise OSError("%s belongs to another user" % base)
        if names and found.st_mode & 0o22:
            raise OSError("%s can be written to by others" % base)
    except BaseException:
        os.close(fd)
        raise
    return base, fd


def home():
    path = os.environ.get("HOME", "")
    try:
        if path.startswith("/") and os.stat(path).st_uid == os.geteuid():
            return path
        import pwd

        return pwd.getpwuid(os.geteuid()).pw_dir
    except (OSError, KeyError, ImportError):
        return ""


def find_dir(wanted):
    """(path, descriptor, warnings) of the private directory, or ("", -1, why there is none)."""
    why = []
    places = [(home(), [".cache", "pushsalt"]), ("/run/user/%d" % os.geteuid(), ["pushsalt"])]
    if os.geteuid() == 0:
        places.insert(1, ("/var/cache", ["pushsalt"]))
    if wanted:
        # What stands above `thin_dir` is the operator's choice; it itself must be ours like any other.
        above, _, name = wanted.rstrip("/").rpartition("/")
        try:
            return open_wanted(above or "/", name) + ([],)
        except OSError as exc:
            why.append("thin_dir: %s" % exc)
    for base, names in places:
        if base:
            try:
                return private(base, names) + (why if wanted else [],)
            except OSError as exc:
                why.append(str(exc))
    return "", -1, why + ["the runtime is kept in memory only"]


def open_wanted(above, name):
    path = above.rstrip("/") + "/" + name
    try:
        os.mkdir(path, 0o700)
    except OSError:
        pass
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    found = os.fstat(fd)
    if found.st_uid != os.geteuid() or found.st_mode & 0o22:
        os.close(fd)
        raise OSError("%s belongs to another user, or others can write to it" % path)
    return path, fd


def read(name, dir_fd, limit):
    """The bytes of a regular file of ours, or None."""
    try:
        fd = os.open(name, READ, dir_fd=dir_fd)
    except OSError:
        return None
    try:
        found = os.fstat(fd)
        if found.st_mode & 0o170000 != 0o100000 or found.st_uid != os.geteuid() or found.st_size > limit:
            return None
        data = b""
        while len(data) < found.st_size:
            piece = os.read(fd, found.st_size - len(data))
            if not piece:
                return None
            data = data + piece if data else piece
        return data
    except OSError:
        return None
    finally:
        os.close(fd)


def stamp(name, dir_fd):
    """What changes when a file changes."""
    try:
        found = os.stat(name, dir_fd=dir_fd, follow_symlinks=False)
        return [found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns]
    except OSError:
        return None


def read_image(name, dir_fd, key):
    """(header, bytes) of the image when its MAC is right, else (None, None)."""
    data = read(name, dir_fd, FRAME_LIMIT) if dir_fd >= 0 else None
    if data and data[:8] == b"PSIMAGE1":
        end = 44 + int.from_bytes(data[40:44], "big")
        if mac(key, data[44:end]) == data[8:40]:
            return marshal.loads(data[44:end]), data
    return None, None


def receive(size, sha):
    """(archive, frames that came before it) from stdin."""
    earlier = b""
    while True:
        head = exactly(5)
        length = int.from_bytes(head[1:], "big")
        if length > FRAME_LIMIT:
            raise ValueError("a frame of %d bytes" % length)
        payload = exactly(length)
        if head[:1] == b"A":
            import zlib

            archive = zlib.decompressobj().decompress(payload, size + 1)
            if sha256(archive).hexdigest() != sha:
                raise ValueError("the received runtime does not have the announced hash")
            return archive, earlier
        earlier += head + payload


def exactly(count):
    pieces = []
    while count:
        piece = os.read(0, min(count, 1 << 20))
        if not piece:
            os._exit(76)  # the controller went away
        pieces.append(piece)
        count -= len(piece)
    return b"".join(pieces)


def boot(p):
    """Start the session. ``p``: nonce, sha, size, key (bytes), dir, and what thin.__main__ wants."""
    nonce = p["nonce"]
    try:
        os.umask(0o77)
        version = "%d.%d.%d" % sys.version_info[:3]
        path, dir_fd, warnings = find_dir(p["dir"])
        tar = "thin-%s.tar" % p["sha"]
        image = "thin-%s-%s-%x-%s.img" % (
            p["sha"], sys.implementation.cache_tag, sys.hexversion, sha256(p["key"]).hexdigest()[:12],
        )
        header, data = read_image(image, dir_fd, p["key"])
        archive, pending = None, b""
        sound = header is not None and header["stamp"] == stamp(tar, dir_fd)
        if not sound and dir_fd >= 0:
            archive = read(tar, dir_fd, p["size"])
            if archive is not None and sha256(archive).hexdigest() != p["sha"]:
                archive = None
        lacks = not sound and archive is None
        hello = [
            ("python", version), ("exe", sys.executable), ("uid", os.geteuid()), ("pid", os.getpid()), ("dir", path),
            ("home", home()), ("have", int(not lacks)), ("warm", int(sound)),
        ]
        send(frame(nonce, b"H", hello + [("warning", text) for text in warnings]))
        if lacks:
            archive, pending = receive(p["size"], p["sha"])
        if header is not None:
            at, length, digest = header["modules"]["thin.store"][1:]
            body = data[at : at + length]
            code = marshal.loads(body) if sha256(body).digest() == digest else None
        else:
            length = int(archive[124:135], 8)
            code = compile(archive[512 : 512 + length], "thin/store.py", "exec", 0, True)
        names = {"__name__": "thin.store", "__file__": "thin/store.py", "__builtins__": __builtins__}
        exec(code, names)
        start = names["start"]
    except Exception as exc:
        kind = "disk_full" if getattr(exc, "errno", None) in (28, 122) else "bootstrap_failed"
        send(frame(nonce, b"E", [("kind", kind), ("message", "%s: %s" % (type(exc).__name__, exc))]))
        os._exit(70)
    start(
        dict(
            p, path=path, dir_fd=dir_fd, tar=tar, image=image, header=header, data=data, archive=archive, received=lacks,
            pending=pending, home=home(), boot={"sha256": sha256, "mac": mac, "frame": frame, "stamp": stamp, "read": read},
        )
    )
