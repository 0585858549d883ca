from __future__ import annotations

import shutil

import pytest

from pushsalt.fileserver import FileServer
from pushsalt.git.lockfile import LockFile
from pushsalt.git.remotes import Remotes
from tests.beds.gitserver import Repo

if shutil.which("git") is None:
    pytest.skip("git is not installed", allow_module_level=True)


@pytest.fixture
def repo(tmp_path):
    """Makes a repository: `repo({"path": "text"}, name="r")`."""

    def make(files=None, name="repo", **kwargs):
        return Repo(tmp_path / f"{name}.git", files, **kwargs)

    return make


@pytest.fixture
def made(tmp_path):
    """Objects that the test opened; they are closed at its end."""
    opened = []
    yield opened
    for remotes in opened:
        remotes.close()


@pytest.fixture
def remotes(tmp_path, made):
    """Makes the remotes of one command; each call is a new command over the same cache."""

    def make(lock=None, strict=False, cache="cache", **kwargs):
        found = Remotes(tmp_path / cache, LockFile(lock, strict) if lock else None, silence=5.0, **kwargs)
        made.append(found)
        return found

    return make


@pytest.fixture
def serve(remotes):
    """A file server over remotes: `serve(repo)`, `serve({repo.url: [...]}, gitfs_base="main", lock=…)`."""

    def make(*entries, lock=None, strict=False, command=None, **opts):
        configured = [entry.url if isinstance(entry, Repo) else entry for entry in entries]
        settings = {"fileserver_backend": ["git"], "gitfs_remotes": configured, "gitfs_update_interval": 0, **opts}
        return FileServer(settings, command or remotes(lock, strict))

    return make
