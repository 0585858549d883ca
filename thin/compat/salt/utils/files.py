"""Files. Salt: ``salt/utils/files.py``."""

import contextlib
import errno
import os
import stat

from thin.exceptions import CommandExecutionError
from thin.rareexceptions import FileLockError, MinionError
from thin.utils.files import safepath, safetree

TEMPFILE_PREFIX = "__salt.tmp."
REMOTE_PROTOS = ("http", "https", "ftp", "swift", "s3")
LOCAL_PROTOS = ("", "file")
VALID_PROTOS = ("salt", "file", *REMOTE_PROTOS)
HASHES = {"sha512": 128, "sha384": 96, "sha256": 64, "sha224": 56, "sha1": 40, "md5": 32}


def guess_archive_type(name):
    """``tar``, ``zip``, ``rar`` or None, from a file name."""
    name = name.lower()
    tars = (".tar", ".tgz", ".tbz", ".txz", ".tbz2", ".tar.gz", ".tar.bz2", ".tar.xz", ".tar.lzma", ".tlz", ".tar.zst")
    if name.endswith(tars):
        return "tar"
    return next((kind for kind in ("zip", "rar") if name.endswith("." + kind)), None)


def mkstemp(*args, **kwargs):
    """The path of a new, empty file; with ``close_fd=False`` (descriptor, path)."""
    import tempfile

    kwargs.setdefault("prefix", TEMPFILE_PREFIX)
    close = kwargs.pop("close_fd", True)
    handle, path = tempfile.mkstemp(*args, **kwargs)
    if not close:
        return handle, path
    os.close(handle)
    return path


def recursive_copy(source, dest):
    """Copy all files below ``source`` to ``dest``; other files there are unchanged."""
    for folder in safetree.descend(source):
        target = os.path.normpath(os.path.join(dest, os.path.relpath(folder.path, source)))
        safepath.makedirs(target)
        for name in folder.others:
            path = os.path.join(folder.path, name)
            if not os.path.isdir(path):
                _copy(path, os.path.join(target, name))


def _copy(source, dest):
    import shutil

    with open(source, "rb", opener=safepath.opener) as old, open(dest, "wb", opener=safepath.opener) as new:
        shutil.copyfileobj(old, new)


def copyfile(source, dest, backup_mode="", cachedir=""):
    """Replace ``dest`` by a copy atomically; owner and mode of the old file are kept."""
    from thin.utils.files import atomic, backup

    if not os.path.isfile(source):
        raise OSError("[Errno 2] No such file or directory: %s" % source)
    if not os.path.isdir(os.path.dirname(dest)):
        raise OSError("[Errno 2] No such file or directory: %s" % dest)
    if cachedir and backup_mode in ("minion", "both"):
        backup.keep(dest, backup_mode, cachedir)
    atomic.write(dest, atomic.pieces(source))


def rename(src, dst):
    """Rename a file. Raises MinionError."""
    try:
        safepath.rename(src, dst)
    except OSError as exc:
        raise MinionError("Error: Unable to rename '%s' to '%s': %s" % (src, dst, exc))


def process_read_exception(exc, path, ignore=None):
    """Raise a CommandExecutionError for an error of reading a file, unless its errno is in ``ignore``."""
    ignored = {ignore} if isinstance(ignore, int) else set(ignore or ())
    if exc.errno in ignored:
        return
    words = {errno.ENOENT: "%s does not exist", errno.EACCES: "Permission denied reading from %s"}.get(exc.errno)
    raise CommandExecutionError(
        words % path if words else "Error %d encountered reading from %s: %s" % (exc.errno, path, exc.strerror)
    )


@contextlib.contextmanager
def wait_lock(path, lock_fn=None, timeout=5, sleep=0.1, time_start=None):
    """Hold a lock file next to ``path``. Raises FileLockError if it cannot be locked within ``timeout`` seconds."""
    import time

    began, name = time_start or time.time(), lock_fn or "%s.w" % path
    while True:
        try:
            open(name, "x", opener=safepath.opener).close()
            break
        except OSError as exc:
            if exc.errno != errno.EEXIST:
                raise FileLockError("Error creating lock file %s: %s" % (name, exc), time_start=began)
        if time.time() - began >= timeout:
            raise FileLockError("Timeout waiting for lock file %s" % name, time_start=began)
        time.sleep(sleep)
    try:
        yield
    finally:
        safe_rm(name)


def get_umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


@contextlib.contextmanager
def set_umask(mask):
    """Set the umask for a ``with`` block; None changes nothing."""
    if mask is None:
        yield
        return
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


def fopen(*args, **kwargs):
    """``open``, with UTF-8 for text. Refuses descriptors, empty names, and links that root must not follow."""
    if args[0] in (0, 1, 2) and not isinstance(args[0], bool):
        raise TypeError("%s is not a permitted file descriptor" % (args[0],))
    mode = args[1] if len(args) > 1 else kwargs.get("mode", "r")
    if "b" not in mode and len(args) < 4:
        kwargs.setdefault("encoding", "utf-8")
    elif "b" in mode:
        kwargs.pop("encoding", None)
        kwargs.pop("newline", None)
    opener = kwargs.pop("opener", safepath.opener)
    return open(*args, opener=opener, **kwargs)  # the caller closes it


@contextlib.contextmanager
def flopen(*args, **kwargs):
    """An open file that is locked (flock) until the end of ``with``."""
    import fcntl

    with fopen(*args, **kwargs) as handle:
        fcntl.flock(handle.fileno(), fcntl.LOCK_SH)
        try:
            yield handle
        finally:
            fcntl.flock(handle.fileno(), fcntl.LOCK_UN)


@contextlib.contextmanager
def fpopen(*args, **kwargs):
    """An open file; sets owner and mode if ``uid``, ``gid``, ``mode`` are given."""
    uid, gid, bits = kwargs.pop("uid", -1), kwargs.pop("gid", -1), kwargs.pop("mode", None)
    with fopen(*args, **kwargs) as handle:
        status = os.stat(args[0])
        if (uid not in (-1, status.st_uid)) or (gid not in (-1, status.st_gid)):
            safepath.chown(args[0], uid, gid, follow=True)
        if bits is not None and stat.S_IMODE(status.st_mode) != bits:
            safepath.chmod(args[0], status.st_mode | bits)
        yield handle


def safe_walk(top, topdown=True, onerror=None, followlinks=True, _seen=None):
    """``os.walk`` that follows links and enters no folder twice."""
    seen = set() if _seen is None else _seen
    for folder, folders, names in os.walk(top, topdown, onerror, followlinks):
        status = os.stat(folder)
        if (status.st_dev, status.st_ino) in seen:
            del folders[:]
            continue
        seen.add((status.st_dev, status.st_ino))
        yield folder, folders, names


def safe_rm(tgt):
    """Remove a file; a missing file, or a failure, is ignored."""
    with contextlib.suppress(OSError):
        safepath.unlink(tgt)


def rm_rf(path):
    """Remove a file, a link or a whole tree. Raises OSError."""
    if os.path.islink(path) or not os.path.isdir(path):
        safepath.unlink(path)
    else:
        safepath.remove(path)


def remove(path):
    """Remove a file. Raises OSError, unless it does not exist."""
    try:
        safepath.unlink(path)
    except FileNotFoundError:
        pass


def is_empty(filename):
    """Whether a file is empty; False if it cannot be read."""
    with contextlib.suppress(OSError):
        return not os.path.getsize(filename)
    return False


def is_fcntl_available(check_sunos=False):
    return True


def safe_filename_leaf(file_basename):
    """The name with characters that are unusual in file names percent-encoded."""
    return "".join("%%%02X" % ord(char) if char in '\\:/*?"<>|\0' else char for char in file_basename)


def safe_filepath(file_path_name, dir_sep=None):
    drive, sep = "/" if file_path_name.startswith("/") else "", dir_sep or os.sep
    return drive + sep.join(safe_filename_leaf(part) for part in file_path_name.strip(sep).split(sep))


def is_text(fp_, blocksize=512):
    """Whether the beginning of a file (open, or a path) looks like text."""
    from thin.utils.files import diff

    if hasattr(fp_, "read"):
        data = fp_.read(blocksize)
        return not diff.is_binary(data if isinstance(data, bytes) else data.encode("utf-8", "surrogateescape"))
    try:
        with open(fp_, "rb") as handle:
            return not diff.is_binary(handle.read(blocksize))
    except OSError:
        return False


def is_binary(path):
    """Whether a file contains no text; False if it cannot be read."""
    return os.path.isfile(path) and os.access(path, os.R_OK) and not is_text(path, 2048)


def list_files(directory):
    """All paths in a folder, including itself."""
    files = {directory}
    for folder, folders, names in safe_walk(directory):
        files.update(os.path.join(folder, name) for name in folders + names)
    return list(files)


def st_mode_to_octal(mode):
    """The last four octal digits of a mode; "" for a value that is no integer."""
    return oct(mode)[-4:] if isinstance(mode, int) else ""


def normalize_mode(mode):
    """A mode as text with at least four digits; None from None."""
    return None if mode is None else str(mode).replace("0o", "0").strip("\"'").lstrip("0").zfill(4)


def human_size_to_bytes(human_size):
    """The bytes of ``10M``. Raises ValueError for an invalid size."""
    import re

    match = re.match(r"([0-9]+)([a-zA-Z]?)", str(human_size))
    if not match:
        raise ValueError("Size must be all digits, with an optional unit type (K, M, G, T, or P)")
    return int(match.group(1)) * 1024 ** " KMGTP".index(match.group(2).upper() or " ")


def backup_minion(path, bkroot):
    """Store a copy of a file below ``bkroot``; its name contains the time."""
    import time

    folder, name = os.path.split(os.path.abspath(path))
    where = os.path.join(bkroot, folder.lstrip("/"), "%s_%s" % (name, time.strftime("%a_%b_%d_%H:%M:%S_%Y")))
    safepath.makedirs(os.path.dirname(where))
    _copy(path, where)


def case_insensitive_filesystem(path=None):
    return False


def get_encoding(path):
    """``utf-8``, ``ascii``, ``bom`` … of a text file. Raises CommandExecutionError if it is no text."""
    with open(path, "rb") as handle:
        data = handle.read()
    for mark, name in (
        (b"\xef\xbb\xbf", "utf-8-sig"),
        (b"\xff\xfe\0\0", "utf-32"),
        (b"\xff\xfe", "utf-16"),
        (b"\xfe\xff", "utf-16"),
    ):
        if data.startswith(mark):
            return name
    for name in ("ascii", "utf-8"):
        try:
            data.decode(name)
            return name
        except UnicodeDecodeError:
            continue
    raise CommandExecutionError("Could not detect file encoding")
