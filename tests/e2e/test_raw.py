"""``run --raw`` on real servers without a Python, and the installation of Python by ``bootstrap``."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pushsalt.api import Client, JobOptions, Selection, Settings
from pushsalt.bundle import shim
from tests.beds import sshd
from tests.beds.project import Project

pytestmark = pytest.mark.slow

#: Prompts for a password as sudo does with -S and -p, and runs the words after --.
SUDO = """#!/bin/sh
while [ "$1" != -- ]; do [ "$1" = -p ] && prompt=$2; shift; done; shift
[ -n "$prompt" ] || { echo 'sudo: a password is required' >&2; exit 1; }
printf %s "$prompt" >&2; read -r given
[ "$given" = 'pass word' ] || { printf %s "$prompt" >&2; echo 'sudo: 1 incorrect password attempt' >&2; exit 1; }
exec "$@"
"""
MANAGER = """#!/bin/sh
echo "$0 $*" >> {log}
[ -e {folder}/broken ] && {{ echo 'no mirror answers' >&2; exit 100; }}
/bin/ln -s {python} {folder}/python3
"""
COMMAND = """printf '%s|%s' 'a b' "\\\\x" '!' "$((1+1))"; echo err >&2; exit 7"""


@pytest.fixture
def bare(tmp_path: Path) -> Iterator[sshd.SshdBed]:
    """A server whose logins find sh and the programs of the folder ``tools``, but no Python."""
    if reason := sshd.missing():
        pytest.skip(reason)
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("sh", "dd", "id", "uname", "cat", "env"):
        path = shutil.which(name)
        assert path
        (tools / name).symlink_to(path)
    (tools / "sudo").write_text(SUDO)
    (tools / "sudo").chmod(0o755)
    with sshd.SshdBed(tmp_path / "bed") as bed:
        bed.add("bare", [f"SetEnv PATH={tools} HOME={tmp_path}"], host="127.0.0.1")
        bed.wait()
        yield bed


def create_project(bed: sshd.SshdBed, tmp_path: Path, **settings: object) -> Project:
    host = {**bed.inventory()["hosts"]["bare"], **settings}
    project = Project(tmp_path, {"bare": host, "here": {"transport": "local"}, "paper": {"transport": "offline"}})
    shutil.copy(bed.known_hosts, project.home / ".ssh" / "known_hosts")
    return project


def test_raw_commands_need_no_python(bare: sshd.SshdBed, tmp_path: Path) -> None:
    project = create_project(bare, tmp_path)
    done = project.json("run", "--raw", "*", COMMAND)
    expected = {"stdout": "a b|\\x!|2", "stderr": "err", "retcode": 7}
    assert done.data["bare"] == done.data["here"] == expected
    assert done.data["paper"]["error"]["kind"] == "offline"
    assert done.code == 3
    assert project.json("run", "--raw", "bare", COMMAND).code == 2
    assert project.json("run", "--raw", "bare", "echo", "$HOME").data["bare"]["stdout"] == str(tmp_path)
    assert not (tmp_path / ".cache").exists(), "no file remains"


def test_bytes_of_a_command_line_are_not_changed(bare: sshd.SshdBed, tmp_path: Path) -> None:
    project = create_project(bare, tmp_path)
    command = os.fsdecode(b"""[ '\xfc' = "$(printf '\\374')" ]""")
    done = project.json("run", "--raw", "-L", "bare,here", command)
    assert [ret["retcode"] for ret in done.data.values()] == [0, 0], done.out


def test_stdin_is_empty_and_a_signal_is_a_negative_exit_status(bare: sshd.SshdBed, tmp_path: Path) -> None:
    project = create_project(bare, tmp_path)
    done = project.json("run", "--raw", "-L", "bare,here", "cat; kill -9 $$", timeout=20)
    assert [ret["retcode"] for ret in done.data.values()] == [-9, -9] and done.code == 2


def test_equal_output_is_shown_once(bare: sshd.SshdBed, tmp_path: Path) -> None:
    done = create_project(bare, tmp_path).run("run", "--raw", "-L", "bare,here", "echo one")
    assert done.out.count("one") == 1 and "bare" in done.out and "here" in done.out


def test_raw_commands_have_no_dry_run(tmp_path: Path) -> None:
    done = Project(tmp_path, {"here": {"transport": "local"}}).run("run", "--raw", "here", "touch x", "--test")
    assert done.code == 1 and "no dry run" in done.err and not (tmp_path / "project/x").exists()


@pytest.mark.parametrize("tty", [False, True])
def test_raw_commands_run_as_another_user(bare: sshd.SshdBed, tmp_path: Path, tty: bool) -> None:
    """The command is in no argument list, and only sudo receives the password."""
    settings = {"sudo": True, "sudo_user": "someone", "sudo_password": "pass word", "tty": tty}
    command = COMMAND + "; cat /proc/$$/cmdline"
    project = create_project(bare, tmp_path, **settings)
    done = project.json("run", "--raw", "bare", command.replace("exit 7", "(exit 7)"))
    ret = done.data["bare"]
    assert "pass word" not in str(ret) and "printf" not in ret["stdout"]
    assert ret["stdout"].startswith("a b|\\x!|2") and "err" in (ret["stdout"] if tty else ret["stderr"])
    assert project.json("run", "--raw", "bare", "cat; exit 5", timeout=20).data["bare"]["retcode"] == 5
    wrong = create_project(bare, tmp_path, **{**settings, "sudo_password": "other"}).json(
        "run", "--raw", "bare", "true"
    )
    assert wrong.error("bare")["kind"] == "sudo_password_wrong" and wrong.code == 3
    none = create_project(bare, tmp_path, **{**settings, "sudo_password": None}).json("run", "--raw", "bare", "true")
    assert none.error("bare")["kind"] == "sudo_password_required"


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("sudo"), reason="becomes nobody by the real sudo")
def test_raw_commands_run_as_another_user_by_the_real_sudo(tmp_path: Path) -> None:
    project = Project(tmp_path, {"here": {"transport": "local", "sudo": True, "sudo_user": "nobody"}})
    ret = project.json("run", "--raw", "here", "id -un; exit 4").data["here"]
    assert ret == {"stdout": "nobody", "stderr": "", "retcode": 4}


# --- installation of Python


def create_client(bed: sshd.SshdBed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, **settings: object) -> Client:
    monkeypatch.setattr(shim, "CANDIDATES", ("python3",))
    host = {**bed.inventory()["hosts"]["bare"], "ssh_options": [f"UserKnownHostsFile={bed.known_hosts}"], **settings}
    (tmp_path / "inventory.yaml").write_text(json.dumps({"hosts": {"bare": host}}))
    return Client(Settings(inventories=[tmp_path / "inventory.yaml"], cache_dir=tmp_path / "cache"))


def install_package_manager(tmp_path: Path) -> Path:
    """Install a program ``apk`` that creates a link to Python. Returns its log file."""
    log = tmp_path / "log"
    program = tmp_path / "tools" / "apk"
    program.write_text(MANAGER.format(log=log, folder=program.parent, python=sys.executable))
    program.chmod(0o755)
    (program.parent / "id").unlink()
    (program.parent / "id").write_text("#!/bin/sh\necho 0\n")
    (program.parent / "id").chmod(0o755)
    return log


def test_python_is_installed_if_bootstrap_is_set(
    bare: sshd.SshdBed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = install_package_manager(tmp_path)
    selection = Selection("bare")
    error = create_client(bare, tmp_path, monkeypatch).run(selection, "test.ping")["bare"].ret["error"]
    assert error["kind"] == "no_python" and "bootstrap: true" in error["hint"]
    bootstrapping = create_client(bare, tmp_path, monkeypatch, bootstrap=True)
    dry = bootstrapping.run(selection, "test.ping", options=JobOptions(test=True))["bare"].ret["error"]
    assert dry["kind"] == "no_python" and not log.exists(), "not without the option, nor in a dry run"
    result = bootstrapping.run(selection, "test.ping")["bare"]
    assert result.ret is True
    assert result.warnings == ["Python was installed by apk (`bootstrap: true`)"]
    assert bootstrapping.run(selection, "test.ping")["bare"].warnings == []
    assert log.read_text().split()[1:] == ["add", "--no-cache", "python3"]


def test_errors_of_the_installation_of_python(
    bare: sshd.SshdBed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bootstrapping = create_client(bare, tmp_path, monkeypatch, bootstrap=True)
    error = bootstrapping.run(Selection("bare"), "test.ping")["bare"].ret["error"]
    assert error["kind"] == "no_python" and "no package manager" in error["message"]
    install_package_manager(tmp_path)
    (tmp_path / "tools" / "broken").touch()
    error = bootstrapping.run(Selection("bare"), "test.ping")["bare"].ret["error"]
    assert error["kind"] == "no_python" and "apk failed: no mirror answers" in error["message"]
    (tmp_path / "tools" / "id").write_text("#!/bin/sh\necho 1000\n")
    error = bootstrapping.run(Selection("bare"), "test.ping")["bare"].ret["error"]
    assert "apk needs root" in error["message"] and "sudo: true" in error["hint"]
