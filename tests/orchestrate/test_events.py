"""Events of jobs, orchestrations and runners in the journal, and ``pushsalt events``."""

from __future__ import annotations

import json
import os
import signal
import subprocess

import pytest

from pushsalt.journal.store import Journal
from tests.beds.project import Project

SECRET = "s3cr3t-of-the-test"
SENDS = """
def many(count, tag="app/many"):
    for number in range(count):
        __salt__["event.send"](tag, {"n": number})
    return count
"""


@pytest.fixture
def project(tmp_path):
    hosts = {
        "web1": {"transport": "local", "pillar": {"password": SECRET}},
        "web2": {"transport": "local"},
    }
    return Project(tmp_path, hosts)


def events(project, glob="*", *more):
    done = project.run("events", glob, "--out", "ndjson", *more)
    assert done.code == 0, done.err
    return [json.loads(line) for line in done.out.splitlines()]


def test_a_job_has_salts_events(project, tmp_path):
    jid = tmp_path / "jid"
    assert project.run("run", "web*", "test.echo", "hello", "--jid-file", str(jid)).code == 0
    jid = jid.read_text().strip()
    new, *returns = events(project)
    assert new["tag"] == f"salt/job/{jid}/new" and set(new) == {"tag", "id", "_stamp", "data"}
    wanted = {"jid": jid, "fun": "test.echo", "arg": ["hello"], "tgt": "web*", "tgt_type": "glob"}
    assert wanted.items() <= new["data"].items() and new["data"]["minions"] == ["web1", "web2"]
    assert {each["tag"] for each in returns} == {f"salt/job/{jid}/ret/web1", f"salt/job/{jid}/ret/web2"}
    for each in returns:
        data = each["data"]
        assert (data["return"], data["retcode"], data["success"], data["cmd"]) == ("hello", 0, True, "_return")
        assert (data["jid"], data["fun"], data["fun_args"]) == (jid, "test.echo", ["hello"])


def test_lines_for_people_are_for_terminals(project):
    assert project.run("run", "web1", "test.ping").code == 0
    plain = project.run("events").out
    assert plain == project.run("events", "--out", "ndjson").out and json.loads(plain.splitlines()[0])["tag"]
    shown = project.run("events", "--out", "rich").out
    assert len(shown.splitlines()) == len(plain.splitlines()) and not shown.startswith("{")


def test_events_of_targets_arrive_as_salts_do(project):
    assert project.run("run", "web1", "event.send", "app/up", "{version: 2}").code == 0
    [event] = events(project, "app/*")
    assert event["data"] == {
        "id": "web1",
        "tag": "app/up",
        "data": {"version": 2},
        "cmd": "_minion_event",
        "pretag": None,
    }


def test_states_fire_events_and_progress_is_an_option(project):
    project.write(
        "salt/one.sls", "one:\n  test.succeed_with_changes:\n    - fire_event: done/now\ntwo:\n  test.nop: []\n"
    )
    assert project.run("apply", "web1", "one").code == 0
    [event] = events(project, "salt/state_result/*")
    assert event["tag"].endswith("/web1/done/now") and event["data"]["id"] == "web1"
    assert event["data"]["data"]["ret"]["__id__"] == "one"
    assert events(project, "salt/job/*/prog/*") == []
    project.write("pushsalt.yaml", json.dumps({"file_roots": {"base": ["salt"]}, "state_events": True}))
    assert project.run("apply", "web1", "one").code == 0
    assert [event["tag"].split("/")[3:] for event in events(project, "salt/job/*/prog/*")] == [
        ["prog", "web1", "0"],
        ["prog", "web1", "1"],
    ]


@pytest.mark.parametrize("tag", ["salt/job/20260101000000000000/ret/web2", "salt/run/x/ret", "salt/state_result/x"])
def test_no_target_speaks_for_another(project, tag):
    project.run("run", "web1", "event.send", tag, "{id: web2}")
    assert events(project, tag) == []


def test_secrets_are_not_in_events(project, tmp_path):
    project.files(
        {
            "salt/one.sls": "one:\n  test.configurable_test_state:\n    - changes: True\n    - result: True\n"
            "    - comment: it is {{ pillar['password'] }}\n    - fire_event: True\n",
            "salt/orch.sls": "one:\n  salt.state:\n    - tgt: web1\n    - sls: one\n",
        }
    )
    assert project.run("apply", "web1", "one").code == 0
    assert project.run("run", "web1", "event.send", "app/x", f"{{word: {SECRET}}}").code == 0
    assert project.run("orchestrate", "orch", "--pillar", f"{{password: {SECRET}}}").code == 0
    project.run("runner", "event.send", "app/x", f"{{password: {SECRET}}}")
    assert len(events(project)) > 10
    for path in (project.cache / "events").iterdir():
        assert SECRET.encode() not in path.read_bytes()


def test_orchestrations_and_runners_have_events(project):
    project.write("salt/orch.sls", "one:\n  salt.function:\n    - name: test.ping\n    - tgt: web1\n")
    assert project.run("orchestrate", "orch").code == 0
    tags = [event["tag"] for event in events(project)]
    assert [tag.split("/")[1] for tag in tags] == ["run", "run", "job", "job", "run"]
    assert [tag.split("/")[3] for tag in tags] == ["new", "args", "new", "ret", "ret"]
    assert len({tag.split("/")[2] for tag in tags if tag.startswith("salt/run")}) == 1
    new, _, end = events(project, "salt/run/*")
    assert new["data"]["fun"] == end["data"]["fun"] == "runner.state.orchestrate"
    assert end["data"]["success"] is True and end["data"]["return"]["retcode"] == 0
    assert project.run("runner", "test.arg", "1", "a=b").code == 0
    new, end = events(project, "salt/run/*")[3:]
    assert new["data"]["fun"] == "runner.test.arg" and new["data"]["fun_args"] == [1, {"a": "b"}]
    assert end["data"]["return"] == {"args": [1], "kwargs": {"a": "b"}}


def test_users_runners_fire_events_of_their_call(project):
    text = "def go():\n    __jid_event__.fire_event({'step': 1}, 'progress')\n    raise ValueError('no good')\n"
    project.write("salt/_runners/own.py", text)
    done = project.run("runner", "own.go")
    assert done.code == 2 and "own.go: ValueError: no good" in done.err
    new, progress, end = events(project, "salt/run/*")
    assert progress["tag"] == new["tag"].replace("/new", "/progress") and progress["data"] == {"step": 1}
    assert end["data"]["success"] is False and "no good" in end["data"]["return"]


def test_a_flood_of_a_target_is_kept_whole(project):
    project.write("salt/_modules/floods.py", SENDS)
    assert project.run("run", "web*", "floods.many", "3000", timeout=120).code == 0
    found = events(project, "app/many")
    assert len({event["id"] for event in found}) == 6000
    for id in ("web1", "web2"):
        assert [each["data"]["data"]["n"] for each in found if each["data"]["id"] == id] == list(range(3000))


def test_without_a_journal_nothing_is_written(project):
    project.write("pushsalt.yaml", json.dumps({"event_journal": False}))
    assert project.run("run", "web1", "test.ping").code == 0
    assert not (project.cache / "events").exists() and events(project) == []


def test_a_folder_that_cannot_be_used_is_said_and_the_job_goes_on(project):
    (project.cache / "events").mkdir(parents=True)
    (project.cache / "events").chmod(0o777)
    done = project.run("run", "web1", "test.ping", "--out", "json")
    assert done.code == 0 and done.data == {"web1": True}
    assert done.err.count("events are not kept") == 1


# the command ----------------------------------------------------------------------------------------------------------


def test_people_see_a_line_an_event(project):
    project.run("runner", "event.send", "app/one", "{text: 'a\\nb\\x1b[31m'}")
    done = project.run("events", "app/*")
    [line] = done.out.splitlines()
    assert "app/one" in line and "\x1b" not in line


def test_since(project):
    Journal(project.cache).put("app/one", {})
    assert len(events(project, "*", "--since", "1h")) == 1
    assert events(project, "*", "--since", "2036-01-01") == []
    done = project.run("events", "--since", "soon")
    assert done.code == 1 and "--since" in done.err


def test_a_cursor_gives_each_event_once(project):
    journal = Journal(project.cache)
    journal.put_many([("app/1", {}), ("other", {}), ("app/2", {})])
    assert [event["tag"] for event in events(project, "app/*", "--cursor", "mine")] == ["app/1", "app/2"]
    assert events(project, "app/*", "--cursor", "mine") == []
    journal.put("app/3", {})
    assert [event["tag"] for event in events(project, "app/*", "--cursor", "mine")] == ["app/3"]
    assert len(events(project, "app/*", "--cursor", "theirs")) == 3


def test_a_cursor_stays_where_the_output_was_lost(project):
    Journal(project.cache).put("app/1", {})
    with open("/dev/full", "w") as full:
        words = project.argv("events", "--cursor", "mine", "--out", "ndjson")
        lost = subprocess.run(
            words, env=project.environment, cwd=project.folder, stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert lost.returncode == 1
    assert len(events(project, "*", "--cursor", "mine")) == 1


def test_follow_shows_what_comes(project):
    journal = Journal(project.cache)
    journal.put("before", {})
    process = project.start("events", "--follow", "--since", "1h", "--out", "ndjson")
    assert json.loads(process.stdout.readline())["tag"] == "before"
    later = journal.put("after", {"n": 1})
    assert json.loads(process.stdout.readline()) == later.as_json
    os.kill(process.pid, signal.SIGINT)
    done = project.finish(process)
    assert done.code in (0, 130) and done.err == ""
