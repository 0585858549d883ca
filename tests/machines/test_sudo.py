"""The real sudo: passwords, refusals, other users than root, terminals; and where the password is sent."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.beds.machines import Machine, missing
from tests.beds.planted import Planted
from tests.beds.processes import Watch
from tests.beds.project import Done, Project, values

pytestmark = [
    pytest.mark.slow,
    pytest.mark.machines,
    pytest.mark.skipif(bool(missing()), reason=missing() or "-"),
]
SUITES = ("bookworm", "trixie")  # sudo 1.9.13, and 1.9.16 with a separate terminal for each command (use_pty)
#: login, further settings, and the resulting user or the error
CASES: dict[str, tuple[str, dict[str, object], str]] = {
    "root": ("root", {}, "root"),
    "open": ("deploy", {}, "root"),
    "open-tty": ("deploy", {"tty": True}, "root"),
    "open-unneeded": ("deploy", {"sudo_password": "RIGHT"}, "root"),
    "open-other": ("deploy", {"sudo_user": "nobody-special"}, "nobody-special"),
    "right": ("careful", {"sudo_password": "RIGHT"}, "root"),
    "right-tty": ("careful", {"sudo_password": "RIGHT", "tty": True}, "root"),
    "right-other": ("careful", {"sudo_password": "RIGHT", "sudo_user": "deploy"}, "deploy"),
    "wrong": ("careful", {"sudo_password": "WRONG"}, "sudo_password_wrong"),
    "wrong-tty": ("careful", {"sudo_password": "WRONG", "tty": True}, "sudo_password_wrong"),
    "without": ("careful", {}, "sudo_password_required"),
    "without-tty": ("careful", {"tty": True}, "sudo_password_required"),
    "denied": ("nobody-special", {"sudo_password": "RIGHT"}, "sudo_denied"),
    "denied-tty": ("nobody-special", {"sudo_password": "RIGHT", "tty": True}, "sudo_denied"),
    # sudo prompts for the password of a user who is not in sudoers, too, before it refuses.
    "denied-without": ("nobody-special", {}, "sudo_password_required"),
    "nobody-there": ("deploy", {"sudo_user": "no-such-user"}, "sudo_denied"),
}
STATES = """
who:
  cmd.run:
    - name: id -un; sleep 0.5
/root/made-by-sudo:
  file.managed:
    - contents: {{ grains['id'] }}
"""


class Bed(Planted):
    """Machines on which careful and nobody-special have a random password, and the targets of CASES on each."""

    def __init__(self, machines: list[Machine], make: Callable[..., Project]) -> None:
        self.machines = machines
        super().__init__(("RIGHT", "WRONG"))
        hosts = {}
        for machine in machines:
            users = "".join(f"{user}:{self.words['RIGHT']}\n" for user in ("careful", "nobody-special"))
            subprocess.run(["chroot", str(machine.root), "chpasswd"], input=users.encode(), check=True)
            for id, (user, more, _) in CASES.items():
                word = self.words.get(str(more.get("sudo_password")))
                secret = {"sudo_password": word} if word else {}
                hosts[f"{machine.suite}-{id}"] = machine.host(**{"user": user, "sudo": True, **more, **secret})
        self.project = make(hosts, *machines)
        self.project.write("salt/who.sls", STATES)


@pytest.fixture(scope="module")
def bed(machine: Callable[[str], Machine], make_project: Callable[..., Project]) -> Iterator[Bed]:
    machines = [machine(suite) for suite in SUITES]
    yield Bed(machines, make_project)
    for one in machines:
        subprocess.run(["chroot", str(one.root), "passwd", "-d", "nobody-special"], check=True, capture_output=True)


@pytest.fixture(scope="module")
def done(bed: Bed) -> Done:
    """One run for all targets, with the debug log."""
    with Watch({name: word.encode() for name, word in bed.words.items()}) as watch:
        done = bed.project.run("-l", "all", "run", "--out", "json", "*", "cmd.run", "id -un; sleep 0.5", timeout=120)
    assert not watch.seen, watch.seen
    return done


@pytest.mark.parametrize("suite", SUITES)
@pytest.mark.parametrize("id", CASES)
def test_the_resulting_user(done: Done, suite: str, id: str) -> None:
    want = CASES[id][2]
    ret = done.data[f"{suite}-{id}"]
    if want.startswith("sudo_"):
        error = done.error(f"{suite}-{id}")
        assert error["kind"] == want, error
        assert error["message"].startswith(f"{suite}-{id}: ") and "sudo" in error["hint"]
    else:
        assert ret == want


def test_a_wrong_password_is_tried_once(bed: Bed, done: Done) -> None:
    assert done.code == 3
    for machine in bed.machines:
        told = machine.shell("journalctl --no-pager -o cat -a _COMM=sudo")
        wrong = [line for line in told.splitlines() if "incorrect password attempt" in line]
        assert len(wrong) == 2 and all("careful : 1 incorrect password attempt ;" in line for line in wrong), wrong
        assert told.count("authentication failure; ") == 2 and "more authentication failure" not in told


def test_permitted_users_exit_with_0(bed: Bed) -> None:
    """Only the others caused exit code 3; its states run as root, and create files of root."""
    for machine in bed.machines:
        done = bed.project.json("apply", f"{machine.suite}-right", "who")
        who, made = values(done.data[f"{machine.suite}-right"])
        assert (done.code, who["changes"]["stdout"], made["result"]) == (0, "root", True)
        file = machine.root / "root" / "made-by-sudo"
        assert (file.stat().st_uid, file.read_text()) == (0, f"{machine.suite}-right\n")


@pytest.mark.parametrize("out", ["rich", "json", "ndjson", "yaml", "quiet"])
def test_no_output_has_a_password(bed: Bed, out: str) -> None:
    ids = ",".join(f"trixie-{id}" for id in ("right-tty", "right", "wrong", "wrong-tty", "denied"))
    done = bed.project.run("-l", "all", "run", "--out", out, "-vv", "-L", ids, "cmd.run", "env; cat /proc/self/cmdline")
    assert done.code == 3
    assert not bed.found(done.out), done.out
    assert not bed.found(done.err), done.err


def test_the_password_is_stored_nowhere(bed: Bed, done: Done) -> None:
    """Neither on the machines, memory file systems and journal included, nor on the controller."""
    assert not bed.found(done.out + done.err)
    inside = ("run", "tmp", "dev/shm", "var/tmp")
    for machine in bed.machines:
        assert machine.process is not None
        nspawn = machine.process.pid
        init = Path(f"/proc/{nspawn}/task/{nspawn}/children").read_text().split()[0]
        folders = [Path(f"/proc/{init}/root") / name for name in inside]
        assert (folders[0] / "systemd").is_dir(), "not what the machine sees"
        assert not bed.on_disk(machine.folder / "upper", *folders)
        assert not bed.found(machine.shell("journalctl --no-pager -a -o export"))
    assert not bed.on_disk(bed.project.cache, bed.project.home)


def test_each_user_has_a_private_directory_of_its_own(bed: Bed, done: Done) -> None:
    for machine in bed.machines:
        for home in ("root", "home/deploy", "home/nobody-special"):
            folder = machine.root / home / ".cache" / "pushsalt"
            assert folder.stat().st_mode & 0o777 == 0o700
            assert folder.stat().st_uid == (machine.root / home).stat().st_uid
        # careful and nobody-special were only used to become another user
        assert not (machine.root / "home/careful/.cache").exists()


@pytest.mark.parametrize("tty", [False, True])
def test_the_password_of_a_salt_ssh_roster_answers_sudo(bed: Bed, tty: bool) -> None:
    for machine in bed.machines:
        host = machine.host(user="careful", sudo=True, tty=tty, passwd=bed.words["RIGHT"])
        roster = bed.project.write("roster", json.dumps({"own": host}))
        assert bed.project.json("run", "-i", str(roster), "own", "cmd.run", "id -un").data == {"own": "root"}
        own = bed.project.write("roster", json.dumps({"own": {**host, "sudo_password": None}}))
        done = bed.project.json("run", "-i", str(own), "own", "cmd.run", "id -un")
        assert done.error("own")["kind"] == "sudo_password_required"
        roster.unlink()
