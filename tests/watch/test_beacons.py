"""Beacons of watched targets: their events, and that they end with the watch."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

from pushsalt.journal.store import Journal
from tests.beds import sshd
from tests.beds.processes import wait_until
from tests.beds.project import Project

pytestmark = pytest.mark.slow

SECRET = "s3cr3t-of-the-test"
#: Says its process number, and counts in a variable of its module.
COUNTS = """
import os
count = 0
def validate(config):
    return True, "fine"
def beacon(config):
    global count
    count += 1
    return [{"tag": "x", "n": count, "pid": os.getpid(), "word": __pillar__.get("password"), "id": "other"}]
"""


@pytest.fixture
def project(tmp_path):
    hosts = {
        "web1": {"transport": "local", "pillar": {"password": SECRET, "beacons": {"counts": [{"interval": 1}]}}},
        "web2": {"transport": "local"},
    }
    made = Project(tmp_path, hosts)
    made.files({"salt/conf.sls": "conf:\n  test.nop: []\n", "salt/_beacons/counts.py": COUNTS})
    return made


def events(project, glob="salt/beacon/"):
    return [event for event in Journal(project.cache).after(0, 100_000) if event.tag.startswith(glob)]


def waited(what):
    wait_until(what, 60)


def ended(process):
    process.send_signal(signal.SIGTERM)
    done = Project.finish(process)
    assert done.code == 0, done.err
    return done


def is_running(pid):
    return Path(f"/proc/{pid}").exists()


def test_events_of_a_beacon_and_its_end(project):
    process = project.start("watch", "web*", "conf", "--every", "1h")
    waited(lambda: len(events(project)) >= 3)
    done = ended(process)
    found = events(project)
    assert {event.tag for event in found} == {"salt/beacon/web1/counts/x"}
    assert [event.data["n"] for event in found] == list(range(1, len(found) + 1))  # the state is kept between
    assert {event.data["id"] for event in found} == {"web1"}
    assert "web1  beacons: counts" in done.out and "web2" not in done.out
    assert SECRET not in done.out + done.err + json.dumps([event.data for event in found])
    [pid] = {event.data["pid"] for event in found}
    waited(lambda: not is_running(pid))


def test_a_kill_of_the_watch_ends_the_beacons(project):
    process = project.start("watch", "web1", "conf", "--every", "1h")
    waited(lambda: events(project))
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    pid = events(project)[0].data["pid"]
    waited(lambda: not is_running(pid))


def test_changed_pillar_starts_and_ends_beacons(project, tmp_path):
    watched = tmp_path / "watched"
    watched.mkdir()
    project.write("pillar/top.sls", "base:\n  web2: [files]\n")
    project.write("pillar/files.sls", "x: 1\n")
    process = project.start("watch", "web2", "conf", "--every", "1s")
    waited(lambda: len(events(project, "salt/job/")) >= 2)
    assert events(project) == []
    given = {"beacons": {"conf": [{"beacon_module": "inotify"}, {"files": {str(watched): {"mask": ["create"]}}}]}}
    project.write("pillar/files.sls", json.dumps(given))
    number = iter(range(1000))
    waited(lambda: (watched / str(next(number))).touch() or events(project))
    project.write("pillar/files.sls", "x: 1\n")
    ended(process)
    event = events(project)[0]
    assert event.tag == f"salt/beacon/web2/conf/{watched}"
    assert event.data["change"] == "IN_CREATE" and event.data["path"].startswith(str(watched))


def test_beacons_of_the_configuration_are_for_all_targets(project):
    project.write(
        "pushsalt.yaml",
        json.dumps({"file_roots": {"base": ["salt"]}, "beacons": {"memusage": [{"percent": 0}], "wrong": [{"x": 1}]}}),
    )
    process = project.start("watch", "web*", "conf", "--every", "1h")
    waited(
        lambda: {event.tag.split("/")[2] for event in events(project) if "memusage" in event.tag} == {"web1", "web2"}
    )
    done = ended(process)
    assert done.err.count("the beacon wrong is not used") == 2


def test_a_worker_that_dies_is_replaced(project):
    process = project.start("watch", "web1", "conf", "--every", "1s")
    waited(lambda: events(project))
    os.kill(events(project)[0].data["pid"], signal.SIGKILL)
    waited(lambda: len({event.data["pid"] for event in events(project)}) == 2)
    assert "web1  beacons: " in ended(process).out


def test_beacons_can_be_polled_without_a_watch(project):
    assert project.run("run", "web1", "beacons.list").out.count("counts") == 1
    found = project.run("run", "web1", "beacons.poll", "10", "--out", "json").data["web1"]
    assert found["beacons"] == ["counts"] and found["events"][0]["data"]["n"] == 1
    assert (
        "counts"
        in project.run("run", "web1", "beacons.list_available", "return_yaml=False", "--out", "json").data["web1"]
    )


def test_a_target_cannot_send_beacon_events_of_another(project):
    project.run("run", "web1", "event.send", "salt/beacon/web2/load/", "{id: web2}")
    assert events(project) == []


@pytest.mark.sshd
@pytest.mark.skipif(bool(sshd.missing()), reason=sshd.missing() or "-")
def test_over_ssh_a_lost_connection_is_made_again(tmp_path, tmp_path_factory):
    with sshd.sshd_bed(tmp_path_factory.mktemp("bed"), 1) as bed:
        hosts = {
            id: {**target.host(), "minion_opts": {"beacons": {"counts": []}}} for id, target in bed.targets.items()
        }
        made = Project(tmp_path, hosts, known_hosts_file=str(bed.known_hosts))
        made.files({"salt/conf.sls": "conf:\n  test.nop: []\n", "salt/_beacons/counts.py": COUNTS})
        process = made.start("watch", "*", "conf", "--every", "1h")
        waited(lambda: len(events(made)) >= 2)
        assert {event.tag for event in events(made)} == {"salt/beacon/t1/counts/x"}
        ended(process)
        pid = events(made)[0].data["pid"]
        waited(lambda: not is_running(pid))
