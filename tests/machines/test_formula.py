"""The apache formula on real machines of each Debian release: dry run, plan, first run, second run, drift, HTTP."""

import json
import os
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from tests.beds.machines import AptRepository, MachineBed, missing
from tests.planning.agreement import wrong

ROOT = Path(__file__).parent.parent.parent
SUITES = ("bullseye", "bookworm", "trixie")  # Python 3.9, 3.11, 3.13

pytestmark = [
    pytest.mark.machines,
    pytest.mark.skipif(bool(missing()), reason=missing() or "-"),
    pytest.mark.timeout(900),
]

PILLAR = {
    "apache": {
        "absent": ["/etc/apache2/sites-enabled/000-default.conf"],
        "sites": {"www.test.invalid": {"index": "It is up: <&>"}},
    }
}


class Fleet:
    """One machine of each release, and the command line with a project for them."""

    def __init__(self, bed, folder):
        self.bed = bed
        self.folder = folder
        names = {}
        for suite in SUITES:
            bed.repositories[suite] = AptRepository(suite, ["apache2"])
            names[suite] = bed.boot(suite, suite)
        for machine in names.values():
            machine.shell("apt-get update")
        (folder / "inventory.yaml").write_text(json.dumps(bed.inventory()))
        roots = {"base": [str(ROOT / "formulas")]}
        (folder / "pushsalt.yaml").write_text(json.dumps({"file_roots": roots}))
        home = folder / "home" / ".ssh"
        home.mkdir(parents=True, mode=0o700)
        (home / "known_hosts").write_bytes(bed.known_hosts.read_bytes())

    def pushsalt(self, *arguments):
        """(exit code, the JSON object on stdout)."""
        env = {**os.environ, "HOME": str(self.folder / "home"), "PYTHONPATH": str(ROOT)}
        argv = [sys.executable, "-m", "pushsalt", "-c", str(self.folder / "pushsalt.yaml"), *arguments, "--out", "json"]
        done = subprocess.run(argv, env=env, capture_output=True, text=True, timeout=600, check=False)
        assert "Traceback" not in done.stdout + done.stderr
        return done.returncode, json.loads(done.stdout)

    def apply(self, *arguments):
        return self.pushsalt("apply", "*", "apache", "--pillar", json.dumps(PILLAR), *arguments)

    def plan_and_apply(self):
        """(exit code of ``apply``, returns, the plan of each target), after plans and run were compared."""
        _, plans = self.pushsalt("plan", "*", "apache", "--pillar", json.dumps(PILLAR))
        code, returns = self.apply()
        for name, planned in plans.items():
            assert wrong(planned, returns[name], {}) == [], name
        return code, returns, plans


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    with MachineBed() as bed:
        yield Fleet(bed, tmp_path_factory.mktemp("project"))


def fetch(machine):
    request = urllib.request.Request(f"http://{machine.address}/", headers={"Host": "www.test.invalid"})
    with urllib.request.urlopen(request, timeout=10) as answer:
        return answer.read().decode()


def changed(states):
    return {tag for tag, ret in states.items() if ret["changes"]}


def test_formula_from_nothing_to_http(fleet):
    code, dry = fleet.apply("--test")
    assert code == 0
    for machine in fleet.bed.machines:
        assert {ret["result"] for ret in dry[machine.name].values()} <= {None, True}
        assert any(ret["result"] is None for ret in dry[machine.name].values())
        assert machine.shell("dpkg -s apache2 2>/dev/null || echo absent").strip() == "absent"
        assert machine.shell("ls /etc/apache2 2>/dev/null || echo absent").strip() == "absent"

    code, first, plans = fleet.plan_and_apply()
    assert min(plan["counts"]["will"] for plan in plans.values()) > 0
    for name, states in first.items():
        assert {tag: ret["comment"] for tag, ret in states.items() if not ret["result"]} == {}, name
    assert code == 0
    for machine in fleet.bed.machines:
        assert "It is up: &lt;&amp;&gt;" in fetch(machine)
        assert machine.name in fetch(machine)

    code, second, plans = fleet.plan_and_apply()
    assert {plan["counts"]["will"] for plan in plans.values()} == {0}
    assert code == 0
    assert {name: changed(states) for name, states in second.items()} == {name: set() for name in SUITES}


def test_drift_is_predicted_then_mended(fleet):
    """After the formula test: a changed file, a stopped service, a removed link."""
    for machine in fleet.bed.machines:
        machine.shell(
            "echo drift >> /etc/apache2/ports.conf; systemctl stop apache2; "
            "rm /etc/apache2/sites-enabled/www.test.invalid.conf"
        )
    _, dry = fleet.apply("--test")
    _, real, _ = fleet.plan_and_apply()
    for machine in fleet.bed.machines:
        predicted = {tag for tag, ret in dry[machine.name].items() if ret["result"] is None}
        assert predicted == changed(real[machine.name])
        assert len(predicted) == 3
        diff = real[machine.name]["file_|-apache-config-listen_|-/etc/apache2/ports.conf_|-managed"]["changes"]["diff"]
        assert "-drift" in diff
        assert "It is up" in fetch(machine)


def test_grains_are_those_of_the_release(fleet):
    code, grains = fleet.pushsalt("grains", "*")
    assert code == 0
    for suite, number in (("bullseye", 11), ("bookworm", 12), ("trixie", 13)):
        assert grains[suite]["oscodename"] == suite
        assert grains[suite]["osmajorrelease"] == number
        assert (grains[suite]["os"], grains[suite]["init"], grains[suite]["id"]) == ("Debian", "systemd", suite)


def test_nothing_stays_resident(fleet):
    fleet.pushsalt("run", "*", "test.ping")
    for machine in fleet.bed.machines:
        # the pattern does not match the shell that looks for it
        assert "python" not in machine.shell("ps -eo args | grep '[p]ython3 -I -S' || true")
    code, removed = fleet.pushsalt("clean", "*")
    assert code == 0
    assert all(removed.values())
    for machine in fleet.bed.machines:
        assert machine.shell("find / -xdev -name '*pushsalt*' -not -path '/proc/*' 2>/dev/null || true").strip() == ""
