"""The formula ssh_ca on a real machine, with its distribution's sshd and sudo: docs/ca.md from end to end."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.beds.certificates import CaProject, agent
from tests.beds.machines import MachineBed, missing
from tests.beds.sshd import keygen

ROOT = Path(__file__).parent.parent.parent

pytestmark = [
    pytest.mark.slow,
    pytest.mark.machines,
    pytest.mark.skipif(bool(missing()), reason=missing() or "-"),
    pytest.mark.timeout(600),
]


def test_from_first_trust_to_certificates_and_revocation(tmp_path):
    for name in ("root", "user", "host", "alice"):
        keygen(tmp_path / name)
    with (
        MachineBed() as bed,
        agent(tmp_path / "agent", *(tmp_path / name for name in ("root", "user", "host"))) as socket,
    ):
        machine = bed.boot("box", "bookworm")
        hosts = bed.inventory()
        project = CaProject(tmp_path, None)
        project.write("inventory.yaml", json.dumps(hosts))
        project.more = {"SSH_AUTH_SOCK": socket}
        trusted = project.home / ".ssh" / "known_hosts"
        shutil.copy(bed.known_hosts, trusted)
        pubs = [word for name in ("root", "user", "host") for word in (f"--{name}-ca", f"{tmp_path / name}.pub")]
        project.good("init", "prod", "--root", *pubs[1:], "--role", "deploy")
        config = {"file_roots": {"base": [str(ROOT / "formulas")]}, "pillar_roots": {"base": ["pillar"]}}
        config["ext_pillar"] = [{"ssh_ca": {"dir": "ca", "root": project.fingerprint()}}]
        project.write("pushsalt.yaml", json.dumps(config))
        project.write("pillar/top.sls", "base: {'*': [ssh]}")
        project.write("pillar/ssh.sls", json.dumps({"ssh_ca": {"env": "prod", "logins": {"deploy": ["deploy"]}}}))

        def apply():
            done = project.json("apply", "box", "ssh_ca", timeout=200)
            states = done.data["box"]
            assert done.code == 0, states
            return {tag.split("_|-")[1] for tag, ret in states.items() if ret["changes"]}

        # the machine's own keys, fetched through the connection that is trusted
        signed = project.good("sign-host", "--env", "prod", "--target", "box")
        assert {one["principals"][-1] for one in signed} == {machine.address}
        assert "ssh_ca-config" in apply()
        assert apply() == set()
        assert machine.shell("systemctl is-active ssh").strip() == "active"

        # from here on only certificates: that of the host in place of a known key, that of the user in place of her key
        project.good("sign-user", "--env", "prod", "--role", "deploy", "--id", "alice", f"{tmp_path / 'alice'}.pub")
        shutil.copy(project.root / "known_hosts", trusted)
        for host in hosts["hosts"].values():
            host.update(user="deploy", sudo=True, priv=str(tmp_path / "alice"), agent=False)
        hosts.get("defaults", {}).pop("ssh_options", None)
        project.write("inventory.yaml", json.dumps(hosts))
        done = project.json("run", "box", "test.ping")
        assert done.data == {"box": True}, done.err
        said = machine.shell("journalctl -u ssh --no-pager | grep 'Accepted publickey for deploy' | tail -1")
        assert "ID prod/user/alice/deploy (serial " in said

        # a run with a certificate that removes it
        project.good("revoke", f"{tmp_path / 'alice'}.pub")
        assert apply() >= {"ssh_ca-revoked"}
        assert project.json("run", "box", "test.ping").error("box")["kind"] == "auth_failed"
        argv = ["ssh", "-F", "none", "-o", "BatchMode=yes", "-o", f"UserKnownHostsFile={trusted}", "-i", str(bed.key)]
        done_ssh = subprocess.run(
            [*argv, f"deploy@{machine.address}", "id -un"], capture_output=True, text=True, timeout=30
        )
        assert done_ssh.stdout == "deploy\n", done_ssh.stderr  # authorized_keys is unchanged
