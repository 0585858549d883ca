"""The recorded data of a job besides its returns, which commands are jobs, and where their JID appears."""

import hashlib
import json

import pytest

from pushsalt.api import Client, Settings
from pushsalt.jobs.prune import Bounds
from pushsalt.run.jobrecord import bounds_of
from tests.beds.processes import wait_until
from tests.beds.project import Project

pytestmark = pytest.mark.slow

HOSTS = {"here": {"transport": "local"}, "there": {"transport": "local"}, "paper": {"transport": "offline"}}
STATES = """
my/tag:
  event.send:
    - data: {word: hello}
waits:
  cmd.run:
    - name: touch FOLDER/begun; while test ! -e FOLDER/go; do sleep 0.05; done
"""


@pytest.fixture
def project(tmp_path):
    project = Project(tmp_path, HOSTS)
    project.write("salt/site.sls", STATES.replace("FOLDER", str(tmp_path)))
    return project


def jobs_of(project):
    inventory, config = project.folder / "inventory.yaml", project.folder / "pushsalt.yaml"
    return Client(Settings([inventory], config, cache_dir=project.cache)).jobs


def test_a_job_records_its_command_options_and_origin(project):
    project.variables["SSH_CONNECTION"] = "192.0.2.7 50000 192.0.2.1 22"
    lock = project.write("pushsalt.lock", "version: 1\nremotes: {}\n")
    arguments = ["run", "here,paper", "-L", "cmd.run", "pwd", "cwd=/", "--timeout", "50"]
    assert project.run(*arguments).code == 3
    jobs = jobs_of(project)
    job = jobs.get("last")
    assert (job.fun, job.arg, job.kwarg) == ("cmd.run", ["pwd"], {"cwd": "/"})
    assert (job.tgt, job.tgt_type) == ("here,paper", "list")
    assert (job.ids, job.exit_code, job.state) == (["here", "paper"], 3, "done")
    assert job.user and job.start < job.end
    detail = job.detail
    assert detail["words"] == arguments
    assert detail["origin"]["folder"] == str(project.folder) and detail["origin"]["from"] == "192.0.2.7"
    assert detail["options"] == {"timeout": 50.0}
    assert detail["lock"] == hashlib.sha256(lock.read_bytes()).hexdigest()
    assert len(detail["runtime"]) == 64
    returns = jobs.returns(job)
    assert {"connect", "bootstrap", "run"} <= set(returns["here"].phases)
    assert (returns["here"].exit_code, returns["paper"].error_kind) == (0, "offline")
    shown = project.run("jobs", "show", "last").out
    assert f"in {project.folder}, from 192.0.2.7" in shown and f"pushsalt {' '.join(arguments)}" in shown


def test_the_jid_is_the_same_in_lock_log_events_and_record(project, tmp_path):
    jid_file = project.folder / "jid"
    first = project.start("apply", "here", "site", "--out", "json", "--jid-file", str(jid_file), "-l", "debug")
    wait_until((tmp_path / "begun").exists, 60)
    jid = jid_file.read_text().strip()
    second = project.json("apply", "here", "site")
    assert second.error("here")["kind"] == "locked" and f"job {jid}" in second.error("here")["message"]
    (tmp_path / "go").touch()
    done = Project.finish(first)
    assert done.code == 0 and f"job {jid}" in done.err, "the log"
    job = jobs_of(project).get(jid)
    assert jobs_of(project).document(jid)["Result"]["here"]["jid"] == jid
    assert [event["tag"] for event in jobs_of(project).returns(job)["here"].events] == ["my/tag"]
    events = [
        json.loads(line) for line in project.run("events", f"salt/job/{jid}/*", "--out", "ndjson").out.splitlines()
    ]
    assert events and {event["data"]["jid"] for event in events} == {jid}
    assert project.json("run", "here", "test.kwarg", "--jid-file", str(jid_file)).data["here"]["__pub_jid"] == (
        jid_file.read_text().strip()
    )


def test_each_command_that_uses_targets_is_a_job(project, tmp_path):
    project.write("file", "x")
    for arguments in (
        ("grains", "here"),
        ("run", "here", "test.ping"),
        ("run", "here", "--raw", "true"),
        ("cp", "file", f"here:{tmp_path}/copied"),
        ("clean", "here"),
    ):
        done = project.run(*arguments)
        assert done.code == 0, done.err
    assert project.run("target", "*").code == 0
    kinds = [jobs_of(project).get(job.jid).detail["kind"] for job in jobs_of(project).list()]
    assert kinds == ["clean", "copy", "raw", "call", "grains"], "the newest first"


def test_jobs_are_listed_and_compared_in_python(project):
    for arg in ("1", "2"):
        assert project.run("run", "here", "test.arg", arg).code == 0
    jobs = jobs_of(project)
    newer, older = (job.jid for job in jobs.list())
    assert [job.jid for job in jobs.list(limit=1)] == [newer] == [jobs.find("last")]
    assert jobs.document(older)["Result"]["here"]["return"]["args"] == [1]
    assert list(jobs.diff(older, newer)) == ["here"]
    assert jobs.prune_beyond(number=1) == [older]


@pytest.mark.parametrize(
    "options, bounds",
    [
        ({}, Bounds(86400, 1000)),
        ({"keep_jobs_seconds": 60}, Bounds(60, 1000)),
        ({"keep_jobs_seconds": 0, "keep_jobs_size": 0}, Bounds()),
        ({"keep_jobs": 2}, Bounds(7200, 1000)),
        ({"keep_jobs": 2, "keep_jobs_seconds": 60}, Bounds(60, 1000)),
    ],
)
def test_bounds_of_the_record_come_from_the_configuration(options, bounds):
    assert bounds_of({"keep_jobs_seconds": 86400, "keep_jobs_size": 1000, **options}) == bounds
