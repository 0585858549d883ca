"""The formula ssh_ca on a real sshd: certificates are accepted, revoked ones refused, and the operator keeps access."""

from __future__ import annotations

import getpass
import json
import os
import shutil
from pathlib import Path

import pytest

from pushsalt.errors import TargetError
from pushsalt.model import Target
from pushsalt.transport import ConnectOptions, connect
from tests.beds import sshd
from tests.beds.certificates import CaProject, agent
from tests.beds.sshd import SshdBed, keygen

ROOT = Path(__file__).parents[2]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.sshd,
    pytest.mark.skipif(bool(sshd.missing()), reason=sshd.missing() or "-"),
    pytest.mark.skipif(os.geteuid() != 0, reason="the formula's files are root's"),
]


class Site:
    """A machine web1 whose /etc/ssh is a folder of the test, and the CA of its environment."""

    def __init__(self, folder: Path, socket: str) -> None:
        self.folder = folder
        self.etc = folder / "etc"
        self.etc.mkdir()
        self.bed = SshdBed(folder / "bed")
        self.bed.add("web1", [f"Include {self.etc}/sshd_config.d/*.conf"])
        self.bed.wait()
        (self.etc / "sshd_config").symlink_to(folder / "bed/sshd-web1.conf")
        for suffix in ("", ".pub"):
            shutil.copy(f"{self.bed.host_key}{suffix}", self.etc / f"ssh_host_ed25519_key{suffix}")
        self.project = CaProject(folder, {"web1": self.bed.targets["web1"].host()})
        self.project.more = {"SSH_AUTH_SOCK": socket}
        shutil.copy(self.bed.known_hosts, self.project.home / ".ssh/known_hosts")
        pubs = [word for name in ("root", "user", "host") for word in (f"--{name}-ca", f"{folder / name}.pub")]
        self.project.good("init", "prod", "--root", *pubs[1:])
        self.project.good(
            "sign-host", "--env", "prod", "--id", "web1", "--name", "127.0.0.1", f"{self.bed.host_key}.pub"
        )
        self.configure(root=self.project.fingerprint())

    def configure(self, root: str, **pillar: object) -> None:
        source = {"ssh_ca": {"dir": "ca", "root": root}}
        roots = {"base": [str(ROOT / "formulas")]}
        config = {"file_roots": roots, "pillar_roots": {"base": ["pillar"]}, "ext_pillar": [source]}
        self.project.write("pushsalt.yaml", json.dumps(config))
        reload = f"kill -HUP {self.bed.targets['web1'].process.pid}; sleep 0.3"
        data = {"env": "prod", "logins": {getpass.getuser(): ["web"]}, "conf_dir": str(self.etc), "reload": reload}
        self.project.write("pillar/top.sls", "base: {'*': [ssh]}")
        self.project.write("pillar/ssh.sls", json.dumps({"ssh_ca": {**data, **pillar}}))

    def apply(self, *arguments):
        done = self.project.json("apply", "web1", "ssh_ca", *arguments, timeout=120)
        return done.code, done.data["web1"]

    def good(self, *arguments):
        """The states that changed something; fails unless all succeeded."""
        code, states = self.apply(*arguments)
        assert isinstance(states, dict), states
        assert (code, [ret["comment"] for ret in states.values() if ret["result"] is False]) == (0, []), states
        return {tag.split("_|-")[1] for tag, ret in states.items() if ret["changes"]}

    def failed(self):
        code, states = self.apply()
        assert code == 2 and isinstance(states, dict), states
        return {tag.split("_|-")[1]: ret["comment"] for tag, ret in states.items() if ret["result"] is False}

    def user(self, name: str, role: str = "web") -> Path:
        key = self.folder / name
        if not key.exists():
            keygen(key)
        done = self.project.good("sign-user", "--env", "prod", "--role", role, "--id", name, f"{key}.pub")
        self.serial = str(done["serial"])
        return key

    async def enters(self, key: Path, *known_hosts: Path) -> str:
        """An empty text, or the error kind."""
        host = self.bed.targets["web1"].host()
        target = Target("web1", host="127.0.0.1", port=host["port"], user=host["user"], priv=(str(key),), agent=False)
        options = ConnectOptions(known_hosts=known_hosts or (self.bed.known_hosts,), ssh_config=(), connect_timeout=8)
        try:
            await (await connect(target, options)).close()
        except TargetError as exc:
            return exc.kind
        return ""


@pytest.fixture
def site(tmp_path):
    for name in ("root", "user", "host"):
        keygen(tmp_path / name)
    with agent(tmp_path / "agent", *(tmp_path / name for name in ("root", "user", "host"))) as socket:
        found = Site(tmp_path, socket)
        with found.bed:
            yield found


async def test_users_hosts_and_revocation_reach_the_machine(site):
    assert "ssh_ca-config" in site.good("--test") and not (site.etc / "ssh_ca").exists()
    assert {"ssh_ca-config", "ssh_ca-revoked", "ssh_ca-host-certificate-ed25519", "ssh_ca-reloaded"} <= site.good()
    assert site.good() == set()
    alice, bob = site.user("alice"), site.user("bob", role="db")
    assert [await site.enters(key) for key in (alice, bob, site.bed.key)] == ["", "auth_failed", ""]
    # the host is accepted because of its certificate only
    assert await site.enters(alice, site.project.root / "known_hosts") == ""
    assert "@cert-authority * ssh-ed25519 " in (site.etc / "ssh_known_hosts2").read_text()
    # a renewed host certificate, and a revocation
    site.project.good("sign-host", "--env", "prod", "--renew", "--within", "100d")
    site.project.good("revoke", site.serial, f"{alice}.pub")
    assert await site.enters(alice) == ""
    changed = site.good()
    assert {"ssh_ca-revoked", "ssh_ca-host-certificate-ed25519", "ssh_ca-reloaded"} <= changed
    assert "ssh_ca-config" not in changed
    assert [await site.enters(key) for key in (alice, site.bed.key)] == ["auth_failed", ""]


async def test_roles_follow_the_pillar(site):
    site.good()
    bob = site.user("bob", role="db")
    assert await site.enters(bob) == "auth_failed"
    login = getpass.getuser()
    site.configure(
        site.project.fingerprint(), logins={login: ["db"], "other": ["web"]}, principals={login: ["break-glass"]}
    )
    site.good()
    assert await site.enters(bob) == ""
    assert (site.etc / "ssh_ca/principals" / login).read_text() == "prod-db\nbreak-glass\n"
    site.configure(site.project.fingerprint(), logins={"other": ["web"]})
    site.good()
    assert await site.enters(bob) == "auth_failed"
    assert [path.name for path in (site.etc / "ssh_ca/principals").iterdir()] == ["other"]


async def test_certificates_only_when_told(site):
    site.configure(site.project.fingerprint(), authorized_keys=False, logins={})
    assert list(site.failed()) == ["ssh_ca-nobody-gets-in"] and not (site.etc / "sshd_config.d").exists()
    site.configure(site.project.fingerprint(), authorized_keys=False)
    site.good()
    assert await site.enters(site.bed.key) == "auth_failed"
    assert await site.enters(site.user("alice")) == ""


async def test_a_configuration_that_sshd_refuses_is_not_put_in_place(site):
    config = site.folder / "bed/sshd-web1.conf"
    before = config.read_text()
    config.write_text(before + "NoSuchWord yes\n")
    failed = site.failed()
    assert "ssh_ca-config" in failed and "ssh_ca-reloaded" in failed
    assert not list((site.etc / "sshd_config.d").glob("*"))
    assert await site.enters(site.bed.key) == ""


def test_a_configuration_without_include_is_said(site):
    config = site.folder / "bed/sshd-web1.conf"
    config.write_text(config.read_text().replace("Include", "# Include"))
    assert "ssh_ca-in-force" in site.failed()
    site.configure(site.project.fingerprint(), include=True)
    site.good()
    assert config.read_text().startswith(f"Include {site.etc}/sshd_config.d/*.conf\n")


async def test_a_host_certificate_for_another_key_is_refused_there(site):
    keygen(site.folder / "other")
    site.project.good(
        "sign-host", "--env", "prod", "--id", "web1", "--name", "127.0.0.1", f"{site.folder / 'other'}.pub"
    )
    assert "ssh_ca-host-certificate-ed25519" in site.failed()
    assert not (site.etc / "ssh_host_ed25519_key-cert.pub").exists()
    assert [await site.enters(key) for key in (site.user("alice"), site.bed.key)] == ["", ""]


async def test_nothing_of_a_manifest_that_does_not_verify_reaches_a_machine(site):
    keygen(site.folder / "mallory")
    manifest = site.project.root / "manifest.json"
    good = manifest.read_text()
    mine, theirs = (" ".join((site.folder / f"{name}.pub").read_text().split()[:2]) for name in ("mallory", "user"))
    assert theirs in good
    manifest.write_text(good.replace(theirs, mine))
    assert "does not have a signature of the root" in site.failed()["ssh_ca-not-used"]
    manifest.write_text(good)
    root = site.project.fingerprint()
    site.configure(root="SHA256:" + "A" * 43)
    assert "but the configuration requires" in site.failed()["ssh_ca-not-used"]
    site.configure(root="")
    code, said = site.apply()
    assert code == 2 and "`root` is not set" in str(said)
    site.configure(root, env="dev")
    assert "no environment 'dev'" in site.failed()["ssh_ca-not-used"]
    site.configure(root)
    krl = site.project.root / "envs/prod/revoked.krl"
    krl.write_bytes(krl.read_bytes()[:-4])
    assert "not a revocation list" in site.failed()["ssh_ca-not-used"]
    assert not (site.etc / "ssh_ca").exists()


async def test_a_damaged_list_never_takes_its_place(site):
    """Also if the controller did not check it: with such a list a server would refuse every login."""
    site.good()
    data = site.project.folder / "pillar/ssh.sls"
    pillar = json.loads(data.read_text())
    site.project.write(
        "pushsalt.yaml",
        json.dumps({"file_roots": {"base": [str(ROOT / "formulas")]}, "pillar_roots": {"base": ["pillar"]}}),
    )
    line = " ".join((site.folder / "user.pub").read_text().split()[:2])
    data.write_text(json.dumps({"ssh_ca": {**pillar["ssh_ca"], "user_authorities": [line], "revoked": "U1NIS1JM"}}))
    failed = site.failed()
    assert "ssh_ca-revoked" in failed
    assert [await site.enters(key) for key in (site.user("alice"), site.bed.key)] == ["", ""]
