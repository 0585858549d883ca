"""Beacons of kept sessions are evaluated over the kept connections, and end with the session."""

from __future__ import annotations

import json
import os
import shutil
import signal
from pathlib import Path

import pytest

from pushsalt.cli.keptbeacons import lock
from pushsalt.journal.store import Journal
from tests.beds import sshd
from tests.beds.keeping import keeping
from tests.beds.processes import wait_until
from tests.beds.project import Project

pytestmark = [
    pytest.mark.slow,
    pytest.mark.sshd,
    pytest.mark.skipif(bool(sshd.missing()), reason=sshd.missing() or "-"),
]

SECRET = "s3cr3t-of-the-test"
#: Returns a counter of its module, its process, and the connection by which it was started.
COUNTS = """
import os
count = 0
def validate(config):
    return True, "valid"
def beacon(config):
    global count
    count += 1
    port = os.environ.get("SSH_CLIENT", "0 0").split()[1]
    return [{"n": count, "pid": os.getpid(), "port": port, "word": __pillar__.get("password"), "id": "other"}]
"""
BEACONS = {"beacons": {"counts": [{"interval": 1}]}}


@pytest.fixture
def session(bed, tmp_path):
    """The session of a project without beacons; it ends with the test."""
    project = Project(tmp_path, bed.inventory()["hosts"])
    shutil.copy(bed.known_hosts, project.home / ".ssh" / "known_hosts")
    project.files({"salt/conf.sls": "conf:\n  test.nop: []\n", "salt/_beacons/counts.py": COUNTS})
    with keeping(project) as session:
        yield session


def set_host(project, id, **settings):
    """Add settings to a host of the inventory."""
    inventory = json.loads((project.folder / "inventory.yaml").read_text())
    inventory["hosts"][id].update(settings)
    project.write("inventory.yaml", json.dumps(inventory))


def events(project, id=""):
    """The events of beacons in the journal whose target begins with ``id``."""
    return [event for event in Journal(project.cache).after(0, 100_000) if event.tag.startswith(f"salt/beacon/{id}")]


def wait_for_events(project, id, number=1):
    wait_until(lambda: len(events(project, f"{id}/")) >= number, 60)
    return events(project, f"{id}/")


def is_alive(pid):
    return Path(f"/proc/{pid}").exists()


def evaluates_beacons(session):
    """Whether the process that evaluates beacons runs."""
    for path in session.folder.glob("*.beacons"):
        descriptor = lock(str(path))
        if descriptor is None:
            return True
        os.close(descriptor)
    return False


def target_rows(session):
    """The targets of all brokers as ``session list`` describes them, by id."""
    return {row["id"]: row for broker in session.brokers for row in broker["targets"]}


def test_a_session_without_watch_evaluates_beacons_until_it_is_stopped(session):
    project = session.project
    set_host(project, "t1", minion_opts=BEACONS, pillar={"password": SECRET})
    assert project.run("session", "start", "t*").code == 0
    received = wait_for_events(project, "t1", 3)
    assert {event.tag for event in received} == {"salt/beacon/t1/counts/"}
    assert [event.data["n"] for event in received] == list(range(1, len(received) + 1))
    assert {event.data["id"] for event in received} == {"t1"}
    assert SECRET not in json.dumps([event.data for event in received])
    assert target_rows(session)["t1"]["beacons"] == ["counts"] and target_rows(session)["t2"]["beacons"] == []
    assert "beacons: counts" in project.run("session", "list").out
    [pid] = {event.data["pid"] for event in received}

    assert project.run("session", "stop").code == 0
    wait_until(lambda: not is_alive(pid))
    wait_until(lambda: not evaluates_beacons(session))
    assert {event.tag.split("/")[2] for event in events(project)} == {"t1"}


def test_commands_use_the_connection_at_the_same_time(session):
    """Commands and beacons use the same connection at the same time."""
    project = session.project
    set_host(project, "t1", minion_opts=BEACONS)
    arguments = ("--session", "5m", "run", "--out", "json", "t1", "cmd.run", "echo $SSH_CLIENT")
    ports = {project.run(*arguments).data["t1"].split()[1] for _ in range(2)}
    wait_for_events(project, "t1")
    ports |= {project.run(*arguments).data["t1"].split()[1] for _ in range(3)}
    number = len(events(project, "t1/"))
    received = wait_for_events(project, "t1", number + 2)
    assert ports == {event.data["port"] for event in received}
    assert len({event.data["pid"] for event in received}) == 1


def test_pillar_of_a_run_adds_and_removes_beacons(session):
    project = session.project
    project.write("pillar/top.sls", "base:\n  t1: [own]\n")
    project.write("pillar/own.sls", "x: 1\n")
    apply = ("--session", "5m", "apply", "t*", "conf")
    assert project.run(*apply).code == 0
    assert not evaluates_beacons(session) and events(project) == []
    project.write("pillar/own.sls", json.dumps(BEACONS))
    assert project.run(*apply).code == 0
    pid = wait_for_events(project, "t1")[0].data["pid"]
    project.write("pillar/own.sls", "x: 1\n")
    assert project.run(*apply).code == 0
    wait_until(lambda: not is_alive(pid), 60)
    assert target_rows(session)["t1"]["id"] == "t1"


def test_session_start_compiles_pillar_that_is_not_cached(session):
    project = session.project
    project.write("pillar/top.sls", "base:\n  t2: [own]\n")
    project.write("pillar/own.sls", json.dumps(BEACONS))
    assert project.run("session", "start", "t*").code == 0
    wait_for_events(project, "t2")
    assert {event.tag.split("/")[2] for event in events(project)} == {"t2"}


def test_beacons_of_one_target_end_with_its_connection(session):
    project = session.project
    project.write(
        "pushsalt.yaml", json.dumps({"file_roots": {"base": ["salt"]}, "session": "10m", "beacons": BEACONS["beacons"]})
    )
    assert project.run("run", "t*", "test.ping").code == 0
    pids = {id: wait_for_events(project, id)[0].data["pid"] for id in ("t1", "t2", "t3")}
    assert project.run("session", "stop", "t1").code == 0
    wait_until(lambda: not is_alive(pids["t1"]))
    number = len(events(project, "t2/"))
    wait_for_events(project, "t2", number + 2)
    assert is_alive(pids["t2"]) and is_alive(pids["t3"])


def test_a_connection_that_expires_ends_its_beacons(session):
    project = session.project
    set_host(project, "t1", minion_opts=BEACONS)
    assert project.run("--session", "20", "run", "t1", "test.ping").code == 0
    pid = wait_for_events(project, "t1")[0].data["pid"]
    wait_until(lambda: not is_alive(pid), 60)
    wait_until(lambda: not evaluates_beacons(session), 60)
    wait_until(lambda: not list(session.folder.glob("*.json")), 60)


@pytest.mark.parametrize("signal_number", [signal.SIGKILL, signal.SIGTERM])
def test_beacons_end_with_the_broker(session, signal_number):
    project = session.project
    set_host(project, "t1", minion_opts=BEACONS)
    assert project.run("session", "start", "t1").code == 0
    pid = wait_for_events(project, "t1")[0].data["pid"]
    os.kill(session.pid, signal_number)
    wait_until(lambda: not is_alive(pid))
    wait_until(lambda: not evaluates_beacons(session))


def test_a_watch_and_a_session_do_not_evaluate_the_same_beacons_twice(session):
    project = session.project
    set_host(project, "t1", minion_opts=BEACONS)
    assert project.run("session", "start", "t1").code == 0
    pid = wait_for_events(project, "t1")[0].data["pid"]
    process = project.start("--session", "0", "watch", "t1", "conf", "--every", "1h")
    number = len(events(project, "t1/"))
    assert {event.data["pid"] for event in wait_for_events(project, "t1", number + 4)} == {pid}
    assert project.run("session", "stop").code == 0
    wait_until(lambda: {event.data["pid"] for event in events(project, "t1/")} != {pid}, 60)
    process.send_signal(signal.SIGTERM)
    assert project.finish(process).code == 0


def test_no_process_runs_without_beacons(session):
    project = session.project
    assert project.run("session", "start", "t*").code == 0
    assert project.run("apply", "t*", "conf").code == 0
    assert not list(session.folder.glob("*.beacons"))


def test_a_server_that_allows_one_session_per_connection_serves_commands(tmp_path):
    """The beacons cannot be evaluated, which `session list` shows; commands work."""
    with sshd.SshdBed(tmp_path / "bed") as bed:
        bed.add("t1", ["MaxSessions 1"])
        bed.wait()
        project = Project(tmp_path, bed.inventory()["hosts"])
        shutil.copy(bed.known_hosts, project.home / ".ssh" / "known_hosts")
        project.write("salt/_beacons/counts.py", COUNTS)
        with keeping(project) as session:
            set_host(project, "t1", minion_opts=BEACONS)
            for _ in range(3):
                assert project.run("--session", "5m", "run", "t1", "test.ping", "--out", "json").data == {"t1": True}
            wait_until(lambda: target_rows(session)["t1"]["beacon_error"], 60)
            assert "the server opens no session" in target_rows(session)["t1"]["beacon_error"]
            assert "beacons failed: the server opens no session" in project.run("session", "list").out
            assert project.run("run", "t1", "cmd.run", "echo x", "--out", "json").data == {"t1": "x"}
