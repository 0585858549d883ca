"""The record: written as it happens, read back as it was; full disks, other writers, damage, old and new tables."""

import asyncio
import multiprocessing
import os
import resource
import sqlite3
import time
from dataclasses import replace

import pytest

from pushsalt.jobs import database, encoding, record
from pushsalt.jobs.alive import is_gone, mark_of
from pushsalt.jobs.database import path_of
from pushsalt.jobs.difference import difference, lines
from pushsalt.jobs.jid import new_jid
from pushsalt.jobs.jobs import JobError, Jobs
from pushsalt.jobs.model import JobEnd, JobStart
from pushsalt.jobs.prune import Bounds, prune_when_due
from pushsalt.jobs.record import JobRecord
from pushsalt.jobs.times import seconds, since
from pushsalt.model import Explained, TargetReturn


def start(ids=("a", "b"), **kwargs):
    return JobStart(new_jid(), "test.ping", ids=ids, start=time.time(), user="me", **kwargs)


def record_job(folder, job, *returns, end=None, bounds=None):
    """Record a job with these returns; returns the warnings."""
    said = []
    recorder = JobRecord(path_of(folder), said.append, bounds or Bounds())

    async def work():
        recorder.job_begins(job)
        await recorder.committed()
        for each in returns:
            recorder.target_returned(each)
        await recorder.committed()
        if end is not None:
            recorder.job_ends(end)
            await recorder.committed()

    asyncio.run(work())
    return said


def ended(code=0):
    return JobEnd(code, "done", time.time())


def test_a_job_is_read_as_it_was_written(tmp_path):
    value = {
        "text": "\ud800 é",
        "bytes": b"a\xff",
        "number": 2**70,
        "none": None,
        "nan": float("inf"),
        1: {"x": {3, 1}},
    }
    errors = [Explained("short", "long, with a place"), Explained("other", "other")]
    job = start(arg=["x", 1], kwarg={"k": [True]}, options={"timeout": 5.0}, words=["run"], origin={"host": "h"})
    first = TargetReturn("b", value, phases={"run": 0.5}, warnings=["w"], events=[{"tag": "t", "data": {}}], retcode=0)
    assert record_job(tmp_path, job, first, TargetReturn("a", errors, "errors", 2), end=ended(2)) == []
    jobs = Jobs(tmp_path)
    kept = jobs.get(job.jid)
    assert (kept.arg, kept.kwarg, kept.ids, kept.state, kept.exit_code) == (
        ["x", 1],
        {"k": [True]},
        ["a", "b"],
        "done",
        2,
    )
    assert (kept.failed, kept.unanswered, kept.detail["options"]) == (1, 0, {"timeout": 5.0})
    found = jobs.returns(kept)
    assert list(found) == ["a", "b"], "in the order of the job"
    assert found["b"].ret == {**{str(key): item for key, item in value.items()}, "bytes": "a\ufffd", "1": {"x": [1, 3]}}
    assert (found["b"].phases, found["b"].warnings, found["b"].events) == (first.phases, first.warnings, first.events)
    assert [text.explanation for text in found["a"].ret] == ["long, with a place", "other"]


def test_any_value_can_be_stored():
    deep = []
    for _ in range(100_000):
        deep = [deep]
    for value in (deep, {(1, 2): b"x", b"k": object}, {1.5: {None: set()}}):
        encoding.unpack(encoding.pack(value))


def test_the_job_of_an_ended_process_is_lost(tmp_path):
    job = start()
    record_job(tmp_path, job, TargetReturn("a", True))
    jobs = Jobs(tmp_path)
    assert jobs.get(job.jid).state == "running"
    child = os.fork()
    if not child:
        os._exit(0)
    mark = mark_of(child)
    os.waitpid(child, 0)
    assert is_gone(mark) and not is_gone(mark_of(os.getpid()))
    with database.open_database(jobs.path) as connection:
        connection.execute("UPDATE jobs SET mark = ?", (mark,))
    connection.close()
    kept = jobs.get(job.jid)
    assert (kept.state, kept.end, kept.exit_code, kept.unanswered) == ("lost", None, None, 1)
    jobs.claim(kept)
    with pytest.raises(JobError, match="still running, in process"):
        jobs.claim(kept)
    jobs.release(kept)
    assert jobs.get(job.jid).state == "lost"


def test_a_resumed_job_is_judged_as_a_whole(tmp_path):
    job = start()
    record_job(tmp_path, job, TargetReturn("a", 1, exit_code=2), end=JobEnd(130, "interrupted", time.time()))
    jobs = Jobs(tmp_path)
    assert (jobs.get(job.jid).failed, jobs.get(job.jid).unanswered) == (1, 1)

    async def resumed(*returns):
        recorder = JobRecord(jobs.path, print, Bounds(), resumes=True)
        recorder.job_begins(replace(job, ids=[each.id for each in returns]))
        for each in returns:
            recorder.target_returned(each)
        recorder.job_ends(ended(max(each.exit_code for each in returns)))
        await recorder.committed()

    asyncio.run(resumed(TargetReturn("b", 1)))
    kept = jobs.get(job.jid)
    assert (kept.state, kept.exit_code, kept.failed, kept.unanswered) == ("done", 2, 1, 0)
    asyncio.run(resumed(TargetReturn("a", 2)))
    kept = jobs.get(job.jid)
    assert (kept.state, kept.exit_code, kept.failed, kept.unanswered) == ("done", 0, 0, 0)
    assert jobs.returns(kept)["a"].ret == 2


def test_a_full_disk_is_one_warning(tmp_path):
    job = start(ids=[str(number) for number in range(40)])
    returns = [TargetReturn(id, os.urandom(30_000).hex()) for id in job.ids]
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, hard))
    try:
        said = record_job(tmp_path, job, *returns, end=ended())
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert len(said) == 1
    assert "the job is not kept" in said[0]


def test_waiting_for_another_writer_has_a_time_limit(tmp_path, monkeypatch):
    record_job(tmp_path, start(), end=ended())
    monkeypatch.setattr(database, "PATIENCE", 0.05)
    other = sqlite3.connect(path_of(tmp_path), isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    opened, connect = [], sqlite3.connect

    def noted(*args, **kwargs):
        opened.append(connect(*args, **kwargs))
        return opened[-1]

    monkeypatch.setattr(database.sqlite3, "connect", noted)
    [said] = record_job(tmp_path, start(), TargetReturn("a", 1), end=ended())
    other.execute("ROLLBACK")
    other.close()
    assert "not kept" in said and "locked" in said
    assert opened
    for connection in opened:
        with pytest.raises(sqlite3.ProgrammingError, match="closed"):
            connection.execute("SELECT 1")


@pytest.mark.parametrize("value", [True, "x" * 5000, {str(number): number for number in range(200)}])
def test_small_and_large_returns_are_kept_when_they_are_committed(tmp_path, value):
    """Small ones are written in the thread of the event loop, large ones in the thread of the record."""
    job = start(ids=tuple(f"web{number}" for number in range(450)))
    recorder = JobRecord(path_of(tmp_path), pytest.fail, Bounds())

    async def work():
        recorder.job_begins(job)
        await recorder.committed()
        other = sqlite3.connect(path_of(tmp_path))
        for number, id in enumerate(job.ids, 1):
            recorder.target_returned(TargetReturn(id, value))
            await recorder.committed()
            if number % 100 < 2:
                assert other.execute("SELECT count(*) FROM returns").fetchone() == (number,)
        recorder.job_ends(ended())
        await recorder.committed()
        other.close()

    asyncio.run(work())
    jobs = Jobs(tmp_path)
    assert jobs.get("last").state == "done"
    assert {ret.ret if value is True else str(ret.ret) for ret in jobs.returns(jobs.get("last")).values()} == {
        value if value is True else str(value)
    }


def test_a_small_return_waits_for_another_writer(tmp_path):
    job = start(ids=("a",))
    recorder = JobRecord(path_of(tmp_path), pytest.fail, Bounds())

    async def work():
        recorder.job_begins(job)
        await recorder.committed()
        other = sqlite3.connect(path_of(tmp_path), isolation_level=None, check_same_thread=False)
        other.execute("BEGIN IMMEDIATE")
        recorder.target_returned(TargetReturn("a", True))
        asyncio.get_running_loop().call_later(0.2, other.execute, "COMMIT")
        await recorder.committed()
        assert other.execute("SELECT id FROM returns").fetchall() == [("a",)]
        other.close()
        recorder.job_ends(ended())
        await recorder.committed()

    asyncio.run(work())


def five_jobs(folder):
    return [record_job(folder, start(), TargetReturn("a", 1), TargetReturn("b", 1), end=ended()) for _ in range(5)]


def test_several_processes_write_at_once(tmp_path):
    """Uses separate processes: a process that is forked while a record is closed would keep locks of SQLite."""
    context = multiprocessing.get_context("spawn")
    with context.Pool(4, initializer=context.Barrier(4).wait) as pool:
        assert pool.map(five_jobs, [tmp_path] * 4, chunksize=1) == [[[]] * 5] * 4
    found = Jobs(tmp_path).list()
    assert len(found) == 20 and {job.state for job in found} == {"done"}


def test_links_and_foreign_files_are_refused(tmp_path):
    (tmp_path / "jobs").mkdir(mode=0o700)
    (tmp_path / "elsewhere").write_bytes(b"")
    path_of(tmp_path).symlink_to(tmp_path / "elsewhere")
    [said] = record_job(tmp_path, start(), end=ended())
    assert "not kept" in said
    assert (tmp_path / "elsewhere").read_bytes() == b""


def test_a_folder_that_others_can_write_to_is_refused(tmp_path):
    (tmp_path / "jobs").mkdir()
    (tmp_path / "jobs").chmod(0o777)
    [said] = record_job(tmp_path, start(), end=ended())
    assert "others can write to" in said


def test_an_older_version_is_migrated(tmp_path):
    path = path_of(tmp_path)
    path.parent.mkdir(mode=0o700)
    sqlite3.connect(path).close()
    path.chmod(0o644)
    assert record_job(tmp_path, start(), end=ended()) == []
    assert path.stat().st_mode & 0o777 == 0o600
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA user_version").fetchone() == (database.VERSION,)
    connection.close()


@pytest.mark.parametrize("version", range(1, database.VERSION))
def test_jobs_of_each_older_version_stay(tmp_path, monkeypatch, version):
    with monkeypatch.context() as older:
        older.setattr(database, "MIGRATIONS", database.MIGRATIONS[:version])
        older.setattr(database, "VERSION", version)
        job = start(ids=("a",))
        connection = database.open_database(path_of(tmp_path))
        record._begin(connection, job)
        record.put_return(connection, job.jid, TargetReturn("a", {"x": 1}))
        connection.close()
    kept = Jobs(tmp_path).get(job.jid)
    assert Jobs(tmp_path).returns(kept)["a"].ret == {"x": 1}
    assert record_job(tmp_path, start(), end=ended()) == []
    assert len(Jobs(tmp_path).list()) == 2


def test_bounds_remove_the_oldest_jobs_and_no_running_one(tmp_path):
    old = replace(start(), start=time.time() - 90_000)
    record_job(tmp_path, old, end=ended())
    running = replace(start(), start=time.time() - 90_000)
    record_job(tmp_path, running)
    new = start()
    record_job(tmp_path, new, TargetReturn("a", os.urandom(5000).hex()), end=ended(), bounds=Bounds(seconds=86400))
    jobs = Jobs(tmp_path)
    assert {job.jid for job in jobs.list()} == {old.jid, running.jid, new.jid}, "it was pruned less than an hour ago"
    connection = database.open_database(jobs.path)
    assert prune_when_due(connection, Bounds(seconds=86400), time.time() + 4000) == [old.jid]
    connection.close()
    newest = start()
    record_job(tmp_path, newest, end=ended())
    assert jobs.prune(Bounds(size=2000)) == [new.jid]
    assert {job.jid for job in jobs.list()} == {running.jid, newest.jid}


def state(result, changes=None, comment=""):
    return {"result": result, "changes": changes or {}, "comment": comment, "duration": time.time()}


def test_the_difference_of_two_jobs():
    old = {
        "a": TargetReturn("a", {"t1": state(True), "t2": state(True, {"x": 1}), "gone": state(True)}, "states"),
        "b": TargetReturn("b", 1),
        "c": TargetReturn("c", {"t": state(True)}, "states"),
    }
    new = {
        "a": TargetReturn("a", {"t1": state(False), "t2": state(True)}, "states"),
        "b": TargetReturn("b", 2),
        "c": TargetReturn("c", {"t": state(True)}, "states"),
        "d": TargetReturn("d", 2),
    }
    found = difference(old, new)
    assert set(found) == {"a", "b", "d"}
    states = found["a"]["states"]
    assert states["t1"] == {"result": [True, False]}
    assert states["t2"] == {"changes": [{"x": 1}, {}], "changed": [True, False]}
    assert states["gone"]["result"] == [True, None]
    assert found["b"] == {"return": [1, 2]}
    assert found["d"] == {"only": "new"}
    assert "    t1: result true -> false" in lines(found)
    assert "b: 1 -> 2" in lines(found)


def test_times_as_people_write_them():
    assert [seconds(text) for text in ("90", "15m", "2h", "1.5h", "30d", "1w")] == [
        90,
        900,
        7200,
        5400,
        2592000,
        604800,
    ]
    assert since("2h", now=10_000.0) == 2800
    assert since("1970-01-01T00:00:10Z") == 10
    for text in ("", "-1", "h", "1y", "soon"):
        with pytest.raises(ValueError):
            since(text)
