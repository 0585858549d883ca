"""Jobs by whole commands: recorded, listed, shown, compared, exported, removed, run again; bad input and faults."""

import json
import os
import shlex
import shutil
import signal
import sqlite3
import subprocess
import time

import pytest

from pushsalt.redact import MASK
from tests.beds.gitserver import Repo, git
from tests.beds.project import Project

pytestmark = pytest.mark.slow

HOSTS = {
    "here": {"transport": "local"},
    "there": {"transport": "local"},
    "paper": {"transport": "offline"},
}
STATES = {
    "salt/fine.sls": "fine:\n  test.succeed_with_changes: []\nsame:\n  test.succeed_without_changes: []\n",
    "salt/mark.sls": "/nowhere/{{ grains.id }}:\n  test.nop: []\n",
}


@pytest.fixture
def project(tmp_path):
    project = Project(tmp_path, HOSTS)
    project.files(STATES)
    return project


def jobs(project, *arguments):
    done = project.run("jobs", *arguments, "--out", "json")
    assert done.code == 0, done.err
    return json.loads(done.out)


def test_a_job_is_recorded_listed_and_shown(project):
    jid_file = project.folder / "jid"
    first = project.json("apply", "*", "fine", "--jid-file", str(jid_file), "--wait-lock", "60")
    assert first.code == 3
    second = project.json("-v", "run", "here", "test.arg", "1", "a=b")
    [newer, older] = jobs(project, "list")
    jid = jid_file.read_text().strip()
    assert older["jid"] == jid and len(jid) == 20
    assert f"job {newer['jid']}" in second.err
    assert (older["fun"], older["arg"], older["tgt"], older["tgt_type"]) == ("state.apply", ["fine"], "*", "glob")
    assert (older["state"], older["exit_code"], older["targets"], older["failed"], older["unanswered"]) == (
        "done",
        3,
        3,
        0,
        1,
    )
    assert (newer["arg"], newer["kwarg"], newer["exit_code"]) == ([1], {"a": "b"}, 0)
    assert set(older) == {
        *("jid", "fun", "arg", "kwarg", "tgt", "tgt_type", "user", "start", "end", "state", "exit_code"),
        *("targets", "failed", "unanswered"),
    }
    assert older["start"].endswith("Z") and older["start"] < older["end"]
    document = jobs(project, "show", jid)
    assert set(document) == {*older, "Minions", "Result"}
    assert sorted(document["Minions"]) == ["here", "paper", "there"]
    assert {id: result["return"] for id, result in document["Result"].items()} == first.data
    result = document["Result"]["here"]
    assert set(result) == {"return", "retcode", "success", "jid", "fun", "id", "phases"}
    assert (result["retcode"], result["success"], result["jid"], result["id"]) == (0, True, jid, "here")
    assert document["Result"]["paper"]["success"] is False
    assert jobs(project, "show", "last")["jid"] == newer["jid"]
    assert project.run("jobs", "export", jid, "last").out.count("\n") == 2
    assert json.loads(project.run("jobs", "export", jid).out) == document


def test_show_prints_the_output_of_the_command_and_filters_returns(project):
    applied = project.run("apply", "here,there", "fine", "-L", "--wait-lock", "60")
    shown = project.run("jobs", "show", "last")
    assert "by " in shown.out and "exit code 0" in shown.out
    assert next(line for line in applied.out.splitlines() if "fine" in line) in shown.out
    assert shown.out.endswith(project.run("jobs", "wait", "last").out), "with the time that the job took"
    project.json("apply", "*", "fine", "--wait-lock", "60")
    assert set(jobs(project, "show", "last", "--failed")["Result"]) == {"paper"}
    assert set(jobs(project, "show", "last", "--changed")["Result"]) == {"here", "there"}
    assert set(jobs(project, "show", "last", "--target", "h*")["Result"]) == {"here"}
    assert set(jobs(project, "show", "last", "--target", "not paper and not here")["Result"]) == {"there"}


def test_show_uses_the_outputters_of_the_command(project):
    applied = project.run("apply", "here,there", "fine", "-L", "--wait-lock", "60", "--out", "highstate")
    shown = project.run("jobs", "show", "last", "--out", "highstate")
    assert "Function: test.succeed_with_changes" in shown.out and shown.out.count("Summary for ") == 2
    assert shown.out.splitlines()[:4] == applied.out.splitlines()[:4]
    assert project.run("jobs", "show", "last", "--out", "ndjson").out.count("\n") == 1
    project.write("module/_output/mine.py", "def output(data, **kw):\n    return f'{sorted(data)}\\n'\n")
    project.write("pushsalt.yaml", '{"file_roots": {"base": ["salt"]}, "module_dirs": ["module"]}')
    assert project.run("jobs", "show", "last", "--out", "mine").out == "['here', 'there']\n"
    none_failed = project.run("jobs", "show", "last", "--failed")
    assert none_failed.code == 0 and "no return of" not in none_failed.out, "those that are not shown have one"


def test_list_filters_jobs(project):
    project.run("run", "here", "test.ping")
    project.run("run", "paper", "cmd.run", "true")
    project.run("grains", "here")
    assert [job["fun"] for job in jobs(project, "list")] == ["grains.items", "cmd.run", "test.ping"]
    assert [job["fun"] for job in jobs(project, "list", "--limit", "1")] == ["grains.items"]
    assert [job["fun"] for job in jobs(project, "list", "--failed")] == ["cmd.run"]
    assert [job["fun"] for job in jobs(project, "list", "--fun", "test.*")] == ["test.ping"]
    assert [job["fun"] for job in jobs(project, "list", "--target", "paper")] == ["cmd.run"]
    assert jobs(project, "list", "--since", "1h") == jobs(project, "list")
    assert jobs(project, "list", "--since", "2100-01-01") == []
    assert len(project.run("jobs", "list").out.splitlines()) == 3


def test_diff_lists_differences_per_state(project):
    project.run("apply", "here", "fine")
    project.write(
        "salt/fine.sls", "fine:\n  test.fail_without_changes: []\nsame:\n  test.succeed_without_changes: []\n"
    )
    project.run("apply", "here", "fine")
    newer, older = jobs(project, "list")
    differences = jobs(project, "diff", older["jid"], newer["jid"])
    changed = differences["here"]["states"]
    assert {tag.split("_|-")[1]: set(change) >= {"result"} for tag, change in changed.items()} == {"fine": True}
    assert "result true -> false" in project.run("jobs", "diff", older["jid"], "last").out or len(changed) == 2
    assert project.run("jobs", "diff", "last", "last").out == "no difference\n"


def test_prune_removes_jobs_beyond_the_limits(project):
    for _ in range(3):
        project.run("run", "paper", "grains.items")
    newest = jobs(project, "list")[0]["jid"]
    assert len(jobs(project, "prune", "--keep", "1")) == 2
    assert [job["jid"] for job in jobs(project, "list")] == [newest]
    assert jobs(project, "prune", "--older", "1h") == []
    assert jobs(project, "prune", "--older", "0s") == [newest]
    assert jobs(project, "list") == []


def test_no_secret_reaches_the_record(project):
    project.write("pillar/top.sls", "base:\n  '*': [db]\n")
    project.write("pillar/db.sls", "db_password: pillar-s3cret-1\n")
    project.run("run", "here", "pillar.items")  # from here on the secrets are registered
    project.run("run", "here", "cmd.run", "echo pillar-s3cret-1")
    project.run("apply", "here", "fine", "--pillar", '{"api_token": "overr1de-s3cret"}')
    project.run("run", "here", "test.kwarg", "password=argument-s3cret")
    project.run("run", "here", "pillar.items", "unmask=True")
    folder = project.cache / "jobs"
    assert (folder.stat().st_mode & 0o777, (folder / "jobs.sqlite3").stat().st_mode & 0o777) == (0o700, 0o600)
    for jid in [job["jid"] for job in jobs(project, "list")]:
        text = project.run("jobs", "show", jid, "--out", "json").out + project.run("jobs", "show", jid).out
        assert "s3cret" not in text


def test_a_secret_that_an_earlier_command_was_given_is_hidden(project):
    options = ("--pillar", '{"api_token": "overr1de-s3cret", "plain": "open-value"}')
    assert project.run("apply", "here", "fine", *options).code == 0
    shown = project.json("run", "here,there", "-L", "cmd.run", "printf overr1de-; echo s3cret open-value")
    assert set(shown.data.values()) == {f"{MASK} open-value"}, "another target, too"
    echoed = project.run("run", "here", "test.echo", "overr1de-s3cret")
    recorded = project.run("jobs", "show", "last", "--out", "json").out
    assert "s3cret" not in echoed.out + recorded
    assert not [path for path in project.cache.rglob("*") if path.is_file() and b"overr1de-s3cret" in path.read_bytes()]


def test_the_command_line_is_shown_as_a_shell_reads_it(project):
    assert project.run("run", "h?re", "cmd.run", "echo a b").code == 0
    assert "run 'h?re' cmd.run 'echo a b'" in project.run("jobs", "show", "last").out


def test_job_cache_false_records_no_job(tmp_path):
    project = Project(tmp_path, HOSTS, job_cache=False)
    assert project.run("run", "here", "test.ping").code == 0
    assert jobs(project, "list") == []
    assert not (project.cache / "jobs").exists()


def test_the_job_of_a_killed_command_is_lost_and_keeps_its_returns(project):
    process = project.start("run", "paper,here", "-L", "cmd.run", "sleep 30", "--out", "ndjson")
    line = process.stdout.readline()
    assert json.loads(line)
    process.send_signal(signal.SIGKILL)
    process.wait()
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            stream.close()
    [job] = jobs(project, "list")
    assert (job["state"], job["exit_code"], job["end"], job["targets"]) == ("lost", None, None, 2)
    document = jobs(project, "show", "last")
    assert {id: result["return"] for id, result in document["Result"].items()} == json.loads(line)


def test_rerun_failed_repeats_a_job_on_failed_targets(project):
    marker = project.folder / "marker"
    command = f"echo $((1+1)) >> {project.folder}/count; test -e {marker}"
    assert project.json("run", "here,paper", "-L", "cmd.run", command).code == 3
    marker.write_text("")
    [failed] = jobs(project, "list")
    again = project.json("run", "--rerun-failed")
    assert sorted(again.data) == ["here", "paper"]
    [newest, *_] = jobs(project, "list")
    assert newest["jid"] != failed["jid"]
    assert (newest["fun"], newest["arg"], newest["targets"]) == ("cmd.run", [command], 2)
    third = project.json("run", "--rerun-failed", newest["jid"][:18])
    assert sorted(third.data) == ["paper"], "here succeeded the second time"


def test_rerun_failed_writes_reports_and_has_detailed_exit_codes(project):
    marker = project.folder / "marker"
    project.write("salt/due.sls", f"fails:\n  cmd.run:\n    - name: test -e {marker}\n")
    assert project.json("apply", "here", "due").code == 2
    marker.write_text("")
    paths = {name: project.folder / name for name in ("junit", "summary", "report")}
    options = [argument for name, path in paths.items() for argument in (f"--{name}", str(path))]
    assert project.json("apply", "--rerun-failed", "--detailed-exitcode", *options).code == 4
    assert '<testsuite name="here"' in paths["junit"].read_text()
    assert "here" in paths["summary"].read_text() and "<html" in paths["report"].read_text()


def test_resume_continues_the_same_job(project):
    project.write("salt/due.sls", f"{project.folder}/go:\n  file.exists: []\n")
    assert project.json("apply", "here,there", "-L", "due", "--wait-lock", "60").code == 2
    [before] = jobs(project, "list")
    project.write("go", "")
    done = project.json("jobs", "resume", "last")
    assert done.code == 0, done.err
    assert sorted(done.data) == ["here", "there"]
    [after] = jobs(project, "list")
    assert (after["jid"], after["state"], after["exit_code"], after["failed"]) == (before["jid"], "done", 0, 0)
    again = project.json("jobs", "resume", "last")
    assert (again.code, sorted(again.data)) == (0, ["here", "there"])
    assert "nothing to repeat" in project.run("apply", "--rerun-failed").err


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_a_rerun_reports_changes_of_the_project_since_the_job(project):
    folder = ("-C", str(project.folder))
    git(*folder, "init", "--quiet")
    commit = ("-c", "user.name=me", "-c", "user.email=me@example.org", "commit", "--quiet", "-m", "change")
    git(*folder, "add", ".")
    git(*folder, *commit)
    old = git(*folder, "rev-parse", "HEAD")
    for _ in range(5):  # repeated, since a job waits for git for a limited time only
        assert project.json("run", "paper", "cmd.run", "true").code == 3
        if f"project at {old}" in project.run("jobs", "show", "last").out:
            break
    jid = jobs(project, "list")[0]["jid"]
    assert "since the job" not in project.run("run", "--rerun-failed", jid).err
    project.write("salt/fine.sls", "other:\n  test.nop: []\n")
    assert "has changes that are not committed" in project.run("run", "--rerun-failed", jid).err
    git(*folder, "add", ".")
    git(*folder, *commit)
    new = git(*folder, "rev-parse", "HEAD")
    stderr = project.run("run", "--rerun-failed", jid).err
    assert f"since the job {jid}: the project was at {old[:12]}, and is at {new[:12]}" in stderr


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_a_rerun_uses_the_git_revisions_of_the_job(tmp_path):
    states = Repo(tmp_path / "states.git", {"word.sls": "first:\n  test.fail_without_changes: []\n"})
    config = {"fileserver_backend": ["git"], "gitfs_remotes": [states.url], "gitfs_update_interval": 0}
    project = Project(tmp_path, HOSTS, **config)
    assert "first" in str(project.json("apply", "here", "word").data)
    states.commit({"word.sls": "second:\n  test.fail_without_changes: []\n"})
    [job] = jobs(project, "list")
    again = project.json("apply", "--rerun-failed", job["jid"])
    assert "first" in str(again.data) and "second" not in str(again.data), "the revision of the job"
    assert "second" in str(project.json("apply", "here", "word").data), "a new job has the newest one"
    assert not list((project.cache / "jobs").glob("pins-*"))


def test_a_rerun_needs_secret_pillar_again(project):
    project.write("salt/pill.sls", "{{ pillar['api_token'] }}:\n  test.fail_without_changes: []\n")
    arguments = ("apply", "here", "pill", "--pillar", '{"api_token": "overr1de-s3cret", "plain": 1}')
    assert project.json(*arguments).code == 2
    rerun = project.run("apply", "--rerun-failed")
    assert rerun.code == 1
    assert "api_token" in rerun.err and "--pillar" in rerun.err
    assert project.json("apply", "--rerun-failed", "--pillar", '{"api_token": "overr1de-s3cret"}').code == 2


@pytest.mark.parametrize(
    "arguments, message",
    [
        (("show", "20991231235959000000"), "no kept job has the JID 20991231235959000000"),
        (("show", "2099"), "no kept job has a JID that begins with 2099"),
        (("show", "209"), "too short"),
        (("show", "web1"), "is no JID"),
        (("show", "2" * 21), "is no JID"),
        (("resume", "20991231235959000000"), "no kept job"),
        (("diff", "last", "1999"), "no kept job"),
        (("list", "--since", "soon"), "--since"),
        (("list", "--limit", "0"), "--limit"),
        (("prune", "--older", "-1"), "--older"),
        (("prune", "--keep", "x"), "--keep"),
    ],
)
def test_invalid_job_arguments_are_errors(project, arguments, message):
    project.run("run", "paper", "grains.items")
    done = project.run("jobs", *arguments)
    assert (done.code, "Traceback" in done.err) == (1, False)
    assert message in done.err


def test_an_ambiguous_prefix_lists_the_jobs(project):
    for _ in range(2):
        project.run("run", "paper", "grains.items")
    done = project.run("jobs", "show", "20")
    assert done.code == 1
    jids = [job["jid"] for job in jobs(project, "list")]
    done = project.run("jobs", "show", jids[0][:4])
    assert done.code == 1
    assert all(jid in done.err for jid in jids)


def test_an_empty_cache_has_no_jobs(project):
    assert jobs(project, "list") == []
    done = project.run("jobs", "show", "last")
    assert done.code == 1
    assert "no job is kept" in done.err


def test_a_newer_database_is_not_changed(project):
    project.run("run", "paper", "grains.items")
    path = project.cache / "jobs" / "jobs.sqlite3"
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    done = project.run("run", "paper", "grains.items")
    assert done.code == 0
    assert "not kept" in done.err and "newer pushsalt" in done.err
    listed = project.run("jobs", "list")
    assert listed.code == 1
    assert "newer pushsalt" in listed.err


@pytest.mark.parametrize("damage", [b"no data base at all" * 1000, None])
def test_a_damaged_database_is_renamed_and_replaced(project, damage):
    project.run("run", "paper", "grains.items")
    path = project.cache / "jobs" / "jobs.sqlite3"
    if damage is None:
        data = bytearray(path.read_bytes())
        data[4096:] = os.urandom(len(data) - 4096)
        damage = bytes(data)
    for end in ("-wal", "-shm"):
        path.with_name(path.name + end).unlink(missing_ok=True)
    path.write_bytes(damage)
    done = project.run("run", "paper", "grains.items")
    assert done.code == 0
    assert "a new record of jobs was started" in done.err and "damaged" in done.err
    assert [file for file in path.parent.iterdir() if ".damaged-" in file.name]
    assert len(jobs(project, "list")) == 1


def test_a_cache_that_cannot_be_created_is_reported_and_the_run_continues(project):
    """Root may write anywhere, so a file takes the place of the folder."""
    project.cache.mkdir(exist_ok=True)
    (project.cache / "jobs").write_text("in the way")
    done = project.json("run", "paper", "grains.items")
    assert (done.code, "paper" in done.data) == (0, True)
    assert done.err.count("the job is not kept") == 1


def run_with_mounts(project, script, *arguments):
    """Run the command by this script in a separate mount namespace; ``$C`` is the cache folder."""
    project.cache.mkdir(exist_ok=True)
    unshare = ["unshare", "--mount", "--propagation", "private", "sh", "-ec"]
    process = subprocess.Popen(
        [*unshare, script, "sh", *project.argv(*arguments)],
        env={**project.environment, "C": str(project.cache)},
        cwd=project.folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    return Project.finish(process)


def _cannot_mount():
    tools = [tool for tool in ("unshare", "mount") if not shutil.which(tool)]
    if tools:
        return f"{tools[0]} is not installed"
    probe = ["unshare", "--mount", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]
    return "" if not subprocess.run(probe, capture_output=True).returncode else "file systems cannot be mounted here"


can_mount = pytest.mark.skipif(bool(_cannot_mount()), reason=_cannot_mount() or "-")
READ_ONLY = 'mount --bind "$C" "$C" && mount -o remount,bind,ro "$C" && exec "$@"'
#: Fills the disk, and frees space again.
FULL = """
mount -t tmpfs -o size=1m tmpfs "$C"
head -c {rest} /dev/zero > "$C/rest" || true
"$@"
rm "$C/rest"
{command} run here test.ping --out ndjson
{command} jobs list --out ndjson
"""


@can_mount
@pytest.mark.parametrize("is_new", [True, False], ids=["empty", "with-jobs"])
def test_a_read_only_cache_is_reported_and_the_run_continues(project, is_new):
    if not is_new:
        project.run("run", "paper", "grains.items")
    done = run_with_mounts(project, READ_ONLY, "run", "here,there", "-L", "test.ping", "--out", "json")
    assert (done.code, done.data) == (0, {"here": True, "there": True})
    assert done.err.count("the job is not kept") == 1 and "ead-only" in done.err
    listed = run_with_mounts(project, READ_ONLY, "jobs", "list", "--out", "json")
    assert (listed.code, len(json.loads(listed.out))) == (0, 0 if is_new else 1), listed.err
    pruned = run_with_mounts(project, READ_ONLY, "jobs", "prune", "--keep", "0")
    assert pruned.code == 1 and "ead-only" in pruned.err


@can_mount
@pytest.mark.parametrize("rest", ["2m", "800k"], ids=["at first", "in mid-run"])
def test_a_full_disk_is_reported_and_the_run_continues(project, rest):
    """The next job is recorded when there is space again."""
    script = FULL.format(rest=rest, command=shlex.join(project.argv()))
    large = "head -c 300000 /dev/urandom | base64"
    done = run_with_mounts(project, script, "run", "here,there", "-L", "cmd.run", large, "--out", "ndjson")
    assert done.code == 0, done.err
    first, second, ping, listed, *_ = map(json.loads, done.out.splitlines())
    assert all(len(text) > 400_000 for text in {**first, **second}.values()) and len({**first, **second}) == 2
    assert done.err.count("the job is not kept") == 1, done.err
    assert ping == {"here": True}
    assert (listed["fun"], listed["state"]) == ("test.ping", "done")


def test_a_second_resume_at_the_same_time_is_refused(project):
    assert project.json("run", "here", "cmd.run", "sleep 5; exit 3").code == 2
    first = project.start("jobs", "resume", "last", "--out", "json")
    deadline = time.monotonic() + 30
    while jobs(project, "list")[0]["state"] != "running" and time.monotonic() < deadline:
        time.sleep(0.05)
    second = project.run("jobs", "resume", "last")
    assert second.code == 1
    assert "still running, in process" in second.err
    assert project.finish(first).code == 2
    [job] = jobs(project, "list")
    assert (job["state"], job["exit_code"]) == ("done", 2)
