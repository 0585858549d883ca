"""Lookups of hosts in known_hosts find the same lines as ssh."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import asyncssh
import pytest

from pushsalt.transport.hostkeys import KnownHosts

pytestmark = pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="no ssh-keygen")

NAMES = (
    "web1",
    "WEB2,alias",
    "10.0.0.1",
    "*.example.org,!bad.example.org",
    "[web1]:2222",
    "[*.port.org]:2222",
    "db?",
    "hashed",
    "[hashed]:2222",
    "web1",
)


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("known") / "known_hosts"
    keys = [asyncssh.generate_private_key("ssh-ed25519").export_public_key().decode().strip() for _ in NAMES]
    hashed, plain = [], []
    for name, key in zip(NAMES, keys, strict=True):
        (hashed if "hashed" in name else plain).append(f"{name} {key}\n")
    path.write_text("".join(hashed))
    subprocess.run(["ssh-keygen", "-q", "-H", "-f", path], check=True, capture_output=True)
    path.write_text("".join(plain) + path.read_text())
    return path


@pytest.mark.parametrize("port", [22, 2222])
@pytest.mark.parametrize(
    "host",
    [
        "web1",
        "Web1",
        "web2",
        "alias",
        "10.0.0.1",
        "a.example.org",
        "bad.example.org",
        "a.port.org",
        "db1",
        "db12",
        "hashed",
        "x",
    ],
)
def test_host_keys_are_found_as_by_ssh(stored: Path, host: str, port: int) -> None:
    name = host if port == 22 else f"[{host}]:{port}"
    said = subprocess.run(["ssh-keygen", "-F", name, "-f", stored], capture_output=True, text=True, check=False).stdout
    wanted = [int(line) for line in re.findall(r"found: line (\d+)", said)]
    found = KnownHosts([stored]).lookup(host, port)
    assert [int(where.rpartition(":")[2]) for _, where in found.trusted] == wanted


def test_a_key_under_the_default_port_is_kept_apart(stored: Path) -> None:
    found = KnownHosts([stored]).lookup("web2", 2222)
    assert (found.trusted, len(found.elsewhere)) == ([], 1)


def test_an_added_key_is_found_at_once(tmp_path: Path) -> None:
    hosts = KnownHosts([tmp_path / "new" / "known_hosts"])
    key = asyncssh.generate_private_key("ssh-ed25519").convert_to_public()
    hosts.add("New1", 2222, key)
    for again in (hosts, KnownHosts(hosts.files)):
        assert [trusted.public_data for trusted, _ in again.lookup("new1", 2222).trusted] == [key.public_data]


def test_a_hashed_line_is_found_again(stored: Path) -> None:
    hosts = KnownHosts([stored])
    first, second = (hosts.lookup("hashed", port) for port in (22, 2222))
    assert [len(record.trusted) for record in (first, second)] == [1, 1]
    assert second.elsewhere
    for port, record in ((2222, second), (22, first)):
        assert hosts.lookup("hashed", port).trusted == record.trusted
    assert hosts.lookup("x", 22).trusted == []


def test_a_hashed_line_is_not_compared_once_its_name_is_known(stored: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hosts = KnownHosts([stored])
    hosts.lookup("hashed", 2222)
    monkeypatch.setattr("pushsalt.transport.hostkeys.hashlib.sha1", None)
    assert hosts.lookup("web1", 22).trusted
