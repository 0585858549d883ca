"""The real su, doas and run0, like ``test_sudo``: passwords, refusals, terminals; and where passwords are sent."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.beds.machines import AptRepository, Machine, MachineBed, missing
from tests.beds.planted import Planted
from tests.beds.processes import Watch
from tests.beds.project import Done, Project
from tests.beds.terminal import on_terminal

pytestmark = [
    pytest.mark.slow,
    pytest.mark.machines,
    pytest.mark.skipif(bool(missing()), reason=missing() or "-"),
]
#: installed packages; trixie has systemd 257, and so run0
SUITES = {"bookworm": ("opendoas",), "trixie": ("opendoas", "polkitd")}
RIGHT = {"sudo_password": "RIGHT"}
WRONG = {"sudo_password": "WRONG"}
TTY = {"tty": True}
OTHER = {"sudo_user": "other"}
#: login, further settings, and the resulting user or the error; run0 on trixie only
CASES: dict[str, tuple[str, dict[str, object], str]] = {
    "su-root": ("root", {}, "root"),
    "su-root-other": ("root", OTHER, "other"),
    "su-right": ("careful", RIGHT, "root"),
    "su-right-tty": ("careful", {**RIGHT, **TTY}, "root"),
    "su-right-other": ("careful", {**RIGHT, **OTHER}, "other"),
    "su-wrong": ("careful", WRONG, "sudo_password_wrong"),
    "su-wrong-tty": ("careful", {**WRONG, **TTY}, "sudo_password_wrong"),
    "su-without": ("careful", {}, "sudo_password_required"),
    "su-without-tty": ("careful", TTY, "sudo_password_required"),
    "su-nobody-there": ("careful", {**RIGHT, "sudo_user": "no-such-user"}, "sudo_denied"),
    "doas-root": ("root", {}, "root"),
    "doas-open": ("deploy", {}, "root"),
    "doas-open-tty": ("deploy", TTY, "root"),
    "doas-open-unneeded": ("deploy", RIGHT, "root"),
    "doas-open-other": ("deploy", OTHER, "other"),
    "doas-right": ("careful", RIGHT, "root"),
    "doas-right-tty": ("careful", {**RIGHT, **TTY}, "root"),
    "doas-right-other": ("careful", {**RIGHT, **OTHER}, "other"),
    "doas-wrong": ("careful", WRONG, "sudo_password_wrong"),
    "doas-without": ("careful", {}, "sudo_password_required"),
    "doas-without-tty": ("careful", TTY, "sudo_password_required"),
    "doas-denied": ("nobody-special", RIGHT, "sudo_denied"),
    "doas-denied-without": ("nobody-special", {}, "sudo_denied"),
    "doas-nobody-there": ("deploy", {"sudo_user": "no-such-user"}, "sudo_denied"),
    "run0-root": ("root", {}, "root"),
    "run0-root-other": ("root", OTHER, "other"),
    "run0-open": ("deploy", {}, "root"),
    "run0-open-tty": ("deploy", TTY, "root"),
    "run0-open-unneeded": ("deploy", RIGHT, "root"),
    "run0-open-other": ("deploy", OTHER, "other"),
    "run0-right": ("careful", RIGHT, "root"),
    "run0-right-tty": ("careful", {**RIGHT, **TTY}, "root"),
    "run0-right-other": ("careful", {**RIGHT, **OTHER}, "other"),
    "run0-wrong": ("careful", WRONG, "sudo_password_wrong"),
    "run0-without": ("careful", {}, "sudo_password_required"),
    "run0-without-tty": ("careful", TTY, "sudo_password_required"),
    "run0-denied": ("nobody-special", RIGHT, "sudo_denied"),
    "run0-nobody-there": ("deploy", {"sudo_user": "no-such-user"}, "sudo_denied"),
}
DOAS = "permit nopass deploy\npermit careful\n"
POLKIT = """polkit.addRule(function(action, subject) {
    if (subject.user == "deploy") return polkit.Result.YES;
    if (subject.user == "nobody-special") return polkit.Result.NO;
});
"""
#: Output of a login's start-up file that must not be taken for a prompt.
NOISE = "echo >&2 'Password: '; printf 'Password: '\n"


def cases(suite: str) -> list[str]:
    return [id for id in CASES if suite == "trixie" or not id.startswith("run0")]


class Bed(Planted):
    """Machines on which everybody has a random password, and the targets of CASES on each."""

    def __init__(self, bed: MachineBed, make: Callable[..., Project]) -> None:
        self.machines = []
        for suite, packages in SUITES.items():
            bed.repositories[suite] = AptRepository(suite, packages)
            self.machines.append(bed.boot(suite, suite))
        super().__init__(("RIGHT", "WRONG"))
        hosts = {}
        for machine in self.machines:
            self._furnish(machine)
            for id in cases(machine.suite):
                user, more, _ = CASES[id]
                word = self.words.get(str(more.get("sudo_password")))
                secret = {"sudo_password": word} if word else {}
                host = {"user": user, "become": id.partition("-")[0], **more, **secret}
                hosts[f"{machine.suite}-{id}"] = machine.host(**host)
        self.project = make(hosts, *self.machines)

    def _furnish(self, machine: Machine) -> None:
        machine.shell("apt-get update && apt-get install -y --no-install-recommends " + " ".join(SUITES[machine.suite]))
        machine.shell("useradd -m -s /bin/bash other; usermod -aG sudo careful; usermod -aG sudo other")
        users = "".join(f"{user}:{self.words['RIGHT']}\n" for user in ("root", "careful", "nobody-special", "other"))
        subprocess.run(["chroot", str(machine.root), "chpasswd"], input=users.encode(), check=True)
        for name, text in {"etc/doas.conf": DOAS, "etc/polkit-1/rules.d/10-test.rules": POLKIT}.items():
            if (machine.root / name).parent.is_dir():
                (machine.root / name).write_text(text)
        bashrc = machine.root / "home/careful/.bashrc"  # bash reads it for commands over ssh, too
        bashrc.write_text(NOISE + bashrc.read_text())


@pytest.fixture(scope="module")
def bed(make_project: Callable[..., Project]) -> Iterator[Bed]:
    with MachineBed() as machines:
        yield Bed(machines, make_project)


@pytest.fixture(scope="module")
def done(bed: Bed) -> Done:
    """One run for all targets, with the debug log."""
    with Watch({name: word.encode() for name, word in bed.words.items()}) as watch:
        done = bed.project.run("-l", "all", "run", "--out", "json", "*", "cmd.run", "id -un; sleep 0.5", timeout=200)
    assert not watch.seen, watch.seen
    return done


@pytest.mark.parametrize("suite, id", [(suite, id) for suite in SUITES for id in cases(suite)])
def test_the_resulting_user(done: Done, suite: str, id: str) -> None:
    want = CASES[id][2]
    ret = done.data[f"{suite}-{id}"]
    if want.startswith("sudo_"):
        error = done.error(f"{suite}-{id}")
        assert error["kind"] == want, error
        assert error["message"].startswith(f"{suite}-{id}: {id.partition('-')[0]} "), error
        assert "pushsalt-" not in error["message"], error
    else:
        assert ret == want


def test_a_wrong_password_is_tried_once(bed: Bed, done: Done) -> None:
    for machine in bed.machines:
        told = machine.shell("journalctl --no-pager -o cat -a | grep -F 'authentication failure;' || true")
        tries = [line for line in told.splitlines() if "careful" in line]
        wrong = [id for id in cases(machine.suite) if id.partition("-")[2] in ("wrong", "wrong-tty")]
        # su logs a failure if it is ended at its prompt
        without = [id for id in cases(machine.suite) if id.startswith("su-without")]
        assert len(wrong) <= len(tries) <= len(wrong) + len(without), told


def test_the_password_is_stored_nowhere(bed: Bed, done: Done) -> None:
    """Neither on the machines, memory file systems and journal included, nor on the controller."""
    assert not bed.found(done.out + done.err)
    for machine in bed.machines:
        assert machine.process is not None
        nspawn = machine.process.pid
        init = Path(f"/proc/{nspawn}/task/{nspawn}/children").read_text().split()[0]
        folders = [Path(f"/proc/{init}/root") / name for name in ("run", "tmp", "dev/shm", "var/tmp")]
        assert (folders[0] / "systemd").is_dir(), "not what the machine sees"
        assert not bed.on_disk(machine.folder / "upper", *folders)
        assert not bed.found(machine.shell("journalctl --no-pager -a -o export"))
    assert not bed.on_disk(bed.project.cache, bed.project.home)


@pytest.mark.parametrize("method", ["su", "doas", "run0"])
def test_states_have_a_home_and_a_path_of_root(bed: Bed, method: str) -> None:
    ids = [f"{machine.suite}-{method}-right" for machine in bed.machines if f"{method}-right" in cases(machine.suite)]
    ids = [id for id in ids if method != "run0" or id.startswith("trixie")]
    command = "echo $HOME; command -v useradd | sed s,^/usr,,; stat -c %U ~/.cache/pushsalt"
    found = bed.project.json("run", "-L", ",".join(ids), "cmd.run", command).data
    assert found == dict.fromkeys(ids, "/root\n/sbin/useradd\nroot")


@pytest.mark.parametrize("method", ["sudo", "su", "doas", "run0"])
def test_passwords_that_a_person_types_log_in_and_become_root(bed: Bed, method: str) -> None:
    """No key: one prompt for each of the login's password and that to become root, for all targets."""
    machines = [machine for machine in bed.machines if method != "run0" or machine.suite == "trixie"]
    hosts = {
        machine.suite: {"host": machine.address, "user": "careful", "become": method, "agent": False}
        for machine in machines
    }
    path = bed.project.write("typed.yaml", json.dumps({"hosts": hosts}))
    typed = [("SSH password", bed.words["RIGHT"]), ("Password to become root", "")]
    words = ["-l", "all", "run", "-i", str(path), "-k", "-K", "--out", "json", "*", "cmd.run", "id -un"]
    done, shown = on_terminal(bed.project, words, typed)
    assert done.data == dict.fromkeys(hosts, "root")
    assert not bed.found(done.out + done.err + shown)


def test_a_command_gives_the_password_of_the_login(bed: Bed) -> None:
    store = bed.project.write("store", f"#!/bin/sh\necho {bed.words['RIGHT']}\n")
    store.chmod(0o700)
    hosts = {
        machine.suite: {"host": machine.address, "user": "careful", "sudo": True, "agent": False}
        for machine in bed.machines
    }
    commands = {"passwd_command": "./store login {id}", "sudo_password_command": "./store sudo {id}"}
    path = bed.project.write("commands.yaml", json.dumps({"defaults": commands, "hosts": hosts}))
    done = bed.project.run("-l", "all", "run", "-i", str(path), "--out", "json", "*", "cmd.run", "id -un")
    assert done.data == dict.fromkeys(hosts, "root")
    assert not bed.found(done.out + done.err)
    store.unlink()
