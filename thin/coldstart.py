"""The rest of the first stage, for starts that are not warm: makes the private directory, or receives the runtime.

A controller that does not know this target leaves the choice of the archive to it: there is one for each family of
systems.

The private directory is the first of these that can be used: ``thin_dir`` of the inventory, ``$HOME/.cache/pushsalt``,
``/var/cache/pushsalt`` (root), ``/run/user/UID/pushsalt``. Each folder below the given one is made 0700, opened without
following links, and must belong to this user; the private directory itself must not be writable by others. Without a
private directory, the runtime is only in memory and is sent again each time.
"""

import os
import sys

from thin.boot import DIRECTORY, FRAME_LIMIT, hello, names, private, read, read_image, sha256, stamp


def prepare(p):
    """Complete the session's state of boot.warm, if the runtime had to be received; its bytes are in ``archive``."""
    if not p["sha"]:
        choose(p)
    home = find_home()
    path, dir_fd, warnings = find_dir(p["dir"], home)
    tar, image = names(p)
    header, data, archive, pending = None, None, None, b""
    if dir_fd >= 0:
        header, data = read_image(image, dir_fd, p["key"])
        if header is None or header["stamp"] != stamp(tar, dir_fd):
            archive = read(tar, dir_fd, p["size"])
            if archive is not None and sha256(archive).hexdigest() != p["sha"]:
                archive = None
    have = archive is not None or (header is not None and header["stamp"] == stamp(tar, dir_fd))
    hello(p, path, have=int(have), warm=0, warnings="\n".join(warnings))
    if not have:
        archive, pending = receive(p["size"], p["sha"])
    return dict(
        p,
        home=home,
        path=path,
        dir_fd=dir_fd,
        tar=tar,
        image=image,
        header=header,
        data=data,
        archive=archive,
        received=not have,
        pending=pending,
        fresh={},
    )


def choose(p):
    """Set the archive that is for this system: sha and size, one of ``archives``.

    ``words``: {word of ID or ID_LIKE in os-release, or the platform: index}; the word "" is for all others.
    """
    fields = {}
    for path in ("/etc/os-release", "/usr/lib/os-release"):
        try:
            with open(path, "rb") as handle:
                lines = handle.read(65536).decode("utf-8", "replace").split("\n")
        except OSError:
            continue
        fields = dict(line.partition("=")[::2] for line in lines)
        break
    names = " ".join(fields.get(key, "").strip("\"' \r") for key in ("ID", "ID_LIKE")).lower().split()
    names += [sys.platform.rstrip(".0123456789"), ""]
    p["sha"], p["size"] = next(p["archives"][p["words"][name]] for name in names if name in p["words"])


def find_home():
    """The home directory if it belongs to this user, otherwise an empty text.

    The variable HOME alone is not trusted.
    """
    if owned(os.environ.get("HOME", "")):
        return os.environ["HOME"]
    try:
        import pwd

        home = pwd.getpwuid(os.geteuid()).pw_dir
    except (KeyError, ImportError):
        return ""
    return home if owned(home) else ""


def owned(path):
    try:
        return path.startswith("/") and os.stat(path).st_uid == os.geteuid()
    except OSError:
        return False


def find_dir(wanted, home):
    """(path, descriptor, warnings) of the private directory; ("", -1, warnings) if there is none."""
    uid, why = os.geteuid(), []
    if wanted:
        # The operator chooses the folders above `thin_dir`; the folder itself must belong to this user.
        try:
            make(wanted, None)
            return wanted, private(wanted), why
        except OSError as exc:
            why.append("thin_dir is not used: %s" % words(exc))
    places = [(home, uid, ".cache", "pushsalt"), ("/run/user/%d" % uid, uid, "pushsalt")]
    if uid == 0:
        places.insert(1, ("/var/cache", 0, "pushsalt"))
    tried = []
    for base, owner, *steps in places:
        path = "/".join([base.rstrip("/")] + steps)
        try:
            return path, below(base, owner, steps), why
        except OSError as exc:
            tried.append(words(exc))
    text = "no private directory on the target, so the runtime is sent each time (%s)"
    return "", -1, why + [text % "; ".join(tried)]


def words(exc):
    return "%s: %s" % (exc.filename or "no home directory", exc.strerror)


def below(base, owner, steps):
    """A descriptor of the folder base/steps…; missing folders are made.

    Raises OSError, which names the folder, if one belongs to another user, or others can write to the last one.
    """
    fd = os.open(base, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for step in steps:
            if os.fstat(fd).st_uid != owner:
                raise PermissionError(1, "it belongs to another user", base)
            base = base.rstrip("/") + "/" + step
            try:
                make(step, fd)
                inner = os.open(step, DIRECTORY, dir_fd=fd) if step != steps[-1] else private(step, fd)
            except OSError as exc:
                exc.filename = base
                raise
            os.close(fd)
            fd = inner
    except BaseException:
        os.close(fd)
        raise
    return fd


def make(path, dir_fd):
    """Make the folder unless something with its name exists. Raises OSError if it cannot be made."""
    try:
        os.mkdir(path, 0o700, dir_fd=dir_fd)
    except OSError as exc:
        try:
            os.stat(path, dir_fd=dir_fd, follow_symlinks=False)
        except OSError:
            raise exc


def receive(size, sha):
    """(archive, the frames that came before it) from stdin."""
    earlier = b""
    while len(earlier) <= FRAME_LIMIT:
        head = exactly(5)
        length = int.from_bytes(head[1:], "big")
        if length > FRAME_LIMIT:
            break
        payload = exactly(length)
        if head[:1] == b"A":
            import zlib

            archive = zlib.decompressobj().decompress(payload, size + 1)
            if sha256(archive).hexdigest() != sha:
                raise ValueError("the received runtime does not have the announced hash")
            return archive, earlier
        earlier += head + payload
    raise ValueError("the runtime did not arrive")


def exactly(count):
    pieces = []
    while count:
        piece = os.read(0, min(count, 1 << 20))
        if not piece:
            os._exit(76)  # the controller went away
        pieces.append(piece)
        count -= len(piece)
    return b"".join(pieces)
