"""Measures the cost of job records.

    python benchmarks/jobs.py [list] [returns] [targets] [apply] [events]

``list``: ``pushsalt jobs list`` over 10,000 recorded jobs, the whole process (below 200 ms). ``returns``: 5,000
returns, of ``test.ping`` and of 50 states each, passed to a recorder as by a job (below 1 s in all). ``targets``: a job
on 100 local targets with the record and without it, in turns (below 3 %). ``apply``: the same with 10 states that make
no changes, whose returns are recorded one by one before each target deletes its own. ``events``: the same with the
journal of events and without it; and the time of the writes of its 101 events.
"""

from __future__ import annotations

import asyncio
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pushsalt.jobs import database, record
from pushsalt.jobs.jid import new_jid
from pushsalt.jobs.model import JobEnd, JobStart
from pushsalt.jobs.prune import Bounds
from pushsalt.journal.jobevents import JobEvents
from pushsalt.journal.store import Journal
from pushsalt.journal.writer import Writer
from pushsalt.model import TargetReturn
from pushsalt.redact import Redactor
from pushsalt.run.observers import Observers

TEN_STATES = "".join(f"state {number}:\n  test.nop\n" for number in range(10))


def states(count: int = 50) -> dict[str, Any]:
    """The return of a target whose states made no changes."""
    return {
        f"file_|-/etc/app/{number}.conf_|-/etc/app/{number}.conf_|-managed": {
            "name": f"/etc/app/{number}.conf",
            "changes": {},
            "result": True,
            "comment": f"The file /etc/app/{number}.conf is in the correct state",
            "__sls__": "app",
            "__id__": f"/etc/app/{number}.conf",
            "__run_num__": number,
            "start_time": "12:00:00.000000",
            "duration": 1.25,
        }
        for number in range(count)
    }


def measure_list(folder: Path) -> None:
    connection = database.open_database(database.path_of(folder))
    connection.execute("BEGIN")
    for _ in range(10_000):
        job = JobStart(new_jid(), "state.apply", ["web"], user="me", ids=("web1", "web2"), start=time.time())
        record._begin(connection, job)
        record._ended(connection, job.jid, JobEnd(0, "done", time.time()), only_whole=False)
    connection.execute("COMMIT")
    connection.close()
    for arguments in ([], ["--out", "json"], ["--limit", "20"]):
        took = []
        for _ in range(9):
            began = time.perf_counter()
            argv = [sys.executable, "-m", "pushsalt", "--cache-dir", str(folder), "jobs", "list", *arguments]
            subprocess.run(argv, check=True, stdout=subprocess.DEVNULL, cwd=folder)
            took.append(time.perf_counter() - began)
        median, least = statistics.median(took) * 1000, min(took) * 1000
        print(f"jobs list {' '.join(arguments)}: median {median:.0f} ms, least {least:.0f}")


async def measure_returns(folder: Path) -> None:
    ids = [f"web{number}" for number in range(5000)]
    for name, results in (
        ("test.ping", [TargetReturn(id, True, phases={"connect": 0.1, "run": 0.2}) for id in ids]),
        ("50 states", [TargetReturn(id, states(), "states", phases={"connect": 0.1, "run": 0.2}) for id in ids]),
    ):
        for at_a_time in (1, 50):
            path = database.path_of(folder / f"{name} {at_a_time}")
            path.parent.parent.mkdir()
            observers = Observers(record.JobRecord(path, print, Bounds()), [], Redactor())
            began, used = time.perf_counter(), time.process_time()
            await observers.job_begins(JobStart(new_jid(), "state.apply", ids=ids, start=time.time()))
            for number in range(0, len(ids), at_a_time):
                await observers.returned(results[number : number + at_a_time])
            await observers.job_ends()
            took, cpu = time.perf_counter() - began, time.process_time() - used
            size = path.stat().st_size
            print(f"5,000 returns of {name}, {at_a_time} at a time: {took:.2f} s, CPU {cpu:.2f} s, {size} bytes")


def measure_targets(
    folder: Path,
    option: str = "job_cache",
    name: str = "the record",
    arguments: Sequence[str] = ("run", "*", "test.ping"),
    rounds: int = 11,
) -> None:
    hosts = {f"t{number}": {"transport": "local", "thin_dir": str(folder / f"t{number}")} for number in range(100)}
    (folder / "inventory.yaml").write_text(json.dumps({"hosts": hosts}))
    took: dict[str, list[float]] = {"true": [], "false": []}
    cpus: dict[str, list[float]] = {"true": [], "false": []}
    for number in range(rounds):
        for setting, times in took.items():
            roots = json.dumps({"base": [str(folder / "states")]})
            (folder / "pushsalt.yaml").write_text(f"{option}: {setting}\nfile_roots: {roots}\n")
            began, cpu = time.perf_counter(), used_by_children()
            argv = [sys.executable, "-m", "pushsalt", "--cache-dir", str(folder / setting), *arguments]
            subprocess.run(argv, check=True, stdout=subprocess.DEVNULL, cwd=folder)
            if number:
                times.append(time.perf_counter() - began)
                cpus[setting].append(used_by_children() - cpu)
    for label, values in (("", took), ("CPU ", cpus)):
        with_option, without = (statistics.median(values[setting]) for setting in ("true", "false"))
        percent = (with_option / without - 1) * 100
        comparison = f"{with_option:.2f} s with {name}, {without:.2f} s without: {percent:+.1f} %"
        print(f"{arguments[0]}, 100 targets: {label}{comparison}")


def used_by_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measure_journal(folder: Path) -> None:
    """The events of a job on 100 targets, put one by one into a writer as a job does."""
    job = JobStart(new_jid(), "test.ping", ids=[f"t{number}" for number in range(100)], start=time.time())
    took, used = [], []
    for number in range(20):
        events = JobEvents(Writer(Journal(folder / str(number % 2))), Redactor())
        began, cpu = time.perf_counter(), time.process_time()
        events.job_begins(job)
        for id in job.ids:
            events.target_returned(TargetReturn(id, True, phases={"connect": 0.1, "run": 0.2}))
        events.settled()
        took.append(time.perf_counter() - began)
        used.append(time.process_time() - cpu)
    median, cpu = statistics.median(took) * 1000, statistics.median(used) * 1000
    print(f"101 events: {median:.1f} ms, CPU {cpu:.1f} ms")


def main(sections: list[str]) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        if not sections or "list" in sections:
            (folder / "list").mkdir()
            measure_list(folder / "list")
        if not sections or "returns" in sections:
            (folder / "returns").mkdir()
            asyncio.run(measure_returns(folder / "returns"))
        if not sections or "targets" in sections:
            (folder / "targets").mkdir()
            measure_targets(folder / "targets")
        if not sections or "apply" in sections:
            (folder / "apply" / "states").mkdir(parents=True)
            (folder / "apply" / "states" / "ten.sls").write_text(TEN_STATES)
            measure_targets(folder / "apply", arguments=("apply", "*", "ten"))
        if not sections or "events" in sections:
            (folder / "events").mkdir()
            measure_journal(folder / "events")
            measure_targets(folder / "events", "event_journal", "the journal")


if __name__ == "__main__":
    main(sys.argv[1:])
