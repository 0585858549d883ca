"""Certificates of `pushsalt ca` with real sshds: which users get in, until when, and which hosts are accepted."""

from __future__ import annotations

import asyncio
import getpass
import json
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from pushsalt.ca.wire import parse_certificate
from pushsalt.errors import TargetError
from pushsalt.model import Target
from pushsalt.transport import ConnectOptions, connect, ssh
from tests.beds import sshd
from tests.beds.certificates import CaProject, add, agent
from tests.beds.sshd import SshdBed, keygen

pytestmark = [
    pytest.mark.slow,
    pytest.mark.sshd,
    pytest.mark.skipif(bool(sshd.missing()), reason=sshd.missing() or "-"),
]


class Site:
    """A CA whose keys an agent has, and a server of its environment prod that accepts no plain key."""

    def __init__(self, folder: Path, socket: str) -> None:
        self.project = CaProject(folder)
        self.project.more = {"SSH_AUTH_SOCK": socket}
        self.keys = {name: folder / name for name in ("root", "user", "host")}
        self.bed = SshdBed(folder / "bed")
        self.known_hosts = folder / "known_hosts"

    def start(self) -> None:
        words = [("--root", "root"), ("--user-ca", "user"), ("--host-ca", "host")]
        pubs = [word for flag, name in words for word in (flag, f"{self.keys[name]}.pub")]
        self.project.good("init", "prod", *pubs)
        ca = self.project.root
        principals = ca.parent / "principals"
        principals.mkdir()
        (principals / getpass.getuser()).write_text("prod-web\n")
        self.certificate = Path(f"{self.bed.host_key}-cert.pub")
        self.sign_host("127.0.0.1")
        config = [
            f"TrustedUserCAKeys {self.keys['user']}.pub",
            f"AuthorizedPrincipalsFile {principals}/%u",
            f"RevokedKeys {ca / 'envs/prod/revoked.krl'}",
            "AuthorizedKeysFile none",
            f"HostCertificate {self.certificate}",
        ]
        self.bed.add("web1", config)
        self.bed.wait()
        self.know()

    def sign_host(self, name: str, *arguments: str) -> int:
        done = self.project.good("sign-host", "--env", "prod", "--name", name, *arguments, f"{self.bed.host_key}.pub")
        shutil.copy(done[0]["file"], self.certificate)
        self.bed.targets and self.reload()
        return int(done[0]["serial"])

    def reload(self) -> None:
        """Start the server again with its current certificate."""
        target = self.bed.targets.pop("web1")
        target.process.terminate()
        target.process.wait(5)
        self.bed.add("web1", target.config)
        self.bed.wait()

    def know(self) -> None:
        """Clients accept the hosts that the CA signed, and no others."""
        self.known_hosts.write_text("\n".join(self.project.good("show", "--known-hosts")) + "\n")

    def user(self, name: str, *arguments: str, role: str = "web") -> Path:
        key = self.project.folder / name
        if not key.exists():
            keygen(key)
        self.serial = self.project.good(
            "sign-user", "--env", "prod", "--role", role, "--id", name, *arguments, f"{key}.pub"
        )["serial"]
        return key

    def options(self, *files: Path, **kwargs: object) -> ConnectOptions:
        return ConnectOptions(known_hosts=files or (self.known_hosts,), ssh_config=(), connect_timeout=8, **kwargs)

    def target(self, key: Path | None, **kwargs: object) -> Target:
        host = self.bed.targets["web1"].host()
        values = {"host": "127.0.0.1", "port": host["port"], "user": host["user"], "agent": False, **kwargs}
        return Target("web1", priv=(str(key),) if key else (), **values)


@pytest.fixture
def site(tmp_path):
    for name in ("root", "user", "host"):
        keygen(tmp_path / name)
    with agent(tmp_path / "agent", *(tmp_path / name for name in ("root", "user", "host"))) as socket:
        found = Site(tmp_path, socket)
        with found.bed:
            found.start()
            yield found


async def run(connection, *arguments):
    stream = await connection.open(arguments or ("/bin/echo", "here"))
    output = b""
    while piece := await stream.read():
        output += piece
    await stream.wait_closed()
    return output


async def enter(site, key, options=None, **kwargs):
    connection = await connect(site.target(key, **kwargs), options or site.options())
    try:
        return await run(connection)
    finally:
        await connection.close()


def end(key):
    """A time at which the certificate next to the key has expired."""
    return parse_certificate(Path(f"{key}-cert.pub").read_text()).valid_before + 1


async def refused(site, key, options=None, **kwargs):
    with pytest.raises(TargetError) as caught:
        await enter(site, key, options, **kwargs)
    return caught.value


async def test_a_certificate_of_the_right_role_and_no_other(site):
    """The host is accepted because of its certificate, the user because of a principal of the environment and role."""
    assert await enter(site, site.user("alice")) == b"here\n"
    other = await refused(site, site.user("bob", role="db"))
    assert other.kind == "auth_failed"
    keygen(site.project.folder / "plain")
    assert (await refused(site, site.project.folder / "plain")).kind == "auth_failed"


async def test_a_certificate_that_ended_and_one_that_was_renewed_while_connected(site):
    """Open connections continue; the next connection of the same command uses the renewed certificate."""
    key = site.user("alice", "--valid", "8s")
    options = site.options()
    connection = await connect(site.target(key), options)
    ended = end(key)
    assert await run(connection) == b"here\n"
    await asyncio.sleep(max(0, ended - time.time()))
    error = await refused(site, key, options)
    assert error.kind == "auth_failed" and "-cert.pub has ended: have it renewed" in error.message
    assert await run(connection) == b"here\n"
    site.user("alice", "--valid", "1h")
    assert await enter(site, key, options) == b"here\n"
    assert await run(connection) == b"here\n"
    await connection.close()


async def test_revoked_certificates(site):
    alice = site.user("alice")
    site.project.good("revoke", str(site.serial))
    assert (await refused(site, alice)).kind == "auth_failed"
    site.user("alice")
    assert await enter(site, alice) == b"here\n"
    site.project.good("revoke", f"{alice}.pub")
    assert (await refused(site, alice)).kind == "auth_failed"
    bob = site.user("bob")
    site.project.good("revoke", "prod/user/bob/web")
    assert (await refused(site, bob)).kind == "auth_failed"


async def test_certificates_of_an_agent(site, tmp_path, monkeypatch):
    """An agent's own certificate, one next to the public half of its key, and its renewal, within one command."""
    key = site.user("alice", "--valid", "8s")
    with agent(tmp_path / "agent2", key) as socket:  # removes the certificate with the key
        monkeypatch.setenv("SSH_AUTH_SOCK", socket)
        monkeypatch.setenv("HOME", str(tmp_path))
        ended = end(key)
        options = site.options()
        assert await enter(site, None, options, agent=True) == b"here\n"
        only = {"agent": True, "ssh_options": (f"IdentityFile {key}", "IdentitiesOnly yes")}
        aside = key.rename(key.with_name("aside"))
        assert await enter(site, None, options, **only) == b"here\n"
        await asyncio.sleep(max(0, ended - time.time()))
        assert (await refused(site, None, options, agent=True)).kind == "auth_failed"
        site.project.good("sign-user", "--env", "prod", "--role", "web", "--id", "alice", f"{key}.pub")
        assert await enter(site, None, options, **only) == b"here\n"  # the new certificate is next to KEY.pub
        Path(f"{key}-cert.pub").rename(f"{aside}-cert.pub")
        add(socket, str(aside))
        assert await enter(site, None, options, agent=True) == b"here\n"
        await ssh.close(options)


async def test_host_certificates_that_do_not_count(site):
    key = site.user("alice")
    site.sign_host("192.0.2.1")
    error = await refused(site, key)
    assert error.kind == "host_key_unknown" and "principal" in error.message
    site.sign_host("127.0.0.1", "--valid", "1s")
    site.know()
    await asyncio.sleep(2)
    error = await refused(site, key)
    assert error.kind == "host_key_unknown" and "expired" in error.message and "host certificate" in error.hint
    serial = site.sign_host("127.0.0.1")
    site.know()
    assert await enter(site, key) == b"here\n"
    site.project.good("revoke", str(serial))
    site.know()
    error = await refused(site, key, site.options(site.known_hosts, accept_new_host_keys=True))
    assert error.kind == "host_key_revoked"


async def test_a_certificate_of_another_authority_is_no_known_host(site, tmp_path):
    keygen(tmp_path / "mallory")
    words = ["-s", str(tmp_path / "mallory"), "-I", "x", "-h", "-n", "127.0.0.1", f"{site.bed.host_key}.pub"]
    subprocess.run(["ssh-keygen", "-q", *words], check=True)
    site.reload()
    site.know()
    key = site.user("alice")
    assert (await refused(site, key)).kind == "host_key_unknown"


async def test_a_host_that_is_known_by_itself_is_reached_when_its_certificate_ended(site):
    """Otherwise a new certificate could not be installed on it; a revoked key is still refused."""
    key = site.user("alice")
    site.sign_host("127.0.0.1", "--valid", "1s")
    site.know()
    await asyncio.sleep(2)
    files = (site.known_hosts, site.bed.known_hosts)
    assert (await refused(site, key)).kind == "host_key_unknown"
    assert await enter(site, key, site.options(*files)) == b"here\n"
    site.project.good("revoke", f"{site.bed.host_key}.pub")
    site.know()
    assert (await refused(site, key, site.options(*files))).kind == "host_key_revoked"


async def test_openssh_itself_agrees(site):
    """OpenSSH's own client accepts the same hosts with the known_hosts of the folder."""
    key = site.user("alice")
    known_hosts = site.project.root / "known_hosts"
    target = site.bed.targets["web1"]
    words = ["-F", "none", "-i", str(key), "-o", "IdentitiesOnly=yes", "-o", "BatchMode=yes", "-p", str(target.port)]
    argv = ["ssh", *words, "-o", f"UserKnownHostsFile={known_hosts}", "-o", "GlobalKnownHostsFile=none"]
    argv += ["-o", "StrictHostKeyChecking=yes", f"{getpass.getuser()}@127.0.0.1", "echo here"]
    environment = {"PATH": "/usr/bin:/bin"}
    done = subprocess.run(argv, capture_output=True, text=True, env=environment, timeout=20)
    assert done.stdout == "here\n", done.stderr
    site.project.good("revoke", f"{site.bed.host_key}.pub")
    done = subprocess.run(argv, capture_output=True, text=True, env=environment, timeout=20)
    assert done.returncode == 255 and "revoked" in done.stderr.lower()


def test_host_keys_are_fetched_through_pushsalt_and_signed(site):
    """`sign-host --target` fetches the keys from the machine; the inventory has its names."""
    key = site.user("alice")
    host = {**site.bed.targets["web1"].host(), "priv": str(key), "agent": True}
    host["ssh_options"] = [f"UserKnownHostsFile={site.known_hosts}"]
    site.project.write("inventory.yaml", json.dumps({"hosts": {"web1": host}}))
    if not list(Path("/etc/ssh").glob("ssh_host_ed25519_key.pub")):
        pytest.skip("this machine has no host keys to be told")
    done = site.project.good("sign-host", "--env", "prod", "--target", "web*")
    assert {one["id"] for one in done} == {"web1"} and done[0]["principals"] == ["web1", "127.0.0.1"]
    told = Path("/etc/ssh/ssh_host_ed25519_key.pub").read_text().split()[1]
    assert told in {one["public_key"].split()[1] for one in done}
    found = {path.name for path in (site.project.root / "envs/prod/hosts/web1").iterdir()}
    assert "ed25519-cert.pub" in found
