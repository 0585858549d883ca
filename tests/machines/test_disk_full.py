"""Full file systems on a machine: the login's home, and the destination of a state."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.beds.machines import Machine, missing
from tests.beds.project import Done, Project, values

pytestmark = [
    pytest.mark.slow,
    pytest.mark.machines,
    pytest.mark.skipif(bool(missing()), reason=missing() or "-"),
]
#: Space for a folder and small files only; 24k are free.
FULL = "mount -t tmpfs -o size=64k,{options} tmpfs {place} && head -c 40000 /dev/zero > {place}/rest"
KEYS = (
    "install -d -m 700 -o {user} /home/{user}/.ssh && "
    "install -m 600 -o {user} /root/.ssh/authorized_keys /home/{user}/.ssh/"
)
STATES = """
before:
  test.succeed_with_changes
replaced:
  file.managed:
    - name: /srv/full/old
    - contents: {{ 'x' * 70000 }}
new:
  file.managed:
    - name: /srv/full/new
    - contents: {{ 'x' * 70000 }}
appended:
  file.append:
    - name: /srv/full/old
    - text: {{ 'y' * 70000 }}
needs:
  test.succeed_with_changes:
    - require:
      - file: replaced
after:
  file.managed:
    - name: /srv/full/small
    - contents: small
"""


@pytest.fixture(scope="module")
def full(machine: Callable[[str], Machine]) -> Iterator[Machine]:
    """A machine without space for the runtime in deploy's home, for a name in careful's, and with little in
    /srv/full.
    """
    found = machine("bookworm")
    found.shell(
        f"{FULL.format(options='mode=700,uid=1000', place='/home/deploy')} && {KEYS.format(user='deploy')} && "
        "mount -t tmpfs -o nr_inodes=4,mode=700,uid=1001 tmpfs /home/careful && "
        f"{KEYS.format(user='careful')} && touch /home/careful/last && "
        f"mkdir /srv/full && {FULL.format(options='mode=755', place='/srv/full')} && echo old > /srv/full/old"
    )
    yield found
    found.shell("umount -l /home/deploy /home/careful /srv/full; rmdir /srv/full")


@pytest.fixture(scope="module")
def project(full: Machine, make_project: Callable[..., Project]) -> Project:
    hosts = {
        "deploy": full.host(user="deploy"),
        "careful": full.host(user="careful"),
        "sudo": full.host(user="deploy", sudo=True),
    }
    project = make_project(hosts, full)
    project.write("salt/full.sls", STATES)
    return project


@pytest.mark.parametrize("again", [False, True])
def test_work_is_done_from_memory(project: Project, full: Machine, again: bool) -> None:
    done = project.json("run", "*", "cmd.run", "id -un")
    assert (done.code, done.data) == (0, {"deploy": "deploy", "careful": "careful", "sudo": "root"})
    assert done.err.count("deploy: cannot keep the runtime") == 1 and done.err.count("No space left on device") == 2
    assert done.err.count("careful: no private directory on the target") == 1 and "sudo:" not in done.err
    assert "/home/careful/.cache: No space left on device" in done.err
    left = full.shell("find /home/deploy /home/careful -path '*.ssh' -prune -o -type f -print").split()
    assert sorted(left) == ["/home/careful/last", "/home/deploy/rest"]


@pytest.fixture(scope="module")
def applied(project: Project) -> Done:
    return project.json("apply", "sudo", "full")


def test_what_does_not_fit_fails_and_the_rest_is_done(applied: Done) -> None:
    states = {state["__id__"]: state for state in values(applied.data["sudo"])}
    failed = {id for id, state in states.items() if not state["result"]}
    assert (applied.code, failed) == (2, {"replaced", "new", "appended", "needs"})
    for id in failed - {"needs"}:
        assert "No space left on device" in states[id]["comment"] and not states[id]["changes"], states[id]
    assert states["after"]["changes"] and states["before"]["changes"]


def test_old_files_are_as_they_were_and_no_pieces_are_left(applied: Done, full: Machine) -> None:
    assert full.shell("cat /srv/full/old") == "old\n"
    assert full.shell("ls -A /srv/full").split() == ["old", "rest", "small"]


def test_states_of_one_whose_home_is_full(project: Project) -> None:
    done = project.json("apply", "deploy", "full")
    states = {state["__id__"]: state["result"] for state in values(done.data["deploy"])}
    assert done.code == 2 and states["before"] is True and states["replaced"] is False
    assert done.err.count("cannot keep the runtime") == 1
