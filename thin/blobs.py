"""Bytes that the controller sends, named by their SHA-256: source files on disk, rendered text in memory.

Source files are kept in ``files/`` of the private directory, by digest, so that the next run finds them; they are
verified before use, and the oldest are removed when there are too many. Without a private directory they are stored in
a temporary one (0700) that is removed at the end. A ``secret`` blob (a rendered template may contain pillar) is never
written to a disk.

A file that was received in part stays as ``.DIGEST.part``: the next transfer reports the size and digest of that part,
and continues after it (``part``, ``resume``). The process that writes such a file holds a lock on it.
"""

import errno
import os

from thin import boot

DIGEST_SIZE = 32
CACHE_LIMIT = 256 * 1024 * 1024
#: Bytes of an interrupted transfer from which on its received part is kept.
PART_LEAST = 1024 * 1024
#: Seconds for which such a transfer can be continued.
PART_LIFE = 24 * 3600
#: OpenSSL is loaded for hashing after this number of bytes.
HASHED_WITHOUT_OPENSSL = 1024 * 1024
_FLAGS = os.O_NOFOLLOW | getattr(os, "O_CLOEXEC", 0)

#: Number of bytes that were hashed without OpenSSL.
_hashed = 0


def _sha256(size):
    """A new SHA-256 object for ``size`` bytes. OpenSSL's is fast for large data, but slow to load."""
    global _hashed
    _hashed += size
    if _hashed < HASHED_WITHOUT_OPENSSL:
        return boot.sha256()
    import hashlib

    return hashlib.sha256()


def digest_of(path):
    """SHA-256 (hex) of a regular file's bytes, or None if it cannot be read or is not a regular file."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | getattr(os, "O_CLOEXEC", 0))
    except OSError:
        return None
    try:
        status = os.fstat(handle)
        if status.st_mode & 0o170000 != 0o100000:
            return None
        sha = _sha256(status.st_size)
        for piece in iter(lambda: os.read(handle, 1024 * 1024), b""):
            sha.update(piece)
        return sha.hexdigest()
    except OSError:
        return None
    finally:
        os.close(handle)


class Blobs(object):
    """Received blobs, and transfers in progress. Digests are hexadecimal text.

    ``private`` is the private directory of this user on this target, or None.
    """

    def __init__(self, private=None, limit=CACHE_LIMIT):
        self._private = private
        self._limit = limit
        self._folder = None
        self._temporary = False
        self._memory = {}  # digest -> bytes
        self._verified = {}  # digest -> path
        self._coming = {}  # digest -> _Memory or _File
        self._failed = {}  # digest -> why it could not be stored

    def expect(self, digest, secret):
        """Register a blob that will be sent; ``secret`` keeps it in memory.

        Blobs that are not registered are rejected.
        """
        if digest not in self._coming:
            self._failed.pop(digest, None)
            self._coming[digest] = _Memory() if secret else _File()

    def part(self, digest):
        """``[bytes, their SHA-256]`` of the part of an expected blob that an earlier transfer left, or None."""
        coming = self._coming.get(digest)
        return coming.part(self, digest) if isinstance(coming, _File) else None

    def resume(self, digest, at):
        """The sender continues after the first ``at`` bytes, which ``part`` reported."""
        coming = self._coming.get(digest)
        if isinstance(coming, _File):
            coming.resume(at)

    def forget(self, digest):
        """Cancel the registration of a blob; what was received of it is removed."""
        coming = self._coming.pop(digest, None)
        if coming is not None:
            coming.abort()

    def feed(self, payload):
        """Take one B frame: the digest, then a piece; an empty piece ends the blob."""
        digest, piece = bytes(payload[:DIGEST_SIZE]), payload[DIGEST_SIZE:]
        digest = "".join("%02x" % byte for byte in bytearray(digest))
        coming = self._coming.get(digest)
        if coming is None:
            return
        try:
            if piece:
                coming.write(self, digest, piece)
                return
            done = coming.end(self, digest)
        except OSError as exc:
            del self._coming[digest]
            coming.abort()
            self._failed[digest] = _storing_failed(exc, self._folder)
            # Its other pieces are dropped on arrival.
            return
        del self._coming[digest]
        if not done:
            self._failed[digest] = "a file of the controller arrived with other bytes than its digest says"

    def remove(self, digest):
        """Remove the stored copy of a file."""
        path = self.path(digest)
        if path is not None:
            del self._verified[digest]
            _unlink(path)

    def waiting(self, digest):
        """Whether the blob was registered and is not complete."""
        return digest in self._coming

    def failure(self, digest):
        """Why the blob could not be stored, or None."""
        return self._failed.get(digest)

    def data(self, digest):
        """The bytes of the blob, or None if it was not received."""
        if digest in self._memory:
            return self._memory[digest]
        path = self.path(digest)
        if path is None:
            return None
        with open(path, "rb") as handle:
            return handle.read()

    def path(self, digest):
        """Path of the verified file with these bytes, or None if it was not received."""
        if digest in self._verified and os.path.exists(self._verified[digest]):
            return self._verified[digest]
        folder = self.folder(create=False)
        path = folder and os.path.join(folder, digest)
        if not path or not os.path.isfile(path) or os.path.islink(path):
            return None
        if digest_of(path) != digest:
            _unlink(path)
            return None
        self._verified[digest] = path
        try:
            os.utime(path)  # path: our own folder, 0700
        except OSError:
            pass
        return path

    def hold(self, digest):
        """Whether the blob is available, in memory or on disk."""
        return digest in self._memory or self.path(digest) is not None

    def use(self, digest):
        """Mark the stored copy of a file as requested by a state: it becomes read-only."""
        path = self._verified.get(digest)
        try:
            if path and os.lstat(path).st_mode & 0o200:
                os.chmod(path, 0o400)  # path: our own folder, 0700
        except OSError:
            pass

    def is_used(self, digest):
        """Whether a state has asked for a stored file, in this run or in an earlier one (``use``)."""
        path = self._verified.get(digest)
        try:
            return path is None or not os.lstat(path).st_mode & 0o200
        except OSError:
            return True

    def folder(self, create=True):
        """The folder of the files, created when it is needed; None if there is none."""
        if self._folder is None and self._private is not None:
            folder = os.path.join(self._private, "files")
            try:
                if create and not os.path.isdir(folder):
                    os.mkdir(folder, 0o700)  # path: our own folder, 0700
                info = os.lstat(folder)
                if info.st_uid == os.geteuid() and not info.st_mode & 0o022 and not os.path.islink(folder):
                    self._folder = folder
            except OSError as exc:
                if create and exc.errno not in (errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOENT):
                    raise
        if self._folder is None and create:
            from thin.utils.files import osutil

            self._folder, self._temporary = osutil.mkdtemp(), True
        return self._folder

    def forget_secrets(self):
        """Remove the blobs that are kept only in memory, at the end of a run."""
        self._memory.clear()

    def close(self):
        """Remove temporary files, and the oldest other blobs if they exceed the size limit."""
        for coming in self._coming.values():
            coming.leave()
        self._coming.clear()
        self._memory.clear()
        if self._folder is None:
            return
        if self._temporary:
            from thin.utils.files import osutil

            osutil.rmtree(self._folder, ignore_errors=True)
        else:
            prune(self._folder, self._limit)
        self._folder = None


def prune(folder, limit):
    """Remove the files used longest ago until the rest has ``limit`` bytes at most.

    Received parts of interrupted transfers do not count; they are removed after PART_LIFE.
    """
    import time

    entries, old = [], time.time() - PART_LIFE
    for name in os.listdir(folder):
        path = os.path.join(folder, name)
        try:
            info = os.lstat(path)
        except OSError:
            continue
        if not name.endswith(".part"):
            entries.append((info.st_mtime, info.st_size, path))
        elif info.st_mtime < old:
            _unlink(path)
    total = sum(entry[1] for entry in entries)
    for _, size, path in sorted(entries):
        if total <= limit:
            break
        _unlink(path)
        total -= size


class _Memory(object):
    def __init__(self):
        self._bytes = bytearray()

    def write(self, blobs, digest, piece):
        self._bytes += piece

    def end(self, blobs, digest):
        data = bytes(self._bytes)
        sha = _sha256(len(data))
        sha.update(data)
        if sha.hexdigest() != digest:
            return False
        blobs._memory[digest] = data
        return True

    def abort(self):
        self._bytes = bytearray()

    leave = abort


class _File(object):
    """A file that is being received. It is created for its first piece, or when its received part is requested."""

    def __init__(self):
        self._handle = self._path = None
        self._sha = _sha256(HASHED_WITHOUT_OPENSSL)  # it may be large
        self._size = 0  # bytes that are there, and in the digest
        self._started = False

    def part(self, blobs, digest):
        """See Blobs.part."""
        folder = blobs.folder(create=False)
        if self._started or folder is None or not os.path.exists(_part_path(folder, digest)):
            return None
        self._open(blobs, digest)
        for piece in iter(lambda: os.read(self._handle, 1024 * 1024), b""):
            self._sha.update(piece)
            self._size += len(piece)
        return [self._size, self._sha.hexdigest()] if self._size else None

    def resume(self, at):
        self._started = self._handle is not None and at == self._size

    def write(self, blobs, digest, piece):
        self._begin(blobs, digest)
        self._sha.update(piece)
        rest = memoryview(piece)
        while rest:
            rest = rest[os.write(self._handle, rest) :]
        self._size += len(piece)

    def end(self, blobs, digest):
        self._begin(blobs, digest)
        if self._sha.hexdigest() != digest:
            self.abort()
            return False
        target = os.path.join(blobs.folder(), digest)
        os.rename(self._path, target)  # path: our own folder, 0700
        self._close()
        blobs._verified[digest] = target
        return True

    def abort(self):
        """Remove the received part."""
        if self._handle is not None:
            _unlink(self._path)
            self._close()

    def leave(self):
        """Keep a large received part for the next transfer."""
        if self._size < PART_LEAST or not self._path.endswith(".part"):
            self.abort()
        else:
            self._close()

    def _begin(self, blobs, digest):
        """Prepare for the first piece: at the start, unless the sender continues a transfer."""
        if not self._started:
            self._started = True
            self._open(blobs, digest)
            if self._size or os.fstat(self._handle).st_size:
                os.ftruncate(self._handle, 0)
                os.lseek(self._handle, 0, os.SEEK_SET)
                self._sha, self._size = _sha256(HASHED_WITHOUT_OPENSSL), 0

    def _open(self, blobs, digest):
        if self._handle is not None:
            return
        self._path = _part_path(blobs.folder(), digest)
        self._handle = _locked(self._path)
        if self._handle is None:  # another session receives the same file
            self._path = os.path.join(blobs.folder(), ".%s.%d" % (digest, os.getpid()))
            _unlink(self._path)
            # path: our own folder, 0700
            self._handle = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_EXCL | _FLAGS, 0o600)

    def _close(self):
        os.close(self._handle)
        self._handle = None


def _part_path(folder, digest):
    return os.path.join(folder, ".%s.part" % digest)


def _locked(path):
    """A locked descriptor of the file at ``path``, created if missing; None if another process has the lock."""
    import fcntl

    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | _FLAGS, 0o600)  # path: our own folder, 0700
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except (IOError, OSError):
            os.close(handle)
            return None
        try:
            if os.path.samestat(os.fstat(handle), os.lstat(path)):
                return handle
        except OSError:
            pass
        os.close(handle)  # the process that held it has just finished: the name is free again


def _storing_failed(exc, folder):
    where = " in %s" % folder if folder else ""
    return "cannot store a file of the controller%s: %s" % (where, exc.strerror or exc)


def _unlink(path):
    try:
        os.unlink(path)  # path: our own folder, 0700
    except OSError:
        pass
