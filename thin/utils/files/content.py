"""The wanted content of a managed file. As long as possible, only its digest is used.

Each class has ``hash_type`` and ``hsum`` (to compare with an existing file), ``pieces()`` (the bytes, fetched at the
first call) and ``read()``. A comparison needs no transfer: the bytes are only fetched if they differ.
"""

import os

from thin.exceptions import CommandExecutionError
from thin.utils.files import atomic, hashes

#: The suffix of temporary files that ``spooled`` creates.
SPOOL = ".spool"


class Failed(CommandExecutionError):
    """The file cannot be managed. The text is the whole comment of the state."""


class Data(object):
    """Bytes in memory: contents of a state, rendered templates. They are written to no file but the managed one."""

    hash_type = "sha256"

    def __init__(self, data):
        self.data = data

    @property
    def hsum(self):
        return hashes.data_hash(self.data)

    def pieces(self):
        return [self.data]

    def read(self):
        return self.data


class LocalFile(object):
    """A file of this machine. If ``source_sum`` is given, its bytes must have that digest."""

    def __init__(self, path, source_sum=None, words=None):
        self.path = path
        self.hash_type = source_sum["hash_type"] if source_sum else "sha256"
        self._hsum = source_sum["hsum"].lower() if source_sum else None
        self._words = words if source_sum else None

    @property
    def has_digest(self):
        """Whether the digest is given or was computed already, so that the bytes need not be read."""
        return self._hsum is not None

    @property
    def hsum(self):
        if self._hsum is None:
            self._hsum = hashes.file_hash(self.fetched(), self.hash_type)
        return self._hsum

    def fetched(self):
        """The path of the file. Raises Failed if its bytes do not have the digest."""
        if self._words:
            digest = hashes.file_hash(self.path, self.hash_type)
            if digest != self._hsum:
                raise Failed(self._words % (self.hash_type, self._hsum, digest))
            self._words = None
        return self.path

    def pieces(self):
        return atomic.pieces(self.fetched())

    def read(self):
        return b"".join(self.pieces())


class Fetched(LocalFile):
    """A remote source. ``fetch()`` returns the path of a local copy, or None if the source does not exist."""

    def __init__(self, name, fetch, source_sum=None, words=None):
        LocalFile.__init__(self, None, source_sum, words)
        self.name = name
        self._fetch = fetch

    def obtain(self):
        """Fetch the source without comparing its digest."""
        if self.path is None:
            self.path = self._fetch()
            if not self.path:
                raise Failed("Source file '%s' not found" % self.name)

    def fetched(self):
        self.obtain()
        return LocalFile.fetched(self)


def same(content, path):
    """Whether the regular file at ``path`` has this content already. Raises OSError."""
    if isinstance(content, Data):
        return os.path.getsize(path) == len(content.data) and _read(path) == content.data
    return hashes.file_hash(path, content.hash_type) == content.hsum


def read_file(path):
    from thin.utils.files import safepath

    return safepath.read(path)


def _read(path):
    with open(path, "rb", opener=hashes.at_once) as source:
        return source.read()


def spooled(content):
    """The path of a private temporary file with these bytes; the caller, such as manage_file, removes it."""
    from thin.utils.files import osutil

    descriptor, path = osutil.mkstemp(suffix=SPOOL)
    with os.fdopen(descriptor, "wb") as target:
        target.write(content.read())
    return path


def unspool(path):
    """Remove a file that ``spooled`` created; any other path is left."""
    from thin.utils.files import safepath

    if path and os.path.basename(path).startswith(".pushsalt-") and path.endswith(SPOOL):
        safepath.unlink(path)
