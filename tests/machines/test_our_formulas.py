"""The formulas of formulas/ (apache has its own tests) on one real machine: planned and applied twice, with checks of
their effect.
"""

import json
import os
import subprocess
import sys
import urllib.request
from functools import partial
from pathlib import Path

import pytest

from tests.beds.machines import AptRepository, MachineBed, missing
from tests.planning.agreement import wrong

ROOT = Path(__file__).parent.parent.parent

pytestmark = [
    pytest.mark.slow,
    pytest.mark.machines,
    pytest.mark.skipif(bool(missing()), reason=missing() or "-"),
    pytest.mark.timeout(600),
]

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIEkjhbk4zmWRd8xKKBqnxNLIYkdWVpuUUnPSpUJyqR0T alice@example.com"
FORMULAS = "motd,users,nginx,chrony,openssh"
PILLAR = {
    "motd": {"banner": ["managed"], "contact": "ops@example.com"},
    "users": {
        "groups": {"deploy": {"gid": 2000}},
        "accounts": {
            "alice": {"uid": 2001, "groups": ["deploy"], "ssh_keys": [KEY], "sudo": "ALL=(ALL) NOPASSWD: ALL"},
            "gone": {"absent": True},
        },
    },
    "nginx": {
        "absent": ["/etc/nginx/sites-enabled/default"],
        "servers": {"www.test.invalid": {"index": "It is up"}, "old": {"enabled": False}},
    },
    # a container may not set the clock: systemd does not start chronyd in one
    "chrony": {"manage_service": False, "pools": {"pool.ntp.org": None}, "servers": {"192.0.2.1": "iburst"}},
    "openssh": {"settings": {"MaxAuthTries": 5}, "match": {"Group sftponly": {"AllowTcpForwarding": "no"}}},
}


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("project")
    with MachineBed() as bed:
        bed.repositories["bookworm"] = AptRepository("bookworm", ["nginx", "chrony"])
        machine = bed.boot("box", "bookworm")
        machine.shell("apt-get update")
        (folder / "inventory.yaml").write_text(json.dumps(bed.inventory()))
        (folder / "pushsalt.yaml").write_text(json.dumps({"file_roots": {"base": [str(ROOT / "formulas")]}}))
        home = folder / "home" / ".ssh"
        home.mkdir(parents=True, mode=0o700)
        (home / "known_hosts").write_bytes(bed.known_hosts.read_bytes())

        def pushsalt(command, *arguments):
            env = {**os.environ, "HOME": str(folder / "home"), "PYTHONPATH": str(ROOT)}
            argv = [sys.executable, "-m", "pushsalt", "-c", str(folder / "pushsalt.yaml"), command, "box", FORMULAS]
            argv += ["--pillar", json.dumps(PILLAR), "--out", "json", *arguments]
            done = subprocess.run(argv, env=env, capture_output=True, text=True, timeout=400, check=False)
            assert "Traceback" not in done.stdout + done.stderr
            return done.returncode, json.loads(done.stdout)["box"]

        yield machine, pushsalt


def test_formulas_converge(site):
    machine, pushsalt = site
    apply = partial(pushsalt, "apply")
    machine.shell("useradd gone")
    code, dry = apply("--test")
    assert code == 0, {tag: ret["comment"] for tag, ret in dry.items() if ret["result"] is False}
    _, planned = pushsalt("plan")
    code, first = apply()
    assert code == 0, {tag: ret["comment"] for tag, ret in first.items() if not ret["result"]}
    assert wrong(planned, first, {}) == [] and planned["counts"]["will"] > 0
    _, planned = pushsalt("plan")
    code, second = apply()
    assert wrong(planned, second, {}) == [] and planned["counts"]["will"] == 0
    assert {tag: ret["comment"] for tag, ret in second.items() if not ret["result"]} == {}
    assert (code, {tag: ret["changes"] for tag, ret in second.items() if ret["changes"]}) == (0, {})

    assert machine.shell("head -1 /etc/motd").strip() == "managed"
    assert "uid=2001(alice)" in machine.shell("id alice")
    assert "2000(deploy)" in machine.shell("id alice")
    assert machine.shell("su alice -s /bin/sh -c 'sudo -n id -u'").strip() == "0"
    assert KEY.split()[1] in machine.shell("cat /home/alice/.ssh/authorized_keys")
    assert machine.shell("getent passwd gone || echo none").strip() == "none"
    request = urllib.request.Request(f"http://{machine.address}/", headers={"Host": "www.test.invalid"})
    with urllib.request.urlopen(request, timeout=10) as answer:
        assert b"It is up" in answer.read()
    assert machine.shell("systemctl is-enabled nginx; systemctl is-active nginx").split() == ["enabled", "active"]
    sources = machine.shell("chronyd -p -f /etc/chrony/chrony.conf | grep -E '^(server|pool)'")
    assert sources == "server 192.0.2.1 iburst\n"
    assert machine.shell("sshd -T 2>/dev/null | grep -i maxauthtries").split() == ["maxauthtries", "5"]


def test_a_configuration_that_a_program_refuses_is_not_put_in_place(site):
    machine, pushsalt = site
    before = machine.shell("sha256sum /etc/nginx/nginx.conf /etc/ssh/sshd_config")
    bad = {**PILLAR, "nginx": {"http": {"no_such_directive": "x"}}, "openssh": {"settings": {"Port": "nowhere"}}}
    code, states = pushsalt("apply", "--pillar", json.dumps(bad))
    failed = {tag.split("_|-")[1] for tag, ret in states.items() if ret["result"] is False}
    assert code == 2
    assert {"nginx-config", "openssh-config"} <= failed
    assert machine.shell("sha256sum /etc/nginx/nginx.conf /etc/ssh/sshd_config") == before
