"""Digests are cached between commands until a file changes."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from pushsalt.files import digests as module
from pushsalt.files.digests import Digests
from pushsalt.files.found import disk_file


@pytest.fixture
def command(tmp_path, monkeypatch):
    """A new command's cache of digests; returns the paths that were hashed."""
    monkeypatch.setattr(module, "MANY_FILES", 3)

    def begin() -> tuple[Digests, list[str]]:
        fresh, hashed = Digests(), []
        add = fresh.add
        fresh.add = lambda key, status, digest: (hashed.append(Path(key[0]).name), add(key, status, digest))
        fresh.keep_in(tmp_path / "cache")
        monkeypatch.setattr("pushsalt.files.found.digest_cache", fresh)
        return fresh, hashed

    return begin


def test_kept_while_a_file_stays_as_it_is(tmp_path, command, monkeypatch):
    (tmp_path / "tree").mkdir()
    paths = [tmp_path / "tree" / f"f{number}" for number in range(8)]
    for path in paths:
        path.write_text(path.name)

    def look(old: bool):
        kept, hashed = command()
        monkeypatch.setattr(module, "RACY", -60 if old else 60)  # the change time of a file cannot be set
        found = {path.name: disk_file(str(path), path.name).digest() for path in paths}
        assert found == {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}
        kept.keep()
        return hashed

    assert len(look(old=False)) == 8
    assert len(look(old=False)) == 8, "what has just been written may change again within the same tick"
    assert len(look(old=True)) == 8
    assert look(old=True) == ["f0", "f1", "f2"], "the first are hashed before the cache is worth to be read"
    status = paths[7].stat()
    paths[7].write_text("F7")
    os.utime(paths[7], ns=(status.st_atime_ns, status.st_mtime_ns))
    assert look(old=True) == ["f0", "f1", "f2", "f7"]
    for file in (tmp_path / "cache" / "digests").iterdir():
        file.write_bytes(b"damaged")
    assert len(look(old=True)) == 8
