"""Results of file server backends: files and listings, and regular files on the controller's disk."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, BinaryIO, Final, Protocol

from pushsalt.errors import StateError
from pushsalt.files.digests import digest_cache, key_of

if TYPE_CHECKING:
    from pushsalt.trust import Limit

#: Bytes up to which ``FoundFile.read`` reads a file into memory. Larger files are only streamed.
MAX_READ: Final = 256 * 1024 * 1024


class FileServerError(StateError):
    """A file of the file server cannot be read."""


class FoundFile(Protocol):
    """A file that a backend found. ``rel`` is its path below the root, ``path`` is its name in messages.

    It may have a ``limit``: the only renderers that it may use (``pushsalt.trust.Limit``).
    """

    @property
    def rel(self) -> str: ...
    @property
    def path(self) -> str: ...
    @property
    def size(self) -> int: ...
    @property
    def mode(self) -> int:
        """Permission bits, e.g. 0o644."""
        ...

    def read(self) -> bytes: ...
    def open(self) -> BinaryIO: ...
    def digest(self, hash_type: str = "sha256") -> str:
        """The digest as hexadecimal text; it is cached until the file changes."""
        ...


@dataclass(frozen=True)
class Listing:
    """All paths of a saltenv, relative to its roots, sorted. ``links``: path -> destination of the link, as written."""

    files: Sequence[str] = ()
    dirs: Sequence[str] = ()
    empty_dirs: Sequence[str] = ()
    links: Mapping[str, str] = field(default_factory=dict)


def merged(listings: Sequence[Listing]) -> Listing:
    """The merged listings of several roots; of equal links the first wins."""
    if len(listings) == 1:
        return listings[0]
    links: dict[str, str] = {}
    for listing in reversed(listings):
        links.update(listing.links)
    return Listing(
        files=sorted({path for listing in listings for path in listing.files}),
        dirs=sorted({path for listing in listings for path in listing.dirs}),
        empty_dirs=sorted({path for listing in listings for path in listing.empty_dirs}),
        links=links,
    )


@dataclass(frozen=True)
class DiskFile:
    """A regular file on the controller's disk. ``limit``: the trust limit, for the copy of a git remote."""

    rel: str
    path: str
    status: os.stat_result = field(compare=False, repr=False)
    limit: Limit | None = None

    @property
    def size(self) -> int:
        return self.status.st_size

    @property
    def mode(self) -> int:
        return stat.S_IMODE(self.status.st_mode)

    @property
    def is_unchanged(self) -> bool:
        """Whether the path still leads to this file, and the file was not written since it was found."""
        try:
            now = os.stat(self.path)  # noqa: PTH116 - for speed
        except OSError:
            return False
        return key_of(self.path, "", now) == key_of(self.path, "", self.status)

    def open(self) -> BinaryIO:
        """The file for reading. Raises FileServerError; never waits for a FIFO or device that took its place."""
        try:
            descriptor = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as exc:
            raise FileServerError(f"{self.path} cannot be read: {exc.strerror}") from None
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise FileServerError(f"{self.path} is no longer a regular file")
        return os.fdopen(descriptor, "rb")

    def read(self) -> bytes:
        with self.open() as stream:
            expected = min(os.fstat(stream.fileno()).st_size, MAX_READ) + 1
            data = stream.read(expected)  # a limit, since Python allocates as much memory as requested
            if len(data) == expected:
                data += stream.read(MAX_READ + 1 - expected)
        if len(data) > MAX_READ:
            raise FileServerError(f"{self.path} is larger than {MAX_READ} bytes")
        return data

    def digest(self, hash_type: str = "sha256") -> str:
        key = key_of(self.path, hash_type, self.status)
        digest = digest_cache.get(key, self.status)
        if digest is None:
            hasher = hashlib.new(hash_type, usedforsecurity=False)
            with self.open() as stream:
                while chunk := stream.read(1024 * 1024):
                    hasher.update(chunk)
            digest = hasher.hexdigest()
            digest_cache.add(key, self.status, digest)
        return digest


def disk_file(path: str, rel: str) -> DiskFile | None:
    """The regular file at ``path``, also through links; None if it is anything else."""
    try:
        status = os.stat(path)  # noqa: PTH116 - for speed
    except (OSError, ValueError):
        return None
    return DiskFile(rel, path, status) if stat.S_ISREG(status.st_mode) else None
