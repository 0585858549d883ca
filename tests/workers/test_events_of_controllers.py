"""Commands of two controllers with ``event_journal`` in JetStream: `events`, `react`, the events of jobs."""

from __future__ import annotations

import json

import pytest

from tests.beds.project import Project

pytestmark = pytest.mark.slow


@pytest.fixture
def project(server, tmp_path):
    """Events at the server; jobs are run by the controllers themselves."""
    hosts = {"l1": {"transport": "local"}}
    made = Project(tmp_path, hosts, event_journal=server.url, reactor=[{"app/*": ["salt://reacts.sls"]}])
    made.write("salt/reacts.sls", "note:\n  runner.event.send:\n    - args:\n      - tag: noted/{{ data['n'] }}\n")
    return made


def run(project: Project, cache: str, *arguments: str) -> list[dict[str, object]]:
    """Run a command as the controller with this cache folder; returns its lines of JSON."""
    project.variables["PUSHSALT_CACHE"] = str(project.folder.parent / cache)
    done = project.run(*arguments, timeout=180)
    assert done.code == 0, done.err
    return [json.loads(line) for line in done.out.splitlines() if line.startswith("{")]


def tags(events: list[dict[str, object]]) -> list[object]:
    return [each["tag"] for each in events]


def test_each_event_is_read_and_reacted_to_once_by_all_controllers_together(project, tmp_path):
    run(project, "one", "runner", "event.send", "app/up", "{n: 1}")
    read = run(project, "two", "events", "app/*", "--cursor", "shipper", "--out", "ndjson")
    assert tags(read) == ["app/up"] and read[0]["data"]["n"] == 1
    assert run(project, "one", "events", "app/*", "--cursor", "shipper", "--out", "ndjson") == []
    assert tags(run(project, "two", "react", "--once", "--out", "ndjson")) == ["app/up"]
    assert run(project, "one", "react", "--once", "--out", "ndjson") == []
    seen = tags(run(project, "one", "events", "--out", "ndjson"))
    assert seen.count("noted/1") == 1
    assert not list(tmp_path.rglob("journal.sqlite3"))


def test_jobs_write_their_events_there(project):
    run(project, "one", "run", "l1", "test.ping", "--out", "ndjson")
    found = tags(run(project, "two", "events", "salt/job/*", "--since", "1h"))
    assert [str(tag).split("/")[3] for tag in found] == ["new", "ret"]


def test_without_the_server_a_job_goes_on_with_a_warning(project, server):
    server.kill()
    project.variables["PUSHSALT_CACHE"] = str(project.folder.parent / "one")
    done = project.json("run", "l1", "test.ping", timeout=180)
    assert (done.code, done.data) == (0, {"l1": True})
    assert "events are not kept" in done.err and "the NATS server at" in done.err
    shown = project.run("events", timeout=180)
    assert shown.code == 1 and "cannot be used" in shown.err


def test_jetstream_needs_a_server(tmp_path):
    project = Project(tmp_path, {"l1": {"transport": "local"}}, event_journal="jetstream")
    done = project.run("events")
    assert done.code == 1 and "there is no NATS server" in done.err and "workers: URL" in done.err
    project = Project(tmp_path, {"l1": {"transport": "local"}}, event_journal="postgres")
    assert "true, false, jetstream, or the URL of a NATS server" in project.run("events").err
