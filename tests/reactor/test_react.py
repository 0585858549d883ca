"""``pushsalt react``: reactor SLS, each event once, loops, faults."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import stat
import subprocess
import time

import pytest

from pushsalt.journal.store import Journal
from tests.beds.project import Project

SECRET = "s3cr3t-of-the-test"


@pytest.fixture
def project(tmp_path):
    hosts = {"web1": {"transport": "local", "pillar": {"password": SECRET}}, "web2": {"transport": "local"}}
    return Project(tmp_path, hosts)


def configure(project, *rows, **kwargs):
    project.write("pushsalt.yaml", json.dumps({"file_roots": {"base": ["salt"]}, "reactor": list(rows), **kwargs}))


def note(tmp_path, text, tgt="web1"):
    """A reaction that appends a line to a file."""
    command = json.dumps(f"echo {text} >> {tmp_path}/ran")
    return (
        f"note:\n  local.cmd.run:\n    - tgt: {tgt}\n    - args:\n      - cmd: {command}\n      - python_shell: true\n"
    )


def ran(tmp_path):
    path = tmp_path / "ran"
    return path.read_text().split() if path.exists() else []


def events(project, glob):
    done = project.run("events", glob, "--out", "ndjson")
    return [json.loads(line) for line in done.out.splitlines()]


def once(project, code=0):
    done = project.run("react", "--once", "--out", "ndjson", timeout=120)
    assert done.code == code, done.err + done.out
    return [json.loads(line) for line in done.out.splitlines()]


def test_an_event_is_reacted_to_once(project, tmp_path):
    configure(project, {"app/*": ["salt://reactor/note.sls"]})
    project.write("salt/reactor/note.sls", note(tmp_path, "{{ tag | replace('/', '-') }}-{{ data['n'] }}"))
    journal = Journal(project.cache)
    journal.put_many([("app/up", {"n": 1}), ("other", {}), ("app/down", {"n": 2})])
    said = once(project)
    assert sorted(ran(tmp_path)) == ["app-down-2", "app-up-1"]
    assert [row["fun"] for row in said] == ["local cmd.run"] * 2 and not any(row["error"] for row in said)
    assert once(project) == [] and len(ran(tmp_path)) == 2
    journal.put("app/up", {"n": 3})
    once(project)
    assert ran(tmp_path)[2:] == ["app-up-3"]


def test_the_forms_of_salt(project, tmp_path):
    """``local``, ``cmd``, ``runner``, ``caller``; former and present forms of arguments; files by path and glob."""
    configure(
        project,
        {"start": ["reactor/*.sls", str(project.folder / "one.sls")]},
    )
    project.files(
        {
            "reactor/a.sls": """
former:
  cmd.test.echo:
    - tgt: web1
    - arg: [{{ data['word'] }}]
runner:
  runner.event.send:
    - args:
        tag: made/runner
        data: {word: {{ data['word'] }}, id: {{ opts['id'] }}}
former runner:
  runner.event.send:
    - tag: made/former
    - data: {x: 1}
""",
            "reactor/b.sls": """
here:
  caller.event.send:
    - args:
      - tag: made/caller
list:
  caller.event.send:
    - args: [made/list, {y: 2}]
""",
            "one.sls": """#!py
def run():
    args = {"tag": "made/" + tag}
    return {"both": {"local.event.send": [{"tgt": ["web1", "web2"]}, {"tgt_type": "list"}, {"args": args}]}}
""",
        }
    )
    Journal(project.cache).put("start", {"word": "hello"})
    once(project)
    made = {event["tag"]: event["data"] for event in events(project, "made/*")}
    assert made["made/runner"]["word"] == "hello" and made["made/former"] == {"x": 1}
    assert made["made/list"]["data"] == {"y": 2} and set(made) >= {"made/caller", "made/start"}
    assert {event["data"]["id"] for event in events(project, "made/start")} == {"web1", "web2"}
    [job] = [event for event in events(project, "salt/job/*/ret/web1") if event["data"]["fun"] == "test.echo"]
    assert job["data"]["return"] == "hello"


def test_wheel_functions_say_that_they_have_no_meaning(project):
    configure(project, {"auth": "salt://accept.sls"})
    project.write("salt/accept.sls", "accept:\n  wheel.key.accept:\n    - args: {match: web1}\n")
    Journal(project.cache).put("auth", {})
    [said] = once(project, code=2)
    assert "no keys of Salt" in said["error"]
    [event] = events(project, "pushsalt/react/failed/*")
    assert event["data"]["sls"] == "salt://accept.sls" and event["data"]["id"] == "accept"


@pytest.mark.parametrize(
    "text, said",
    [
        ("{{ data['no'] }}: x", "no"),
        ("a: [b", "a: [b"),
        ("- a\n- b\n", "not to a mapping"),
        ("a:\n  local.test.ping: []\n", "no tgt"),
        ("a:\n  pkg.installed: []\n", "none of local, runner, caller, wheel"),
        ("a:\n  runner.no.such: []\n", "no runner function"),
        ("a:\n  runner.test.arg:\n    - args: [1]\n", "by the names of the arguments"),
        ("a:\n  local.test.ping:\n    - tgt: nobody\n", "no target matches"),
        ("a:\n  local.no.such:\n    - tgt: web1\n", "no.such"),
        (None, "no such reactor SLS"),
    ],
)
def test_a_failed_reaction_is_an_event_and_others_continue(project, tmp_path, text, said):
    configure(project, {"app": ["salt://bad.sls", "salt://good.sls"]})
    if text is not None:
        project.write("salt/bad.sls", text)
    project.write("salt/good.sls", note(tmp_path, "good"))
    first = Journal(project.cache).put("app", {})
    once(project, code=2)
    assert ran(tmp_path) == ["good"]
    [event] = events(project, "pushsalt/react/failed/*")
    assert event["tag"].endswith(first.id) and event["data"]["event"] == first.id
    assert said in event["data"]["error"], event
    assert once(project) == []


def test_a_function_that_fails_on_a_target_is_a_failure(project):
    configure(project, {"app": "salt://fails.sls"})
    project.write("salt/fails.sls", "a:\n  local.cmd.run:\n    - tgt: 'web*'\n    - args: {cmd: 'exit 3'}\n")
    Journal(project.cache).put("app", {})
    once(project, code=2)
    [event] = events(project, "pushsalt/react/failed/*")
    assert "local cmd.run" in event["data"]["error"] and "and 1 more" in event["data"]["error"]


@pytest.mark.parametrize("glob", ["app/*", "*"])
def test_loops_are_noticed_and_stopped(project, glob):
    """A reaction to events that the reaction itself causes: those of its job, of the target, of a runner."""
    configure(project, {glob: "salt://loop.sls"})
    project.write(
        "salt/loop.sls",
        "a:\n  local.event.send:\n    - tgt: web1\n    - args: {tag: app/again}\n"
        "b:\n  runner.event.send:\n    - args: {tag: app/again}\n",
    )
    first = Journal(project.cache).put("app/go", {})
    said = once(project)
    assert [row["fun"] for row in said].count("local event.send") == 1
    assert len(events(project, "app/again")) == 2
    [loop] = events(project, "pushsalt/react/loop/*")
    assert loop["data"]["first"] == first.id and "comes of a reaction" in loop["data"]["error"]
    assert once(project) == []


def test_a_chain_of_reactions_is_no_loop(project, tmp_path):
    configure(project, {"one": "salt://one.sls"}, {"two": "salt://two.sls"})
    project.write("salt/one.sls", "a:\n  runner.event.send:\n    - args: {tag: two}\n")
    project.write("salt/two.sls", note(tmp_path, "two"))
    Journal(project.cache).put("one", {})
    once(project)
    assert ran(tmp_path) == ["two"] and events(project, "pushsalt/react/*") == []


def test_what_a_target_says_is_never_a_template(project, tmp_path):
    configure(project, {"app/said": "salt://said.sls"})
    project.write("salt/said.sls", note(tmp_path, "{{ data['data']['text'] | json | replace('\"', '') }}"))
    text = "{{1+1}}-#!py"
    assert project.run("run", "web1", "event.send", "app/said", json.dumps({"text": text})).code == 0
    once(project)
    assert ran(tmp_path) == [text.replace("#", "#")] or ran(tmp_path) == ["{{1+1}}-#!py"]


def test_secrets_are_not_in_messages(project, tmp_path):
    configure(project, {"app": "salt://secret.sls"}, pillar_roots={"base": ["pillar"]})
    project.write("pillar/top.sls", "base:\n  '*': [all]\n")
    project.write("pillar/all.sls", f"password: {SECRET}\n")
    project.write(
        "salt/secret.sls",
        "a:\n  local.no.such:\n    - tgt: web1\n    - args: {password: {{ salt['pillar.get']('password') }}}\n"
        "b:\n  runner.event.send:\n    - args: {tag: x, data: {password: {{ salt['pillar.get']('password') }}}}\n",
    )
    Journal(project.cache).put("app", {})
    done = project.run("react", "--once")
    assert done.code == 2 and SECRET not in done.out + done.err
    for path in (project.cache / "events").iterdir():
        assert SECRET.encode() not in path.read_bytes()


# processes ------------------------------------------------------------------------------------------------------------


def started(project):
    process = project.start("react")
    lock = project.cache / "events" / "react.lock"
    for _ in range(400):
        if lock.exists() and lock.read_text().strip() == str(process.pid):
            return process
        time.sleep(0.05)
    raise AssertionError("the process did not start in time")


def waited(found):
    for _ in range(600):
        if found():
            return
        time.sleep(0.05)
    raise AssertionError("it never came")


def test_it_follows_the_journal_until_it_is_stopped(project, tmp_path):
    configure(project, {"app": "salt://note.sls"})
    project.write("salt/note.sls", note(tmp_path, "{{ data['n'] }}"))
    journal = Journal(project.cache)
    process = started(project)
    journal.put("app", {"n": 1})
    waited(lambda: ran(tmp_path) == ["1"])
    project.write("salt/note.sls", note(tmp_path, "changed{{ data['n'] }}"))
    journal.put("app", {"n": 2})
    waited(lambda: ran(tmp_path) == ["1", "changed2"])
    process.send_signal(signal.SIGTERM)
    done = project.finish(process)
    assert done.code == 0 and done.out.count("  done") == 2 and done.err == ""


def test_one_reactor_at_a_time(project, tmp_path):
    configure(project, {"app": "salt://note.sls"})
    project.write("salt/note.sls", note(tmp_path, "{{ data['n'] }}"))
    first = started(project)
    done = project.run("react", "--once")
    assert done.code == 1 and f"process {first.pid}" in done.err
    second = project.start("react")
    assert b"waiting for its end" in second.stderr.readline()
    os.killpg(first.pid, signal.SIGKILL)
    first.communicate()
    Journal(project.cache).put("app", {"n": 1})
    waited(lambda: ran(tmp_path) == ["1"])
    second.send_signal(signal.SIGTERM)
    assert second.wait(30) == 0
    second.communicate()


def test_a_job_that_a_kill_left_is_taken_up_and_not_done_twice(project, tmp_path):
    """The function runs on the target while its reactor is killed."""
    configure(project, {"app": "salt://slow.sls"})
    command = (
        f"echo begun >> {tmp_path}/ran; while test ! -e {tmp_path}/go; do sleep 0.05; done; echo end >> {tmp_path}/ran"
    )
    call = {"local.cmd.run": [{"tgt": "web1"}, {"args": {"cmd": command, "python_shell": True}}]}
    project.write("salt/slow.sls", json.dumps({"slow": call}))
    Journal(project.cache).put("app", {})
    process = started(project)
    waited(lambda: ran(tmp_path) == ["begun"])
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    (tmp_path / "go").touch()
    [said] = once(project)
    assert said["error"] is None and ran(tmp_path) == ["begun", "end"]
    assert once(project) == []


def test_a_runner_that_a_kill_has_cut_short_is_said_and_not_called_again(project, tmp_path):
    project.write(
        "salt/_runners/slow.py",
        f"import pathlib, time\ndef go():\n    with open('{tmp_path}/ran', 'a') as f:\n        f.write('x ')\n"
        "    time.sleep(60)\n",
    )
    configure(project, {"app": "salt://slow.sls"})
    project.write("salt/slow.sls", "slow:\n  runner.slow.go: []\n")
    Journal(project.cache).put("app", {})
    process = started(project)
    waited(lambda: ran(tmp_path) == ["x"])
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    once(project, code=2)
    assert ran(tmp_path) == ["x"]
    [event] = events(project, "pushsalt/react/unknown/*")
    assert event["data"]["sls"] == "salt://slow.sls"
    assert once(project) == []


def test_the_unit_file(project):
    configure(project, {"app": "salt://x.sls"})
    done = project.run("react", "--unit")
    assert done.code == 0 and "ExecStart=" in done.out and " react\n" in done.out
    assert f"WorkingDirectory={project.folder}" in done.out


@pytest.mark.parametrize(
    "reactor, text",
    [
        ([], "has no `reactor`"),
        ({"a": "b"}, "is a list"),
        ([{"a": 1}], "are texts"),
        ("no.yaml", "no.yaml"),
        ([1], "no mapping"),
    ],
)
def test_a_configuration_that_cannot_be_used(project, reactor, text):
    project.write("pushsalt.yaml", json.dumps({"reactor": reactor}))
    done = project.run("react", "--once")
    assert done.code == 1 and text in done.err


def test_its_files_are_private(project, tmp_path):
    configure(project, {"app": "salt://note.sls"})
    project.write("salt/note.sls", note(tmp_path, "x"))
    once(project)
    for path in (project.cache / "events").iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_journal_that_cannot_be_written_is_said_and_nothing_is_done(project, tmp_path):
    """On a full disk no event is processed; all are when there is space again."""
    configure(project, {"app": "salt://note.sls"})
    project.write("salt/note.sls", note(tmp_path, "{{ data['n'] }}"))
    journal = Journal(project.cache)
    journal.put("app", {"n": 1, "text": "x" * 100_000})
    journal.close()
    limited = (resource.RLIMIT_FSIZE, (20_000, 20_000))
    done = project.run("react", "--once", preexec_fn=lambda: resource.setrlimit(*limited))
    assert done.code == 1 and "check the free space" in done.err and ran(tmp_path) == []
    once(project)
    assert ran(tmp_path) == ["1"]


def test_a_full_disk(project, tmp_path):
    """``react`` waits until there is space; no event is lost, and none is processed twice."""
    events_folder = project.cache / "events"
    events_folder.mkdir(parents=True, mode=0o700)
    mount = ["mount", "-t", "tmpfs", "-o", "size=256k,mode=700", "none", str(events_folder)]
    if subprocess.run(mount, stderr=subprocess.DEVNULL, check=False).returncode:
        pytest.skip("no file system can be mounted here")
    try:
        configure(project, {"app": "salt://note.sls"})
        project.write("salt/note.sls", note(tmp_path, "{{ data['n'] }}"))
        journal = Journal(project.cache)
        journal.put("app", {"n": 1})
        journal.close()
        filler = events_folder / "filler"
        with filler.open("wb", buffering=0) as stream, contextlib.suppress(OSError):
            while True:
                stream.write(bytes(1024))
        done = project.run("react", "--once")
        assert done.code == 1 and "check the free space" in done.err and ran(tmp_path) == []
        sent = project.run("runner", "event.send", "app", json.dumps({"n": 2, "text": "x" * 100_000}))
        assert sent.code == 2 and "full" in sent.err and "Traceback" not in sent.err
        process = project.start("react")
        try:
            time.sleep(3)
            assert ran(tmp_path) == []
            filler.unlink()
            waited(lambda: ran(tmp_path) == ["1"])
        finally:
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=60)
        once(project)
        assert ran(tmp_path) == ["1"]
    finally:
        subprocess.run(["umount", "--lazy", str(events_folder)], check=True)
