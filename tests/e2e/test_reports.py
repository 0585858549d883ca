"""Output about failures: each failure is shown once, with the command that repeats the job for the failed targets."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from tests.beds.project import Project

pytestmark = pytest.mark.slow

BOOM = """
import logging, os, signal, time
log = logging.getLogger(__name__)
def says():
    log.error("last words")
    return True
def hangs():
    says()
    time.sleep(60)
def dies(words=("last words",)):
    for each in words:
        log.error(each)
    time.sleep(0.5)
    os.kill(os.getpid(), signal.SIGKILL)
def chatters():
    dies(["line %d" % number for number in range(700)])
"""


@pytest.fixture
def project(tmp_path: Path) -> Project:
    hosts = {
        id: {"transport": "local", "thin_dir": str(tmp_path / id), "pillar": {"vhost": f"{id}.example", "role": role}}
        for id, role in (("web1", "primary"), ("web2", "standby"))
    }
    project = Project(tmp_path, {**hosts, "gone": {"host": "127.0.0.1", "port": 1}})
    project.write("salt/fails.sls", "silent:\n  cmd.run:\n    - name: exit 3\n")
    fails = "{% if pillar.vhost == 'web2.example' %}x: test.fail_without_changes\n{% endif %}\n"
    project.write("salt/one.sls", "echo {{ pillar.vhost }}: cmd.run\n" + fails)
    return project


def test_a_failure_is_reported_once(project: Project) -> None:
    done = project.run("apply", "web1", "fails")
    assert done.code == 2 and done.err == ""
    assert done.out.count("exit 3") == 2  # the state's name, and its comment
    assert "retcode: 3" in done.out
    logged = project.run("-l", "info", "apply", "web1", "fails")
    assert "[ERROR   ]" in logged.err


def test_state_output_can_be_set_by_configuration_and_command(project: Project) -> None:
    project.write("salt/two.sls", "long comment: test.nop\nchanged: test.succeed_with_changes\n")
    comment = "Something pretended to change"
    assert "long comment" not in project.run("apply", "web1", "two").out
    changes = project.run("apply", "web1", "two", "--state-output", "changes").out
    assert "long comment" in changes and comment in changes
    project.write("pushsalt.yaml", "state_output: filter\nstate_output_terse: 'True'\nfile_roots: {base: [salt]}\n")
    terse = project.run("apply", "web1", "two").out
    assert "long comment" in terse and "changed" in terse and comment not in terse
    project.write("pushsalt.yaml", "state_output_exclude: [true]\nfile_roots: {base: [salt]}\n")
    excluded = project.run("apply", "web1", "two", "--state_output=filter").out
    assert "long comment" not in excluded and "1 changed, 1 unchanged" in excluded


@pytest.mark.parametrize(
    ("fun", "kind", "message"),
    [
        ("dies", "worker_died", "last words"),
        ("hangs", "timeout", "last words"),
        ("chatters", "worker_died", "line 699"),
    ],
)
@pytest.mark.parametrize("apply", [False, True])
def test_log_messages_of_a_target_without_a_return_are_shown(
    project: Project, fun: str, kind: str, message: str, apply: bool
) -> None:
    project.write("salt/_modules/boom.py", BOOM)
    project.write("salt/boom.sls", f"it:\n  module.run:\n    - boom.{fun}: []\n")
    arguments = ["apply", "web1", "boom"] if apply else ["run", "web1", f"boom.{fun}"]
    done = project.run(*arguments, *(["--timeout", "8"] if fun == "hangs" else []))
    assert done.code == 3 and f"no answer: {kind}" in done.out, done.out
    assert f"[ERROR   ] {message}\n" in done.err
    assert done.err.count("[ERROR") == (700 if fun == "chatters" else 1)


def test_log_messages_after_the_last_return_are_shown(project: Project) -> None:
    project.write("salt/_modules/boom.py", BOOM)
    project.write("salt/well.sls", "it: test.nop\n")
    project.write("pillar/top.sls", "base: {'*': [mined]}\n")
    project.write("pillar/mined.sls", "mine_functions: {boom.says: []}\n")
    done = project.run("apply", "web1", "well")
    assert done.code == 0 and "[ERROR   ] last words\n" in done.err, done.err + done.out


def test_a_command_without_output_shows_its_exit_status(project: Project) -> None:
    done = project.run("run", "web1", "cmd.run", "exit 3")
    assert (done.code, done.out, done.err) == (2, "web1  exit status 3\n", "")


def test_the_suggested_command_repeats_failed_targets(project: Project) -> None:
    project.write("extra.yaml", "extra: 1\n")
    done = project.run("apply", "*", "one", "--pillar", "@extra.yaml", "--batch", "2")
    assert done.code == 3
    assert "failed     web2\nno answer  gone\nagain      " in done.out
    argv = shlex.split(done.out.rpartition("again      ")[2])
    assert argv == ["pushsalt", "apply", "--pillar", "@extra.yaml", "--batch", "2", "-L", "web2,gone", "one"]
    again = project.run(*argv[1:])
    assert again.code == 3 and "web1" not in again.out


def test_the_suggested_command_keeps_arguments_like_options(project: Project) -> None:
    done = project.run("run", "*", "test.arg", "--", "--out", "x=1")
    argv = shlex.split(done.out.rpartition("again      ")[2])
    assert argv == ["pushsalt", "run", "-L", "gone", "test.arg", "--", "--out", "x=1"]


@pytest.mark.parametrize(
    "arguments",
    [
        ("apply", "*", "one", "--pillar", "{db_password: hunter2-and-more}"),
        ("apply", "*", "one", "--pillar", "{extra: 1}"),
        ("run", "*", "state.apply", "one", "pillar={extra: 1}"),
        ("run", "*", "state.single", "test.nop", "kept-in-pillar"),
        ("run", "*", "state.single", "test.nop", "kept'in pillar"),
    ],
)
def test_the_suggested_command_has_no_secret_or_pillar(project: Project, arguments: tuple[str, ...]) -> None:
    project.write("pillar/top.sls", "base: {'*': [db]}\n")
    project.write("pillar/db.sls", 'one_password: kept-in-pillar\nother_password: "kept\'in pillar"\n')
    done = project.run(*arguments)
    ids = "web2,gone" if "one" in arguments else "gone"
    assert done.out.endswith(f"again      the same command with -L {ids}\n"), done.out


def test_states_that_differ_only_in_the_id_are_grouped(project: Project) -> None:
    project.write("salt/own.sls", "{{ opts.cachedir }}/{{ grains.id }}.conf:\n  file.managed:\n    - makedirs: true\n")
    done = project.run("apply", "--test", "web*", "own")
    assert "web1, web2  1 would change  (2 targets: alike, differing in id)" in done.out, done.out
    assert "web1.conf" in done.out and "web2.conf" not in done.out


def test_values_of_the_inventory_are_shown_per_target(project: Project) -> None:
    project.write("salt/vhost.sls", "{{ opts.cachedir }}/{{ pillar.role }}:\n  file.managed:\n    - makedirs: true\n")
    done = project.run("apply", "--test", "web*", "vhost")
    assert "/primary" in done.out and "/standby" in done.out


def test_requested_values_are_shown_per_target(project: Project) -> None:
    assert project.run("run", "web*", "grains.get", "id").out.startswith("web1: web1\nweb2: web2\n")
    role = project.run("run", "web*", "cmd.run", "echo my role is {{ pillar.role }}", "template=jinja").out
    assert role.startswith("web1: my role is primary\nweb2: my role is standby\n"), role
    single = project.run("run", "web*", "state.single", "cmd.run", "echo my id is $THEIRS", "env={THEIRS: x}").out
    assert "(2 targets: same)" in single  # equal texts are printed once
    project.write("salt/say.sls", "echo I am {{ grains.id }}: cmd.run\n")
    output = project.run("apply", "web*", "say").out
    assert "stdout: I am web1" in output and "stdout: I am web2" in output


def test_colours_can_be_forced_and_disabled(project: Project) -> None:
    assert "\x1b[" not in project.run("run", "web1", "test.ping").out
    project.variables["FORCE_COLOR"] = "1"
    assert "\x1b[" in project.run("run", "web1", "test.ping").out
    assert "\x1b[" not in project.run("run", "web1", "test.ping", "--no-color").out
    project.variables["NO_COLOR"] = "1"
    assert "\x1b[" not in project.run("run", "web1", "test.ping").out


def test_the_log_file_has_debug_messages_of_rendering_and_files(project: Project) -> None:
    lines = ("- source: salt://data.txt", "- template: jinja")
    project.write("salt/sent.sls", "\n    ".join(("/dev/null/x:\n  file.managed:", *lines)) + "\n")
    project.write("salt/data.txt", "x" * 5000)
    done = project.run("apply", "web1", "sent", "--log-file", "log", "--log-file-level", "debug")
    assert "DEBUG" not in done.err
    log = (project.folder / "log").read_text()
    for text in ("web1: connect: ", "web1: Python 3", "web1: 1 states of sent, with 1 files", "web1: run: "):
        assert text in log, log
    for name in ("sent.sls", "data.txt"):
        assert f"rendering {project.folder / 'salt' / name}" in log, log
    wrong = project.run("run", "web1", "test.ping", "--log-file", "no/such/log")
    assert wrong.code == 1 and "error: --log-file: no/such/log" in wrong.err
