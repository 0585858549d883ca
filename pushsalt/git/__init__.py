"""Remote git repositories: fetched into bare mirrors in the cache, read by object hash, never checked out.

A remote is not trusted: its URL, names, objects and answers are checked. ``address`` checks URLs, ``access`` makes the
environment and credentials of git, ``mirror`` keeps the copies, ``objects`` reads them, ``settings`` has Salt's options
of a remote, ``lockfile`` pins revisions, and ``Remotes`` (``remotes``) has all remotes of one command. GitPython is
imported only to fetch.
"""

from __future__ import annotations

from pushsalt.files.found import FileServerError


class GitError(FileServerError):
    """A repository cannot be fetched or read. The text names it, without credentials."""


class UnreachableError(GitError):
    """The remote did not answer, or refused access; the cache is not damaged."""


class DamagedError(GitError):
    """An object is missing in the cache, or its content does not match its hash."""
