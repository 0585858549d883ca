"""Measures the indexes, SQLite, LMDB, and Salt's registry and matchers. A separate process measures each figure.

    python benchmarks/index.py                                   # resources
    python benchmarks/index.py --profiles grains.json            # and grain queries over a fleet of these systems

Results go to index.json and INDEX.md next to this file.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import index_grains
import report
from peers import Peer, Venvs

HERE = Path(__file__).resolve().parent
PEERS = {
    "lmdb": Peer("lmdb", ("lmdb>=1.4",), ("lmdb",)),
    "salt": Peer("salt", ("salt==3008.*",), ("salt",)),
}
STORES = ("pushsalt", "sqlite", "lmdb", "salt")
#: figure -> (title, unit, factor, whether it changes the store)
FIGURES = {
    "small": ("open and list a type of 1,000", "ms", 1e3, False),
    "big": ("open and list a type of 500,000", "ms", 1e3, False),
    "manager": ("open and list one manager's hundred", "ms", 1e3, False),
    "get": ("get, asked for before", "µs", 1e6, False),
    "first get": ("get, asked for the first time", "µs", 1e6, False),
    "seen": ("list a type of 1,000 after another process's put", "ms", 1e3, True),
    "put": ("put", "µs", 1e6, True),
    "batch": ("put 1,000 in one batch", "ms", 1e3, True),
    "compaction": ("compaction, after changes of a hundredth", "s", 1, True),
}


class Runs:
    """``times``: figure -> store -> results of the rounds."""

    def __init__(self, venvs: Venvs, rounds: int) -> None:
        self.venvs = venvs
        self.rounds = rounds
        self.times: dict[str, dict[str, list[Any]]] = {}

    def python(self, store: str) -> list[str]:
        python = self.venvs.bin(store, "python") if store in PEERS else sys.executable
        return [python, "-W", "ignore"]

    def measure(self, store: str, script: str, *arguments: str) -> Any:
        argv = [*self.python(store), str(HERE / script), store, *arguments]
        env = {**os.environ, "PYTHONPATH": str(HERE.parent) if store == "pushsalt" else ""}
        done = subprocess.run(argv, check=True, stdout=subprocess.PIPE, text=True, env=env)
        return json.loads(done.stdout or "null")

    def add(self, figure: str, store: str, result: Any) -> None:
        self.times.setdefault(figure, {}).setdefault(store, []).append(result)
        print(f"  {figure} {store} {result}", file=sys.stderr, flush=True)


def resources(runs: Runs, stores: list[str], work: Path) -> None:
    """All figures over a million resources; stores take turns."""
    for store in stores:
        runs.measure(store, "index_stores.py", "build", str(work / store))
        runs.add("size", store, runs.measure(store, "index_stores.py", "size", str(work / store)))
    for figure, (_, _, _, changes) in FIGURES.items():
        for round in range(runs.rounds + 1):
            for store in stores:
                if store == "salt" and round != 1:
                    continue
                folder = work / store
                if changes:
                    folder = work / f"{store}.changed"
                    shutil.copytree(work / store, folder)
                result = runs.measure(store, "index_stores.py", figure, str(folder))
                if round:
                    runs.add(figure, store, result)
                for path in work.glob("*.changed*"):
                    shutil.rmtree(path)


def waits(runs: Runs, work: Path) -> None:
    """A reader and a writer, with and without a process that compacts all the time."""
    for compacting in (False, True):
        folder = work / "waits"
        shutil.copytree(work / "pushsalt", folder)
        argv = [*runs.python("pushsalt"), str(HERE / "index_stores.py"), "pushsalt"]
        env = {**os.environ, "PYTHONPATH": str(HERE.parent)}
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "env": env}
        processes = [subprocess.Popen([*argv, f"waits {role}", str(folder)], **pipes) for role in ("read", "write")]  # type: ignore[call-overload]
        for process in processes:
            process.stdout.readline()
        for _ in range(3 if compacting else 0):
            runs.measure("pushsalt", "index_stores.py", "compaction", str(folder))
        if not compacting:
            subprocess.run(["sleep", "4"], check=True)
        for role, process in zip(("reads", "writes"), processes, strict=True):
            out, _ = process.communicate("x")
            runs.add(f"waits, {role}{' while compacting' if compacting else ''}", "pushsalt", json.loads(out))
        shutil.rmtree(folder)


def grains(runs: Runs, stores: list[str], work: Path, profiles: str) -> None:
    """Queries over a fleet."""
    for store in stores:
        runs.measure(store, "index_grains.py", "build", str(work / f"{store}.grains"), profiles)
    for query in (*index_grains.QUERIES, "put"):
        for round in range(runs.rounds + 1):
            for store in stores:
                if store == "salt" and round != 1:
                    continue
                result = runs.measure(store, "index_grains.py", query, str(work / f"{store}.grains"), profiles)
                if round:
                    runs.add(f"grains {query}", store, result)
        counts = {
            tuple({run["found"] for run in results})
            for results in runs.times[f"grains {query}"].values()
            if query != "put"
        }
        assert len(counts) < 2, f"{query}: the stores disagree: {counts}"


def processes(runs: Runs, work: Path) -> None:
    """The whole ``pushsalt target``, from its start to its end; the inventory's image is kept from the first round."""
    project = work / "project"
    cache = project / "cache"
    cache.mkdir(parents=True, mode=0o700)
    shutil.copytree(work / "pushsalt.grains", cache / "grains-index")
    hosts = "".join(f"  host-{n:07d}: {{host: 192.0.2.1}}\n" for n in range(index_grains.COUNT))
    (project / "inventory.yaml").write_text(f"hosts:\n{hosts}")
    start = [*runs.python("pushsalt"), "-m", "pushsalt.cli", "-i", str(project / "inventory.yaml")]
    # with compiled files, as an installation has, whatever the environment says
    env = {**os.environ, "PYTHONPATH": str(HERE.parent), "PYTHONPYCACHEPREFIX": str(work / "compiled")}
    env.pop("PYTHONDONTWRITEBYTECODE", None)
    for query, terms in index_grains.QUERIES.items():
        flag, text = query.split(" ", 1)
        expr = text if flag == "-C" else terms[0][1]
        argv = [*start, "--cache-dir", str(cache), "target", flag, expr, "--out", "json"]
        for round in range(runs.rounds + 1):
            began = time.perf_counter()
            done = subprocess.run(argv, check=True, stdout=subprocess.PIPE, env=env, cwd=project)
            took = time.perf_counter() - began
            count = len(json.loads(done.stdout))
            assert count == runs.times[f"grains {query}"]["pushsalt"][0]["found"], f"{query}: {count}"
            if round:
                runs.add(f"process {query}", "pushsalt", {"seconds": took, "found": count})


def table(runs: Runs, stores: list[str], about: dict[str, str]) -> Iterator[str]:
    yield "# The indexes"
    yield ""
    yield "Made by `python benchmarks/index.py`; see [README.md](README.md) for what is measured and how."
    yield "What a fresh process pays while a million resources are written: [INDEX_LOAD.md](INDEX_LOAD.md)."
    yield ""
    for name, value in about.items():
        yield f"- {name}: {value}"
    yield ""
    yield "## 1,000,000 resources: medians, and in brackets how many times pushsalt's"
    yield ""
    yield f"| | {' | '.join(stores)} |"
    yield f"|---|{'---:|' * len(stores)}"
    for figure, (title, unit, factor, _) in FIGURES.items():
        if figure in runs.times:
            yield _line(f"{title}, {unit}", runs.times[figure], stores, "seconds", factor)
    yield _line("its peak memory, MiB", runs.times.get("compaction", {}), stores, "MiB", 1)
    yield _line("bytes an entry", runs.times["size"], stores, "", 1)
    yield ""
    yield "## What single reads and writes wait, ms"
    yield ""
    yield "| | the longest of 999 in 1000 | the longest | how many |"
    yield "|---|---:|---:|---:|"
    for figure, of in runs.times.items():
        if figure.startswith("waits"):
            [wait] = of["pushsalt"]
            yield f"| {figure[7:]} | {wait['p99.9'] * 1e3:.2f} | {wait['max'] * 1e3:.2f} | {wait['count']} |"
    queries = {figure[7:]: of for figure, of in runs.times.items() if figure.startswith("grains")}
    if queries:
        both = [store for store in ("pushsalt", "salt") if any(store in of for of in queries.values())]
        yield ""
        yield f"## Grains of {index_grains.COUNT:,} ids: ms, each query the first one of its process"
        yield ""
        yield f"| | {' | '.join(both)} |"
        yield f"|---|{'---:|' * len(both)}"
        for query, of in queries.items():
            name = "write the grains of 1,000" if query == "put" else f"`{query}`".replace("|", "\\|")
            yield _line(name, of, both, "seconds", 1e3)
        yield ""
        yield f"## `pushsalt target` over an inventory of {index_grains.COUNT:,}, the whole process: ms"
        yield ""
        yield "| | pushsalt |"
        yield "|---|---:|"
        for figure, of in runs.times.items():
            if figure.startswith("process"):
                yield _line(f"`{figure[8:]}`".replace("|", "\\|"), of, ["pushsalt"], "seconds", 1e3)


def _line(title: str, of: dict[str, list[Any]], stores: list[str], key: str, factor: float) -> str:
    cells, first = [], 0.0
    for store in stores:
        if store not in of:
            cells.append("")
            continue
        values = [run[key] if isinstance(run, dict) else run for run in of[store]]
        value = statistics.median(values) * factor
        first = first or value
        shown = f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
        cells.append(shown if store == stores[0] else f"{shown} ({value / first:,.2g})")
    return f"| {title} | {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7, help="rounds that count (default: %(default)s)")
    parser.add_argument("--only", action="append", choices=STORES, default=[], help="repeatable")
    parser.add_argument("--venv", action="append", default=[], metavar="PEER=FOLDER", help="use this environment")
    parser.add_argument("--profiles", help="JSON of complete grains by system; without it there are no grain queries")
    parser.add_argument("--out", type=Path, default=HERE / "index.json", help="results, and their table beside it")
    options = parser.parse_args()
    venv_paths = dict(text.split("=", 1) for text in options.venv)
    venvs = Venvs({name: Path(path).resolve() for name, path in venv_paths.items()})
    stores = [store for store in STORES if not options.only or store in options.only]
    for store in stores:
        if store in PEERS:
            venvs.make(PEERS[store])
    import sqlite3

    peers = [venvs.versions(PEERS[store]) for store in stores if store in PEERS]
    about = report.about([*peers, f"SQLite {sqlite3.sqlite_version}"])
    runs = Runs(venvs, options.rounds)
    with tempfile.TemporaryDirectory(prefix="pushsalt-benchmark-") as folder:
        work = Path(folder)
        resources(runs, stores, work)
        waits(runs, work)
        if options.profiles:
            grains(runs, [store for store in stores if store in ("pushsalt", "salt")], work, options.profiles)
            processes(runs, work)
    options.out.write_text(json.dumps({"about": about, "runs": runs.times}, indent=1) + "\n")
    text = "\n".join(table(runs, stores, about)) + "\n"
    options.out.with_name(f"{options.out.stem.upper()}.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
