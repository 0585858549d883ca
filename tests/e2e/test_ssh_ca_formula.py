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


class Machine:
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
        pubs = [argument for name in ("root", "user", "host") for argument in (f"--{name}-ca", f"{folder / name}.pub")]
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

    async def login_error(self, key: Path, *known_hosts: Path) -> str:
        """The error kind of a login with this key, or an empty text if it succeeds."""
        host = self.bed.targets["web1"].host()
        target = Target("web1", host="127.0.0.1", port=host["port"], user=host["user"], priv=(str(key),), agent=False)
        options = ConnectOptions(known_hosts=known_hosts or (self.bed.known_hosts,), ssh_config=(), connect_timeout=8)
        try:
            await (await connect(target, options)).close()
        except TargetError as exc:
            return exc.kind
        return ""


@pytest.fixture
def machine(tmp_path):
    for name in ("root", "user", "host"):
        keygen(tmp_path / name)
    with agent(tmp_path / "agent", *(tmp_path / name for name in ("root", "user", "host"))) as socket:
        machine = Machine(tmp_path, socket)
        with machine.bed:
            yield machine


async def test_certificates_and_revocations_are_applied(machine):
    assert "ssh_ca-config" in machine.good("--test") and not (machine.etc / "ssh_ca").exists()
    assert {"ssh_ca-config", "ssh_ca-revoked", "ssh_ca-host-certificate-ed25519", "ssh_ca-reloaded"} <= machine.good()
    assert machine.good() == set()
    alice, bob = machine.user("alice"), machine.user("bob", role="db")
    assert [await machine.login_error(key) for key in (alice, bob, machine.bed.key)] == ["", "auth_failed", ""]
    # the host is accepted because of its certificate only
    assert await machine.login_error(alice, machine.project.root / "known_hosts") == ""
    assert "@cert-authority * ssh-ed25519 " in (machine.etc / "ssh_known_hosts2").read_text()
    # a renewed host certificate, and a revocation
    machine.project.good("sign-host", "--env", "prod", "--renew", "--within", "100d")
    machine.project.good("revoke", machine.serial, f"{alice}.pub")
    assert await machine.login_error(alice) == ""
    changed = machine.good()
    assert {"ssh_ca-revoked", "ssh_ca-host-certificate-ed25519", "ssh_ca-reloaded"} <= changed
    assert "ssh_ca-config" not in changed
    assert [await machine.login_error(key) for key in (alice, machine.bed.key)] == ["auth_failed", ""]


async def test_roles_follow_the_pillar(machine):
    machine.good()
    bob = machine.user("bob", role="db")
    assert await machine.login_error(bob) == "auth_failed"
    login = getpass.getuser()
    machine.configure(
        machine.project.fingerprint(), logins={login: ["db"], "other": ["web"]}, principals={login: ["break-glass"]}
    )
    machine.good()
    assert await machine.login_error(bob) == ""
    assert (machine.etc / "ssh_ca/principals" / login).read_text() == "prod-db\nbreak-glass\n"
    machine.configure(machine.project.fingerprint(), logins={"other": ["web"]})
    machine.good()
    assert await machine.login_error(bob) == "auth_failed"
    assert [path.name for path in (machine.etc / "ssh_ca/principals").iterdir()] == ["other"]


async def test_authorized_keys_are_refused_if_configured(machine):
    machine.configure(machine.project.fingerprint(), authorized_keys=False, logins={})
    assert list(machine.failed()) == ["ssh_ca-nobody-gets-in"] and not (machine.etc / "sshd_config.d").exists()
    machine.configure(machine.project.fingerprint(), authorized_keys=False)
    machine.good()
    assert await machine.login_error(machine.bed.key) == "auth_failed"
    assert await machine.login_error(machine.user("alice")) == ""


async def test_a_configuration_that_sshd_refuses_is_not_put_in_place(machine):
    config = machine.folder / "bed/sshd-web1.conf"
    before = config.read_text()
    config.write_text(before + "NoSuchWord yes\n")
    failed = machine.failed()
    assert "ssh_ca-config" in failed and "ssh_ca-reloaded" in failed
    assert not list((machine.etc / "sshd_config.d").glob("*"))
    assert await machine.login_error(machine.bed.key) == ""


def test_a_configuration_without_include_is_an_error(machine):
    config = machine.folder / "bed/sshd-web1.conf"
    config.write_text(config.read_text().replace("Include", "# Include"))
    assert "ssh_ca-in-force" in machine.failed()
    machine.configure(machine.project.fingerprint(), include=True)
    machine.good()
    assert config.read_text().startswith(f"Include {machine.etc}/sshd_config.d/*.conf\n")


async def test_a_host_certificate_for_another_key_is_refused(machine):
    keygen(machine.folder / "other")
    machine.project.good(
        "sign-host", "--env", "prod", "--id", "web1", "--name", "127.0.0.1", f"{machine.folder / 'other'}.pub"
    )
    assert "ssh_ca-host-certificate-ed25519" in machine.failed()
    assert not (machine.etc / "ssh_host_ed25519_key-cert.pub").exists()
    assert [await machine.login_error(key) for key in (machine.user("alice"), machine.bed.key)] == ["", ""]


async def test_an_invalid_manifest_is_not_applied(machine):
    keygen(machine.folder / "mallory")
    manifest = machine.project.root / "manifest.json"
    valid = manifest.read_text()
    attacker_key, user_key = (
        " ".join((machine.folder / f"{name}.pub").read_text().split()[:2]) for name in ("mallory", "user")
    )
    assert user_key in valid
    manifest.write_text(valid.replace(user_key, attacker_key))
    assert "does not have a signature of the root" in machine.failed()["ssh_ca-not-used"]
    manifest.write_text(valid)
    root = machine.project.fingerprint()
    machine.configure(root="SHA256:" + "A" * 43)
    assert "but the configuration requires" in machine.failed()["ssh_ca-not-used"]
    machine.configure(root="")
    code, returned = machine.apply()
    assert code == 2 and "`root` is not set" in str(returned)
    machine.configure(root, env="dev")
    assert "no environment 'dev'" in machine.failed()["ssh_ca-not-used"]
    machine.configure(root)
    krl = machine.project.root / "envs/prod/revoked.krl"
    krl.write_bytes(krl.read_bytes()[:-4])
    assert "not a revocation list" in machine.failed()["ssh_ca-not-used"]
    assert not (machine.etc / "ssh_ca").exists()


async def test_a_damaged_revocation_list_is_not_installed(machine):
    """The target checks the list, too: with a damaged one a server would refuse every login."""
    machine.good()
    data = machine.project.folder / "pillar/ssh.sls"
    pillar = json.loads(data.read_text())
    machine.project.write(
        "pushsalt.yaml",
        json.dumps({"file_roots": {"base": [str(ROOT / "formulas")]}, "pillar_roots": {"base": ["pillar"]}}),
    )
    line = " ".join((machine.folder / "user.pub").read_text().split()[:2])
    data.write_text(json.dumps({"ssh_ca": {**pillar["ssh_ca"], "user_authorities": [line], "revoked": "U1NIS1JM"}}))
    failed = machine.failed()
    assert "ssh_ca-revoked" in failed
    assert [await machine.login_error(key) for key in (machine.user("alice"), machine.bed.key)] == ["", ""]
