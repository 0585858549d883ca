"""``pushsalt watch``: drift and its events, corrections, metrics, the schedule, kills."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import socket
import time
import urllib.request

import pytest

from tests.beds.project import Project

SECRET = "s3cr3t-of-the-test"
#: How often `watch` is killed: `PUSHSALT_KILLS=100` for a long run.
KILLS = int(os.environ.get("PUSHSALT_KILLS") or 5)


@pytest.fixture
def project(tmp_path):
    hosts = {
        "web1": {"transport": "local", "pillar": {"password": SECRET}},
        "web2": {"transport": "local"},
        "gone": {"transport": "ssh", "host": "127.0.0.1", "port": 1},
    }
    made = Project(tmp_path, hosts)
    made.write(
        "salt/conf.sls", f"conf:\n  file.managed:\n    - name: {tmp_path}/{{{{ grains['id'] }}}}\n    - contents: x\n"
    )
    return made


def events(project, glob="pushsalt/drift/*"):
    done = project.run("events", glob, "--out", "ndjson")
    return [json.loads(line)["data"] for line in done.out.splitlines()]


def once(project, *arguments, code=0):
    done = project.run("watch", *arguments, "--once")
    assert done.code == code, done.err + done.out
    return done


def test_drift_and_its_end_are_events(project, tmp_path):
    (tmp_path / "web2").write_text("x\n")
    done = once(project, "web*", "conf")
    assert "web1  drifted: conf: conf" in done.out
    [event] = events(project)
    assert (event["id"], event["in_order"], event["applied"]) == ("web1", False, False)
    assert event["drifted"] == event["new"] and event["states"][0]["__sls__"] == "conf"
    assert not (tmp_path / "web1").exists()
    assert project.run("jobs", "show", event["jid"], "--out", "json").data["fun"] == "state.apply"
    once(project, "web*", "conf")
    assert len(events(project)) == 1  # nothing has changed
    (tmp_path / "web1").write_text("x\n")
    assert "web1  in order again" in once(project, "web*", "conf").out
    assert [each["in_order"] for each in events(project)] == [False, True]


def test_apply_corrects_drift(project, tmp_path):
    metrics = tmp_path / "watch.prom"
    done = once(project, "web*", "conf", "--apply", "--metrics", str(metrics))
    assert (tmp_path / "web1").read_text() == (tmp_path / "web2").read_text() == "x\n"
    assert done.out.count("corrected") == 2
    for id in ("web1", "web2"):
        drifted, order = (each for each in events(project) if each["id"] == id)
        assert not drifted["in_order"] and order["in_order"] and order["applied"] and order["jid"] != drifted["jid"]
    text = metrics.read_text()
    assert 'pushsalt_applied_total{id="web1"} 1' in text and 'pushsalt_drifted_states{id="web1"} 0' in text


def test_targets_without_an_answer_and_failed_states(project, tmp_path):
    project.write("salt/fails.sls", "fails:\n  test.fail_without_changes: []\n")
    metrics = tmp_path / "watch.prom"
    done = once(project, "gone", "conf", "--metrics", str(metrics), code=3)
    assert "gone" in done.out and 'pushsalt_up{id="gone"} 0' in metrics.read_text()
    project.write("salt/broken.sls", "a: [b")
    once(project, "web1", "broken", code=2)
    assert events(project) == []


def test_secrets_are_not_in_messages(project, tmp_path):
    project.write(
        "salt/secret.sls",
        "a:\n  test.configurable_test_state:\n    - changes: True\n    - result: True\n"
        "    - comment: it is {{ pillar['password'] }}\n",
    )
    done = once(project, "web1", "secret")
    assert len(events(project)) == 1 and SECRET not in done.out + done.err
    for path in (project.cache / "events").iterdir():
        assert SECRET.encode() not in path.read_bytes()


@pytest.mark.parametrize(
    "words, text",
    [
        (["web*"], "needs --every"),
        (["web*", "--every", "soon"], "--every"),
        (["web*", "--every", "0"], "--every"),
        (["--every", "1h"], "no target"),
        ([], "no `schedule`"),
        (["nobody", "--every", "1h"], "nobody"),
        (["web*", "--every", "1h", "--metrics", "/no/such/folder/x"], "neither an address nor a file"),
    ],
)
def test_invalid_arguments_are_errors(project, words, text):
    done = project.run("watch", *words)
    assert done.code == 1 and text in done.err


# processes ------------------------------------------------------------------------------------------------------------


def waited(found, what=""):
    for _ in range(800):
        if found():
            return
        time.sleep(0.05)
    raise AssertionError(f"it never came {what}")


def test_rounds_follow_each_other_and_metrics_are_served(project, tmp_path):
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    process = project.start("watch", "web*", "conf", "--every", "1s", "--jitter", "--metrics", f":{port}")
    waited(lambda: len(events(project)) == 2)
    for id in ("web1", "web2"):
        (tmp_path / id).write_text("x\n")
    waited(lambda: len(events(project)) == 4)
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
        text = answer.read().decode()
    assert 'pushsalt_up{id="web1"} 1' in text
    assert int(re.search(r"^pushsalt_rounds_total (\d+)$", text, re.M)[1]) >= 2
    process.send_signal(signal.SIGTERM)
    assert project.finish(process).code == 0


@pytest.mark.timeout(300 + 20 * KILLS)
def test_a_kill_neither_loses_nor_repeats_an_event(project, tmp_path):
    """Killed at many moments; the file changes in between."""
    chance = random.Random(18)
    for number in range(KILLS):
        (tmp_path / "web1").write_text("x\n" if number % 2 else "y\n")
        process = project.start("watch", "web1", "conf", "--every", "1s")
        time.sleep(chance.uniform(0.2, 3.0))
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        once(project, "web1", "conf")
    assert [each["in_order"] for each in events(project)] == [bool(number % 2) for number in range(KILLS)]


def test_a_journal_that_cannot_be_written_is_reported_and_the_event_is_written_later(project):
    (project.cache / "events").mkdir(parents=True)
    (project.cache / "events").chmod(0o777)  # refused, since others can write there
    done = once(project, "web1", "conf")
    assert "events wait for the next round" in done.err
    (project.cache / "events").chmod(0o700)
    once(project, "web1", "conf")
    assert [each["id"] for each in events(project)] == ["web1"]


def test_the_schedule(project, tmp_path):
    schedule = {
        "send": {"function": "event.send", "args": ["made/runner"], "seconds": 1, "maxrunning": 1},
        "ping": {"function": "test.ping", "tgt": "web1", "seconds": 3600},
        "quiet": {"function": "test.arg", "seconds": 3600, "return_job": False},
        "later": {"function": "event.send", "args": ["made/later"], "cron": "0 0 29 2 *"},
        "odd": {"function": "test.arg", "when": "5pm"},
        "fails": {"function": "no.such", "seconds": 3600},
    }
    project.write("pushsalt.yaml", json.dumps({"file_roots": {"base": ["salt"]}, "schedule": schedule}))
    metrics = tmp_path / "m.prom"
    process = project.start("watch", "--metrics", str(metrics))
    waited(lambda: len(events(project, "made/runner")) >= 2)
    waited(lambda: metrics.exists() and 'pushsalt_scheduled_failures_total{job="fails"} 1' in metrics.read_text())
    waited(lambda: 'pushsalt_scheduled_runs_total{job="ping"} 1' in metrics.read_text())
    second = project.run("watch")
    assert second.code == 1 and f"process {process.pid}" in second.err
    process.send_signal(signal.SIGTERM)
    done = project.finish(process)
    assert done.code == 0 and "odd is not run" in done.err and "schedule: fails  no.such  failed" in done.out
    assert events(project, "made/later") == []
    runs = [each["fun"] for each in events(project, "salt/run/*/new")]
    assert "runner.event.send" in runs and "runner.test.arg" not in runs


def test_no_more_than_maxrunning_at_a_time(project, tmp_path):
    project.write(
        "salt/_runners/slow.py",
        f"import time\ndef go():\n    open('{tmp_path}/ran', 'a').write('x')\n    time.sleep(30)\n",
    )
    schedule = {"slow": {"function": "slow.go", "seconds": 1}}
    project.write("pushsalt.yaml", json.dumps({"file_roots": {"base": ["salt"]}, "schedule": schedule}))
    metrics = tmp_path / "m.prom"
    process = project.start("watch", "web1", "conf", "--every", "1s", "--metrics", str(metrics))
    waited(lambda: metrics.exists() and 'pushsalt_scheduled_skipped_total{job="slow"} 2' in metrics.read_text())
    assert (tmp_path / "ran").read_text() == "x"
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def test_the_unit_file(project):
    done = project.run("watch", "-G", "os:*", "conf", "--every", "10m", "--apply", "--unit")
    assert "watch -G 'os:*' conf --every 10m --apply\n" in done.out
