"""Passwords that are not in files: one prompt asks for them (-k, -K), or a program of the operator prints them."""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor

import pytest

from pushsalt.api import Client, Settings
from pushsalt.errors import InventoryError, TargetError
from pushsalt.model import Asked, Secret, SecretCommand
from pushsalt.run.secretcommands import SecretCommands
from pushsalt.select.inventoryimage import WORTH_IT
from tests.beds.project import Project
from tests.beds.terminal import on_terminal

WORD = "canary-of-the-day-1729"
#: Prompts as sudo does with -S -p PROMPT, and records its input and arguments.
SUDO = """#!/bin/sh
echo "$@" >> {log}
while [ $# -gt 0 ]; do
    case $1 in -p) printf %s "$2" >&2; read -r word; echo "told $word" >> {log}; shift 2 ;; -u) shift 2 ;;
    --) shift; break ;; *) shift ;; esac
done
exec "$@"
"""


@pytest.fixture
def project(tmp_path):
    """Two local targets that become nobody, by an imitation of sudo."""
    host = {"transport": "local", "sudo": True, "sudo_user": "nobody"}
    made = Project(tmp_path, {"a": host, "b": host, "own": {**host, "sudo_password": "of-its-own"}})
    sudo = made.write("bin/sudo", SUDO.format(log=tmp_path / "sudo.log"))
    sudo.chmod(0o755)
    made.variables["PATH"] = f"{sudo.parent}:{os.environ['PATH']}"
    return made


def received_passwords(tmp_path):
    """The passwords that sudo received."""
    lines = (tmp_path / "sudo.log").read_text().splitlines()
    assert not [line for line in lines if WORD in line and not line.startswith("told ")]
    return sorted(line.removeprefix("told ") for line in lines if line.startswith("told "))


def open_project(made, **kwargs):
    settings = Settings(config=made.folder / "pushsalt.yaml", cache_dir=made.cache, **kwargs)
    return Client(settings).project


RUN = ("-l", "all", "run", "--out", "json", "*", "test.ping")
ASKING = "Password to become root"


def test_one_is_asked_once_for_all_targets(project, tmp_path):
    done, shown = on_terminal(project, ["-l", "all", "run", "-K", "--out", "json", "*", "test.ping"], [(ASKING, WORD)])
    assert done.data == {"a": True, "b": True, "own": True} and done.code == 0
    assert received_passwords(tmp_path) == [WORD, WORD, "of-its-own"], "what the inventory says wins"
    assert shown.count(ASKING) == 1 and WORD not in shown + done.out + done.err
    assert not [
        path
        for path in (*project.cache.rglob("*"), *project.home.rglob("*"))
        if path.is_file() and WORD.encode() in path.read_bytes()
    ]


def test_an_empty_password_for_sudo_means_that_of_the_login(project, tmp_path):
    typed = [("SSH password", WORD), (ASKING, "")]
    done, _ = on_terminal(project, ["run", "-k", "-K", "--out", "json", "a", "test.ping"], typed)
    assert done.data == {"a": True} and received_passwords(tmp_path) == [WORD]


def test_the_login_password_of_a_roster_answers_sudo(project, tmp_path):
    project.write("roster", "a: {host: 192.0.2.1, sudo: true}\nb: {host: 192.0.2.2, sudo: true, passwd: own}\n")
    found = open_project(project, inventories=[project.folder / "roster"], passwd=WORD)
    ready = {id: found.secrets.ready(found.inventory.targets[id]) for id in "ab"}
    assert [(each.passwd, each.sudo_password) for each in ready.values()] == [(WORD, WORD), ("own", "own")]
    assert isinstance(ready["a"].passwd, Secret) and not isinstance(ready["a"].passwd, Asked)
    assert found.redactor.text(f"x {WORD} y") == "x ********** y"


@pytest.mark.parametrize("flag, setting", [("-k", "passwd_command"), ("--ask-become-pass", "sudo_password_command")])
def test_without_a_terminal_there_is_no_prompt(project, flag, setting):
    done = project.run("run", flag, "a", "test.ping")
    assert done.code == 1 and "which needs a terminal" in done.err and setting in done.err
    assert not done.out


def test_no_password_is_no_answer(project):
    done, _ = on_terminal(project, ["run", "-K", "a", "test.ping"], [(ASKING, "")])
    assert done.code == 1 and "no password was typed" in done.err


def test_typed_passwords_are_not_stored_with_a_large_inventory(project):
    hosts = {f"h{number}": {"host": "192.0.2.1"} for number in range(WORTH_IT)}
    hosts["c"] = {"host": "192.0.2.1", "passwd_command": f"printf {WORD}"}
    project.write("inventory.yaml", json.dumps({"hosts": hosts}))
    for _ in range(2):  # parsed, and then from the image
        found = open_project(project, passwd=WORD)
        assert type(found.inventory.targets["h7"].passwd) is Asked
        assert type(found.inventory.targets["c"].passwd) is SecretCommand
        ready = [found.secrets.ready(found.inventory.targets[id]).passwd for id in ("h7", "c")]
        assert ready == [WORD, WORD]
    assert open_project(project).inventory.targets["h7"].passwd is None


# --- commands


def test_a_command_answers_sudo_and_is_shown_nowhere(project, tmp_path):
    """It runs once for all targets, without a shell; its first line is the password."""
    store = project.write("store", f'#!/bin/sh\necho "$@" >> {tmp_path}/calls\necho {WORD}\necho more\necho oh >&2\n')
    store.chmod(0o755)
    host = {"transport": "local", "sudo": True, "sudo_user": "nobody"}
    defaults = {"sudo_password_command": "./store get 'a b' $HOME;x"}
    hosts = {
        "a": host,
        "b": host,
        "own": {**host, "sudo_password_command": ["./store", "get", "own-{id}"]},
        "none": {**host, "sudo_password_command": None},
    }
    project.write("inventory.yaml", json.dumps({"defaults": defaults, "hosts": hosts}))
    done = project.run(*RUN)
    assert done.data == {"a": True, "b": True, "own": True, "none": True}
    assert received_passwords(tmp_path) == [WORD, WORD, WORD]
    assert sorted((tmp_path / "calls").read_text().splitlines()) == ["get a b $HOME;x", "get own-own"]
    assert WORD not in done.out + done.err and "oh" not in done.err.split()
    shown = project.run("inventory", "show", "own", "--explain")
    assert WORD not in shown.out and "sudo_password  **********" in shown.out
    assert (tmp_path / "calls").read_text().count("\n") == 2, "only who connects asks"


def test_a_value_of_its_own_wins_over_the_command_below(project, tmp_path):
    defaults = {"passwd_command": "false", "priv_passwd_command": f"echo {WORD}"}
    project.write("inventory.yaml", json.dumps({"defaults": defaults, "hosts": {"a": {"passwd": "x"}, "b": {}}}))
    found = open_project(project, passwd="asked")
    ready = found.secrets.ready(found.inventory.targets["a"])
    assert (ready.passwd, ready.priv_passwd) == ("x", WORD)
    assert found.redactor.text(f"x {WORD} y") == "x ********** y"
    with pytest.raises(TargetError, match=r"b: `passwd_command` .*inventory.yaml.*false ended with 1"):
        found.secrets.ready(found.inventory.targets["b"])


def test_commands_of_the_configuration(project):
    config = {"roster_defaults": {"passwd_command": f"echo {WORD}"}, "ssh_passwd": "old"}
    project.write("pushsalt.yaml", json.dumps(config))
    project.write("inventory.yaml", "hosts: {b: {}}\n")
    for asked, want in ((None, WORD), ("asked", "asked")):
        found = open_project(project, passwd=asked)
        assert found.secrets.ready(found.inventory.targets["b"]).passwd == want


@pytest.mark.parametrize(
    "command, said",
    [
        (["sh", "-c", f"echo {WORD} >&2; exit 3"], "sh ended with 3"),
        ("no-such-program-here --x", "no-such-program-here cannot be run: No such file or directory"),
        ("echo", "printed nothing"),
        ([r"printf", r"\377"], "not UTF-8"),
        ("printf 'a\\0b'", "what it gives has a line break or NUL"),
        ("head -c 100000000 /dev/zero", "line break or NUL"),
    ],
)
def test_commands_without_a_password(project, tmp_path, command, said):
    host = {"transport": "local", "sudo": True, "sudo_user": "nobody", "sudo_password_command": command}
    project.write("inventory.yaml", json.dumps({"hosts": {"a": host}}))
    done = project.run("-l", "all", "run", "--out", "json", "a", "test.ping")
    error = done.error("a")
    assert (error["kind"], done.code) == ("secret_unavailable", 3) and said in error["message"], error
    assert error["message"].startswith("a: `sudo_password_command` (") and WORD not in done.out + done.err
    assert not (tmp_path / "sudo.log").exists()


@pytest.mark.parametrize(
    "host, said",
    [
        ("{passwd: a, passwd_command: b}", "cannot be used together with `passwd`"),
        ("{passwd_command: {a: b}}", "must be a command"),
        ("{passwd_command: ''}", "is empty"),
        ("{passwd_command: []}", "is empty"),
        ('{passwd_command: "a \'b"}', "cannot be split into words: no closing quotation"),
        ('{passwd_command: [a, "b\\nc"]}', "line break"),
        ("{passwd_command: true}", "must be a command"),
    ],
)
def test_invalid_commands(project, host, said):
    project.write("inventory.yaml", f"hosts:\n  a: {host}\n")
    with pytest.raises(InventoryError, match=said) as caught:
        _ = open_project(project).inventory
    assert caught.value.where.line == 2


@pytest.mark.parametrize("key", ["passwd_command", "priv_passwd_command", "sudo_password_command"])
@pytest.mark.parametrize("layer", ["host", "defaults", "group"])
def test_a_program_names_no_commands(project, tmp_path, key, layer):
    """Output of inventory programs is data: it does not decide what runs on the controller."""
    evil = {key: f"touch {tmp_path}/made"}
    data = {"hosts": {"a": {"host": "192.0.2.1", **(evil if layer == "host" else {})}}}
    data |= {"defaults": evil} if layer == "defaults" else {}
    data |= {"groups": {"g": {"hosts": ["a"], **evil}}} if layer == "group" else {}
    path = project.write("listing", f"#!/bin/sh\ncat <<'X'\n{json.dumps(data)}\nX\n")
    path.chmod(0o755)
    done = project.run("-i", str(path), "run", "a", "test.ping")
    assert done.code == 1 and f"`{key}` of" in done.err and "program of this machine" in done.err
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize(
    "name, text",
    [
        ("hosts.ini", "[web]\na ansible_host=192.0.2.1 passwd_command='touch {made}'\n"),
        ("all.yaml", "all: {{hosts: {{a: {{ansible_host: 192.0.2.1, passwd_command: 'touch {made}'}}}}}}\n"),
        ("listing.json", '{{"_meta": {{"hostvars": {{"a": {{"passwd_command": "touch {made}"}}}}}}}}'),
    ],
)
def test_variables_of_others_are_no_commands(project, tmp_path, name, text):
    path = project.write(name, text.format(made=tmp_path / "made"))
    found = open_project(project, inventories=[path])
    assert found.secrets.ready(found.inventory.targets["a"]).passwd is None
    assert not (tmp_path / "made").exists()


def test_an_id_never_is_more_than_a_word():
    commands = SecretCommands()
    assert commands.value("sh -c 'echo got-{id}'", "web-1.example:x@y") == "got-web-1.example:x@y"
    for id in ("$(id)", "a;id", "`id`", "-x", "a|b", "a&b", "a*", "~"):
        with pytest.raises(TargetError, match="cannot replace"):
            commands.value("echo {id}", id)
        assert commands.value("echo plain", id) == "plain"


def test_concurrent_requests_of_one_command_wait_for_it(tmp_path):
    commands = SecretCommands()
    line = f"sh -c 'echo x >> {tmp_path}/calls; sleep 0.3; echo word'"
    with ThreadPoolExecutor(8) as threads:
        assert set(threads.map(lambda _: commands.value(line, "a"), range(8))) == {"word"}
    assert (tmp_path / "calls").read_text() == "x\n"
    commands.forget()
    commands.value(line, "a")
    assert (tmp_path / "calls").read_text() == "x\nx\n"


def test_a_command_that_does_not_end_is_stopped():
    commands = SecretCommands(0.2)
    for _ in range(2):  # the second target does not wait again
        with pytest.raises(TargetError, match=r"sleep did not end in 0.2 seconds"):
            commands.value("sleep 600", "a")
