"""asyncssh is imported without a search for liboqs by a compiler, and with liboqs if it is installed."""

import subprocess
import sys

import pytest

from pushsalt.transport import ssh_library


@pytest.mark.skipif(not ssh_library.LINKER_CACHE.exists(), reason="the linker has no cache here")
@pytest.mark.skipif(not ssh_library._unknown_to_linker(), reason="this machine may have liboqs")
def test_no_compiler_runs(tmp_path):
    for name in ("gcc", "cc", "ld"):
        program = tmp_path / name
        program.write_text(f"#!/bin/sh\n: > '{tmp_path}/ran'\nexit 1\n")
        program.chmod(0o755)
    code = "from pushsalt.transport import ssh; ssh.asyncssh.connect"
    subprocess.run([sys.executable, "-c", code], check=True, env={"PATH": str(tmp_path)})
    assert not (tmp_path / "ran").exists()


@pytest.fixture
def asked(monkeypatch):
    """The names for which Python's own search was called."""
    names: list[str] = []
    monkeypatch.setattr(ssh_library, "_find_library", names.append)
    monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)
    return names


@pytest.mark.parametrize(
    ("cache", "environment", "searched"),
    [
        (b"\0libc.so.6\0/lib/libc.so.6\0", {}, ["c"]),
        (b"\0liboqs.so.7\0/usr/lib/liboqs.so.7\0", {}, ["oqs", "liboqs", "c"]),
        (b"\0libc.so.6\0/lib/libc.so.6\0", {"LD_LIBRARY_PATH": "/opt/lib"}, ["oqs", "liboqs", "c"]),
        (None, {}, ["oqs", "liboqs", "c"]),
    ],
)
def test_liboqs_is_looked_for_where_it_may_be(tmp_path, monkeypatch, asked, cache, environment, searched):
    path = tmp_path / "ld.so.cache"
    if cache is not None:
        path.write_bytes(cache)
    monkeypatch.setattr(ssh_library, "LINKER_CACHE", path)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    for name in ("oqs", "liboqs", "c"):
        ssh_library._find(name)
    assert asked == searched
