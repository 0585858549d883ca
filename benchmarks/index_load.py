"""Measures look-ups by new processes while a million resources are written, and the waits of the writer.

    python benchmarks/index_load.py                      # by single puts, by batches of 1,000, and by one batch
    python benchmarks/index_load.py --count 200000

While one process writes, others are started one after the other, each of which makes one query: ``get``, the list of a
small type, or that of a manager. Imports are counted separately. Results go to index_load.json and INDEX_LOAD.md next
to this file. On a machine with other work the longest waits are those for a processor, so CPU time is listed, too.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import report

HERE = Path(__file__).resolve().parent
MANAGERS = 10_000
WAYS = {"single puts": 1, "batches of 1,000": 1000, "one batch": 0}
QUESTIONS = ("get", "by_type", "by_manager")


def rows(count: int) -> Iterator[tuple[str, str, str]]:
    """Ids in no order, as several managers send theirs; one in a thousand of a small type."""
    for n in range(count):
        kind = "small" if n % 1000 == 0 else "big" if n % 2 else f"type{n % 8}"
        yield kind, f"res-{n * 7919 % 1_000_003:07d}", f"manager-{n % MANAGERS:05d}"


def write(folder: str, size: int, count: int) -> dict[str, Any]:
    """Load the index; returns the duration of each call."""
    from pushsalt.index import ResourceIndex

    entries = list(rows(count))
    size = size or count
    times, most_segments, most_log = [], 0, 0
    with ResourceIndex(folder) as index:
        index.put(*entries[0])
        print("begun", flush=True)
        began, used = time.perf_counter(), time.process_time()
        for at in range(0, count, size):
            start = time.perf_counter()
            if size == 1:
                index.put(*entries[at])
            else:
                index.put_many(entries[at : at + size])
            times.append(time.perf_counter() - start)
            most_segments = max(most_segments, len(index._journal.segments))
            most_log = max(most_log, index._journal.end)
        took, used = time.perf_counter() - began, time.process_time() - used
    times.sort()
    return {
        "seconds": took,
        "cpu": used,
        "median": times[len(times) // 2],
        "p99.9": times[int(len(times) * 0.999)],
        "max": times[-1],
        "segments": most_segments,
        "log": most_log,
    }


def query(folder: str, question: str) -> dict[str, Any]:
    """The first query of this process."""
    began, used = time.perf_counter(), time.process_time()
    from pushsalt.index import ResourceIndex

    imported, imported_cpu = time.perf_counter() - began, time.process_time() - used
    arguments = {"get": ("small", "res-0000000"), "by_type": ("small",), "by_manager": ("manager-00042",)}
    began, used = time.perf_counter(), time.process_time()
    result = getattr(ResourceIndex(folder), question)(*arguments[question])
    took, cpu = time.perf_counter() - began, time.process_time() - used
    status = Path("/proc/self/status").read_text()
    return {
        "import": imported,
        "import cpu": imported_cpu,
        "seconds": took,
        "cpu": cpu,
        "found": bool(result),
        "MiB": int(status.partition("VmHWM:")[2].split()[0]) / 1024,
    }


def measure(way: str, count: int, work: Path) -> dict[str, Any]:
    """Run a writer, and query processes one after the other until it ends."""
    env = {**os.environ, "PYTHONPATH": str(HERE.parent)}
    argv = [sys.executable, __file__, "--folder", str(work / way.replace(" ", "-"))]
    answers: dict[str, list[dict[str, Any]]] = {question: [] for question in QUESTIONS}

    def query_all() -> None:
        for question in QUESTIONS:
            done = subprocess.run([*argv, "--ask", question], check=True, stdout=subprocess.PIPE, text=True, env=env)
            answers[question].append({key: round(value, 6) for key, value in json.loads(done.stdout).items()})

    load = []
    arguments = ["--write", str(WAYS[way]), "--count", str(count)]
    with subprocess.Popen([*argv, *arguments], stdout=subprocess.PIPE, text=True, env=env) as writer:
        assert writer.stdout
        writer.stdout.readline()
        while writer.poll() is None:
            query_all()
            load.append(os.getloadavg()[0])
        written = json.loads(writer.stdout.read())
    query_all()
    return {"written": written, "asked": answers, "load": [min(load), max(load)]}


def table(measurements: dict[str, dict[str, Any]], count: int, about: dict[str, str]) -> Iterator[str]:
    yield f"# The index while {count:,} resources are written"
    yield ""
    yield "Made by `python benchmarks/index_load.py`, which says what is measured."
    yield ""
    for name, value in about.items():
        yield f"- {name}: {value}"
    loads = ", ".join(
        f"{measurement['load'][0]:.1f} to {measurement['load'][1]:.1f} ({way})"
        for way, measurement in measurements.items()
    )
    yield f"- load of the machine, with the writer and those who ask: {loads}"
    yield ""
    yield "## The first question of a fresh process, at any moment of the load: ms"
    yield ""
    yield "| written by | question | processes | median | longest | processor time: median | most | MiB, most |"
    yield "|---|---|---:|---:|---:|---:|---:|---:|"
    imports = []
    for way, measurement in measurements.items():
        for question, runs in measurement["asked"].items():
            imports += runs
            cells = [len(runs)]
            for key in ("seconds", "cpu"):
                values = sorted(run[key] * 1e3 for run in runs)
                cells += [f"{values[len(values) // 2]:.2f}", f"{values[-1]:.2f}"]
            cells.append(f"{max(run['MiB'] for run in runs):.1f}")
            yield f"| {way} | `{question}` | {' | '.join(map(str, cells))} |"
    values = sorted(run["import cpu"] * 1e3 for run in imports)
    yield ""
    yield f"Importing `ResourceIndex` takes {values[len(values) // 2]:.1f} ms of processor time (median)."
    yield ""
    yield "## The writer"
    yield ""
    yield "| written by | s | processor, s | a call: median, ms | 999 of 1000 | longest | most log, KiB | segments |"
    yield "|---|---:|---:|---:|---:|---:|---:|---:|"
    for way, measurement in measurements.items():
        run = measurement["written"]
        times = " | ".join(f"{run[key] * 1e3:.3f}" for key in ("median", "p99.9", "max"))
        bounds = f"{run['log'] / 1024:.0f} | {run['segments']}"
        yield f"| {way} | {run['seconds']:.1f} | {run['cpu']:.1f} | {times} | {bounds} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=1_000_000, help="resources (default: %(default)s)")
    parser.add_argument("--out", type=Path, default=HERE / "index_load.json", help="results, and their table beside it")
    parser.add_argument("--folder", help=argparse.SUPPRESS)
    parser.add_argument("--write", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--ask", choices=QUESTIONS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.ask:
        print(json.dumps(query(options.folder, options.ask)))
        return
    if options.write is not None:
        print(json.dumps(write(options.folder, options.write, options.count)))
        return
    about = report.about([])
    with tempfile.TemporaryDirectory(prefix="pushsalt-benchmark-") as folder:
        measurements = {way: measure(way, options.count, Path(folder)) for way in WAYS}
    options.out.write_text(json.dumps({"about": about, "found": measurements}) + "\n")
    text = "\n".join(table(measurements, options.count, about)) + "\n"
    options.out.with_name(f"{options.out.stem.upper()}.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
