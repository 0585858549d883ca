"""Git repositories that others keep: fetched into bare mirrors of the cache, read by hash, never checked out.

What comes from a remote is not trusted: its URL, names, objects and answers. ``address`` says which URLs are taken,
``access`` with which environment and credentials git runs, ``mirror`` keeps the copies, ``objects`` reads them,
``settings`` are Salt's options of a remote, ``lockfile`` pins revisions, and ``Remotes`` (``remotes``) is what one
command has of all this. GitPython is imported when something is fetched, not before.
"""

from __future__ import annotations

from pushsalt.files.found import FileServerError


class GitError(FileServerError):
    """A repository cannot be fetched or read. The text names it, without credentials."""


class UnreachableError(GitError):
    """The remote did not answer, or refused: the fault is not in the cache."""


class DamagedError(GitError):
    """An object that should be in the cache is not there, or is not what its name says."""
