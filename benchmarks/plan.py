"""Compares ``pushsalt plan`` with ``pushsalt apply --test`` on this machine: whole commands, by turns.

    python benchmarks/plan.py [--states 200] [--times 7]

Three states of the target: nothing to change, all files new, all files of 40 lines with one line changed. Prints the
median CPU seconds of controller and target together, the median wall-clock seconds, and the ratio.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TEXT = "".join(f"line {number} of a file that is planned\n" for number in range(40))


def project(folder: Path, top: Path, states: int) -> None:
    """A project for this machine, with states for files below ``top``."""
    (folder / "salt").mkdir()
    (folder / "salt/plain").write_text(TEXT)
    data = {
        f"{top}/{number}": {"file.managed": [{"source": "salt://plain"}, {"mode": "0644"}]} for number in range(states)
    }
    (folder / "salt/s.sls").write_text(json.dumps(data))
    (folder / "inventory.yaml").write_text(json.dumps({"hosts": {"here": {"transport": "local"}}}))
    (folder / "pushsalt.yaml").write_text("file_roots: {base: [salt]}\npillar_roots: {base: [pillar]}\n")


def prepare(top: Path, states: int, kind: str) -> None:
    """Make the files as they are before: ``same``, ``new`` (none) or ``changed``."""
    for number in range(states):
        path = top / str(number)
        path.unlink(missing_ok=True)
        if kind != "new":
            path.write_text(TEXT if kind == "same" else TEXT.replace("line 20 ", "other "))
            path.chmod(0o644)


def run(folder: Path, words: list[str]) -> tuple[float, float]:
    """CPU and wall-clock seconds of a command."""
    environment = {**os.environ, "PUSHSALT_CACHE": str(folder.parent / "cache")}
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    argv = [sys.executable, "-m", "pushsalt", *words, "--out", "json"]
    subprocess.run(argv, cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL)
    with contextlib.suppress(ChildProcessError):
        while True:
            os.waitpid(-1, 0)  # remaining processes of the command: render processes, the runtime of the target
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return cpu, time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--states", type=int, default=200)
    parser.add_argument("--times", type=int, default=7)
    given = parser.parse_args()
    ctypes.CDLL(None).prctl(36, 1)  # PR_SET_CHILD_SUBREAPER: orphaned processes become children of this one
    with tempfile.TemporaryDirectory() as place:
        folder, top = Path(place, "project"), Path(place, "top")
        folder.mkdir()
        top.mkdir()
        project(folder, top, given.states)
        commands = {
            "apply --test": ["apply", "here", "s", "--test"],
            "plan": ["plan", "here", "s"],
            "plan -o": ["plan", "here", "s", "-o", str(Path(place, "a.plan"))],
        }
        for kind in ("same", "new", "changed"):
            prepare(top, given.states, kind)
            found: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
            for time_ in range(given.times + 1):
                for name, words in commands.items():
                    one = run(folder, words)
                    if time_:  # the first run fills caches
                        found[name].append(one)
            base = statistics.median(cpu for cpu, _ in found["apply --test"])
            for name, all_ in found.items():
                cpu, wall = (statistics.median(values) for values in zip(*all_, strict=True))
                print(f"{kind:8} {name:13} {cpu:6.2f} s CPU {wall:6.2f} s wall-clock {cpu / base:6.2f}x", flush=True)


if __name__ == "__main__":
    main()
