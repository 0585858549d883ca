"""Unusual logins of a machine, in one run with a usual one: without Python, without a home, with output and traps."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import NamedTuple

import pytest

from tests.beds.machines import Machine, missing
from tests.beds.project import Done, Project
from tests.machines.conftest import add_login

pytestmark = [
    pytest.mark.slow,
    pytest.mark.machines,
    pytest.mark.skipif(bool(missing()), reason=missing() or "-"),
]

#: Output of a start-up file that resembles what pushsalt waits for: reports, greetings, prompts, large lengths.
IMITATION = r"""
echo 'pushsalt AAAAAAAA no_python debian none'
echo 'pushsalt-AAAAAAAAAAAA:' >&2
echo 'sudo: a password is required' >&2; echo 'Sorry, try again.' >&2
printf 'AAAAAAAAAAAAAAAAG\0\0\0\0AAAAAAAAAAAAAAAAH\0\0\0\6have=1AAAAAAAAAAAAAAAAE\377\377\377\377kind=locked'
printf 'H\0\0\0\6have=1E\0\0\0\13kind=lockedM\377\377\377\377'
"""


class Login(NamedTuple):
    """An unusual login: what its sessions run, what root prepares, and the expected outcome.

    ``kept``: the place of its private directory below its home ("" for none); ``warning`` and ``kind`` are patterns.
    """

    command: str = ""
    prepare: str = ""
    kept: str = ".cache/pushsalt"
    warning: str = ""
    kind: str = ""
    message: str = ""


IS_FOREIGN = "it belongs to another user, or others can write to it"
LOGINS = {
    "well": Login(),
    "no-python": Login('PATH=/srv/nothing; eval "$asked"', kind="no_python", message="python3-minimal"),
    "python2": Login('PATH=/srv/old; eval "$asked"', kind="python_too_old", message=r"Python 2\.7\.18"),
    "no-home": Login('unset HOME; eval "$asked"'),
    "other-home": Login('HOME=/root; eval "$asked"'),
    "no-such-home": Login('HOME=/nowhere; eval "$asked"'),
    "closed-home": Login(prepare="chown root {home}", kept="", warning="no home directory"),
    "open-umask": Login('umask 0; eval "$asked"'),
    "no-umask": Login('umask 777; eval "$asked"'),
    "unquoted": Login("eval $asked"),
    "noisy": Login(prepare="cat > {home}/.bashrc < /srv/imitation"),
    "linked": Login(
        prepare="install -d -o {name} {home}/.cache {home}/trap && ln -s {home}/trap {home}/.cache/pushsalt",
        kept="",
        warning="{home}/.cache/pushsalt: (Not a directory|Too many levels)",
    ),
    "linked-cache": Login(
        prepare="install -d -o {name} {home}/trap && ln -s trap {home}/.cache",
        kept="",
        warning="{home}/.cache: (Not a directory|Too many levels)",
    ),
    "foreign": Login(
        prepare="install -d -o {name} {home}/.cache && install -d -o nobody -m 777 {home}/.cache/pushsalt",
        kept="",
        warning=IS_FOREIGN,
    ),
    "foreign-cache": Login(
        prepare="install -d -o nobody -m 777 {home}/.cache",
        kept="",
        warning="{home}/.cache: it belongs to another user",
    ),
    "group-writable": Login(
        prepare="install -d -o {name} {home}/.cache && install -d -o {name} -m 770 {home}/.cache/pushsalt",
        kept="",
        warning=IS_FOREIGN,
    ),
    "a-file": Login(
        prepare="install -d -o {name} {home}/.cache && touch {home}/.cache/pushsalt", kept="", warning="Not a directory"
    ),
}
PATIENT = {id: login for id, login in LOGINS.items() if not login.kind}


class Bed(NamedTuple):
    machine: Machine
    project: Project


@pytest.fixture(scope="module")
def bed(machine: Callable[[str], Machine], make_project: Callable[..., Project]) -> Bed:
    found = machine("bookworm")
    old = found.root / "srv" / "old"
    old.mkdir()
    (old / "python2").write_text("#!/bin/sh\necho Python 2.7.18 >&2\n")
    (old / "python2").chmod(0o755)
    (found.root / "srv" / "imitation").write_text(IMITATION)
    hosts = {}
    for id, login in LOGINS.items():
        hosts[id] = add_login(found, id, login.command)
        if login.prepare:
            found.shell(login.prepare.format(name=id, home=f"/home/{id}"))
    hosts["noisy-sudo"] = {**hosts["noisy"], "sudo": True, "sudo_password": "not needed"}
    hosts["noisy-tty"] = {**hosts["noisy"], "tty": True}
    found.shell("echo 'noisy ALL=(ALL:ALL) NOPASSWD: ALL' > /etc/sudoers.d/noisy")
    project = make_project(hosts, found)
    # all logins have the same job
    states = {
        "who": {"cmd.run": [{"name": "id -un"}]},
        "file": {"file.managed": [{"name": "/var/tmp/of-{{ grains['id'] }}"}, {"contents": "a"}, {"mode": "0640"}]},
    }
    project.write("salt/who.sls", json.dumps(states))
    return Bed(found, project)


@pytest.fixture(scope="module")
def done(bed: Bed) -> Done:
    return bed.project.json("apply", "--wait-lock", "60", "*", "who", timeout=120)


@pytest.mark.parametrize("id", [*PATIENT, "noisy-sudo", "noisy-tty"])
def test_those_that_work(bed: Bed, done: Done, id: str) -> None:
    who, file = sorted(done.data[id].values(), key=lambda state: state["__run_num__"])
    user = {"noisy-sudo": "root", "noisy-tty": "noisy"}.get(id, id)
    assert (who["changes"]["stdout"], file["result"]) == (user, True)
    made = (bed.machine.root / "var/tmp" / f"of-{id}").stat()
    assert made.st_mode & 0o7777 == 0o640


@pytest.mark.parametrize("id", [id for id, login in LOGINS.items() if login.kind])
def test_those_that_do_not(done: Done, id: str) -> None:
    error = done.error(id)
    assert error["kind"] == LOGINS[id].kind
    assert re.search(LOGINS[id].message, error["message"] + error["hint"]), error
    assert done.code == 3


@pytest.mark.parametrize("id", PATIENT)
def test_what_is_kept_and_said(bed: Bed, done: Done, id: str) -> None:
    login, home = LOGINS[id], bed.machine.root / "home" / id
    said = [line for line in done.err.splitlines() if f"] {id}: " in line and "waits until another run" not in line]
    pattern = login.warning.format(home=f"/home/{id}")
    assert len([line for line in said if "no private directory" in line and re.search(pattern, line)]) == bool(pattern)
    assert len(said) == bool(pattern) + (id == "closed-home"), said  # a lock is not possible either
    kept = bed.machine.shell(f"find /home/{id} -name 'thin-*' -printf '%h %u %m\\n'").splitlines()
    assert set(kept) == ({f"/home/{id}/{login.kept} {id} 600"} if login.kept else set())
    if login.kept:
        folders = (home / ".cache", home / login.kept)
        assert [folder.stat().st_mode & 0o7777 for folder in folders] == [0o700, 0o700]
    if (home / "trap").exists():
        assert not list((home / "trap").iterdir())


def test_nothing_is_where_it_does_not_belong(bed: Bed, done: Done) -> None:
    """Private files are in homes and in that of root (with sudo), not readable by others, and nowhere else."""
    found = bed.machine.shell(r"find / -xdev \( -name '*pushsalt*' -o -name 'thin-*' \) -not -path '/proc/*'")
    usual = re.compile(r"/(home/[\w-]+|root)/\.cache/pushsalt")
    assert not {path for path in found.split() if not usual.match(path)}


def test_a_machine_without_any_python(
    machine: Callable[[str], Machine], bed: Bed, make_project: Callable[..., Project]
) -> None:
    bare = machine("trixie")
    hosts = {"bare": bare.host(), "sudo": bare.host(user="deploy", sudo=True), "well": bed.machine.host()}
    project = make_project(hosts, bare)
    bare.shell("mkdir /srv/away && mv /usr/bin/python3* /srv/away/")
    try:
        done = project.json("run", "*", "cmd.run", "id -un")
    finally:
        bare.shell("mv /srv/away/* /usr/bin/ && rmdir /srv/away")
    for id in ("bare", "sudo"):
        error = done.error(id)
        assert error["kind"] == "no_python" and "apt-get install python3-minimal" in error["hint"]
    assert (done.code, done.data["well"]) == (3, "root")
    assert project.json("run", "bare", "test.ping").data == {"bare": True}
