"""Faults during a run on booted machines: no return is lost, no state runs twice, and no process remains.

``PUSHSALT_FAULT_ROUNDS`` is the number of rounds of each fault (10 for a measurement; once otherwise).
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Iterator

import pytest

from tests.beds.machines import Machine, MachineBed, missing
from tests.beds.processes import wait_until
from tests.beds.project import Done, Project, values

pytestmark = [
    pytest.mark.slow,
    pytest.mark.machines,
    pytest.mark.skipif(bool(missing()), reason=missing() or "-"),
]
ROUNDS = int(os.environ.get("PUSHSALT_FAULT_ROUNDS", "1"))
COUNT = "/root/count"
PAGE = "{{ pillar['word'] }} {{ salt['cmd.run']('wc -l < " + COUNT + "') }}\n"

#: The states of a fault: each counts its runs, {{fault}} is one of them. Later ones need the controller.
STATES = """
{% for n in range(3) %}
before{{ n }}:
  cmd.run:
    - name: echo before{{ n }} >> COUNT
{% endfor %}
fault:
  cmd.run:
    - name: |
        echo fault >> COUNT
        FAULT
page:
  file.managed:
    - name: /root/page
    - source: salt://page
    - template: jinja
{% for n in range(3) %}
after{{ n }}:
  cmd.run:
    - name: echo after{{ n }} >> COUNT
{% endfor %}
"""
IDS = ["before0", "before1", "before2", "fault", "page", "after0", "after1", "after2"]
COUNTED = [id for id in IDS if id != "page"]
#: The same states without questions, so that they need no controller.
ALONE = STATES[: STATES.index("page:")] + STATES[STATES.index("{% for n in range(3) %}\nafter") :]
#: Ends the server and all of its sessions, as a changed unit would; the server starts again by itself. systemd counts
#: starts, and would refuse the sixth within ten seconds.
CHANGES_SSHD = "systemctl reset-failed ssh; systemctl restart ssh; pkill -KILL -f '^sshd: ' || true; sleep 1"


@pytest.fixture(scope="module")
def bed() -> Iterator[MachineBed]:
    with MachineBed() as bed:
        yield bed


@pytest.fixture(scope="module")
def machine(bed: MachineBed) -> Machine:
    return bed.boot("web1")


class Site:
    """A project with the machine, and the states of one fault."""

    def __init__(self, project: Project, machine: Machine) -> None:
        self.project, self.machine = project, machine
        machine.shell(f"rm -f {COUNT} /root/go /root/page")
        project.write("pillar/top.sls", "base:\n  '*': [words]\n")
        project.write("pillar/words.sls", "word: hello\n")
        project.write("salt/page", PAGE)

    def states(self, fault: str, text: str = STATES) -> None:
        self.project.write("salt/site.sls", text.replace("COUNT", COUNT).replace("FAULT", fault))

    def begin(self) -> subprocess.Popen[bytes]:
        return self.project.start("apply", "--out", "json", "web1", "site")

    def counted(self) -> list[str]:
        return self.machine.shell(f"cat {COUNT} 2>/dev/null || true", check=False).split()

    def until_fault(self) -> None:
        path = self.machine.root / COUNT.lstrip("/")
        wait_until(lambda: path.exists() and "fault" in path.read_text(), 60)

    def all_ran_once(self, done: Done) -> None:
        assert done.code == 0, (done.out, done.err)
        rets = values(done.data["web1"])
        assert [ret["__id__"] for ret in rets] == IDS and all(ret["result"] for ret in rets), done.out
        assert self.counted() == COUNTED
        assert self.machine.shell("cat /root/page") == "hello 4\n"

    def nothing_stays(self) -> None:
        look = "pgrep -f 'thin|pushsalt|exec\\(' | grep -v $$ ; ls -d /root/.cache/pushsalt/jobs 2>/dev/null; true"
        wait_until(lambda: not self.machine.shell(look, check=False).strip(), 30)


@pytest.fixture
def site(machine: Machine, make_project: Callable[..., Project]) -> Site:
    return Site(make_project({"web1": machine.host()}, machine), machine)


@pytest.mark.parametrize("round", range(ROUNDS))
def test_a_state_that_restarts_sshd(site: Site, round: int) -> None:
    site.states(CHANGES_SSHD)
    done = Project.finish(site.begin(), 120)
    site.all_ran_once(done)
    assert "restored after" in done.err
    site.nothing_stays()


@pytest.mark.parametrize("round", range(ROUNDS))
def test_packets_that_are_dropped_for_thirty_seconds(site: Site, machine: Machine, round: int) -> None:
    site.states("sleep 5")
    process = site.begin()
    site.until_fault()
    link = ["ip", "-n", machine.namespace, "link", "set", "eth0"]
    subprocess.run([*link, "down"], check=True)
    time.sleep(30)
    subprocess.run([*link, "up"], check=True)
    site.all_ran_once(Project.finish(process, 180))
    site.nothing_stays()


@pytest.mark.parametrize("round", range(ROUNDS))
def test_a_controller_that_is_killed(site: Site, machine: Machine, round: int) -> None:
    """The run ends by itself, and another process collects it."""
    site.states("sleep 3", ALONE)
    process = site.begin()
    site.until_fault()
    process.kill()
    process.communicate()
    done = site.project.json("jobs", "resume", "last", timeout=180)
    assert done.code == 0, (done.out, done.err)
    rets = values(done.data["web1"])
    assert [ret["__id__"] for ret in rets] == COUNTED and all(ret["result"] for ret in rets), done.out
    assert site.counted() == COUNTED
    site.nothing_stays()


@pytest.mark.parametrize("round", range(ROUNDS))
def test_a_state_that_restarts_the_machine(site: Site, bed: MachineBed, machine: Machine, round: int) -> None:
    """The last state of a run with ``--detach`` restarts the machine; the wait begins afterwards."""
    site.states("echo rebooting", ALONE + "reboot:\n  cmd.run:\n    - name: sleep 4; systemctl reboot\n")
    begun = site.project.run("apply", "--detach", "web1", "site", timeout=120)
    assert begun.code == 0, begun.err
    process = site.project.start("wait", "web1", "--for", "reboot", "--timeout", "120", "--out", "json")
    bed.boot_again(machine)
    waited = Project.finish(process, 180)
    assert waited.code == 0 and waited.data["web1"]["for"] == "reboot", (waited.out, waited.err)
    done = site.project.json("jobs", "wait", begun.out.strip(), timeout=120)
    assert done.code == 0, (done.out, done.err)
    rets = values(done.data["web1"])
    assert [ret["__id__"] for ret in rets] == [*COUNTED, "reboot"] and all(ret["result"] for ret in rets), done.out
    assert site.counted() == COUNTED
    site.nothing_stays()
