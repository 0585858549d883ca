"""Compares ``plan`` with ``apply --test``, and ``apply FILE.plan`` with ``apply``: whole commands, by turns.

    python benchmarks/plan.py [--states 200] [--times 7]      plan, on this machine
    python benchmarks/plan.py --sshd 8 [--states 50]          apply FILE.plan, on OpenSSH servers on loopback
    python benchmarks/plan.py --machines 8 [--states 50]      apply FILE.plan, on booted machines (root)

The first has three states of the target: nothing to change, all files new, all files of 40 lines with one line changed;
it prints the CPU seconds of controller and target together. The others have nothing to change; they print the CPU
seconds of the controller. All are medians, with wall-clock seconds, and the ratio to the first row.
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
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]

import contenders  # noqa: E402
import fleet as fleets  # noqa: E402

TEXT = "".join(f"line {number} of a file that is planned\n" for number in range(40))


def create_project(folder: Path, top: Path, states: int) -> None:
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


def run(folder: Path, arguments: list[str], home: Path | None = None) -> tuple[float, float]:
    """CPU and wall-clock seconds of a command."""
    environment = {**(contenders.environment(home) if home else os.environ)}
    environment["PUSHSALT_CACHE"] = str(folder.parent / "cache")
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    argv = [sys.executable, "-m", "pushsalt", *arguments, "--out", "json"]
    subprocess.run(argv, cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL)
    with contextlib.suppress(ChildProcessError):
        while True:
            # remaining processes of the command: render processes, the runtime; not the servers of a fleet
            if os.waitpid(-1, os.WNOHANG if home else 0)[0] == 0:
                break
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return cpu, time.perf_counter() - began


@contextlib.contextmanager
def fleet_of(options: argparse.Namespace, work: Path) -> Iterator[fleets.Fleet]:
    """The targets of ``--sshd`` or ``--machines``."""
    if options.sshd:
        with fleets.sshd_fleet(options.sshd, work) as fleet:
            yield fleet
    else:
        with fleets.machine_fleets([options.machines], work) as (fleet,):
            yield fleet


def measure_apply(options: argparse.Namespace, scratch: Path) -> None:
    """Print the costs of ``apply FILE.plan`` and of ``apply`` where nothing is to be changed."""
    folder, work = scratch / "project", scratch / "fleet"
    folder.mkdir()
    work.mkdir()
    with fleet_of(options, work) as fleet:
        # servers on loopback have one file system
        top = (scratch / "top" if options.sshd else Path(contenders.PLACE)) / "{{ grains.id }}"
        create_project(folder, top, options.states)
        (folder / "inventory.yaml").write_text(fleet.native.read_text())
        data = json.loads((folder / "salt/s.sls").read_text())
        data[str(top)] = {"file.directory": [{"makedirs": True}, {"order": "first"}]}
        (folder / "salt/s.sls").write_text(json.dumps(data))
        for arguments in (["apply", "*", "s"], ["plan", "*", "s", "-o", "a.plan"]):
            run(folder, arguments, fleet.home)
        compare(
            f"{len(fleet)} targets, {options.states} states",
            {"apply": ["apply", "*", "s"], "apply a.plan": ["apply", "a.plan"]},
            folder,
            options.times,
            fleet.home,
        )


def compare(kind: str, commands: dict[str, list[str]], folder: Path, times: int, home: Path | None = None) -> None:
    """Run the commands in turns and print their costs; the first one is the base of the ratios."""
    costs_by_name: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
    for number in range(times + 1):
        for name, arguments in commands.items():
            cost = run(folder, arguments, home)
            if number:  # the first run fills caches
                costs_by_name[name].append(cost)
    base: tuple[float, ...] = ()
    for name, rounds in costs_by_name.items():
        costs = tuple(statistics.median(values) for values in zip(*rounds, strict=True))
        base = base or costs
        texts = [
            f"{cost:6.2f} s {unit} ({cost / first:.2f}x)"
            for cost, first, unit in zip(costs, base, ("CPU", "wall-clock"), strict=True)
        ]
        print(f"{kind:8} {name:13} {' '.join(texts)}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--states", type=int)
    parser.add_argument("--times", type=int, default=7)
    parser.add_argument("--sshd", type=int, default=0)
    parser.add_argument("--machines", type=int, default=0)
    options = parser.parse_args()
    fleet = options.sshd or options.machines
    options.states = options.states or (50 if fleet else 200)
    if not fleet:
        ctypes.CDLL(None).prctl(36, 1)  # PR_SET_CHILD_SUBREAPER: orphaned processes become children of this one
    with tempfile.TemporaryDirectory() as scratch:
        if fleet:
            measure_apply(options, Path(scratch))
            return
        folder, top = Path(scratch, "project"), Path(scratch, "top")
        folder.mkdir()
        top.mkdir()
        create_project(folder, top, options.states)
        commands = {
            "apply --test": ["apply", "here", "s", "--test"],
            "plan": ["plan", "here", "s"],
            "plan -o": ["plan", "here", "s", "-o", str(Path(scratch, "a.plan"))],
        }
        for kind in ("same", "new", "changed"):
            prepare(top, options.states, kind)
            compare(kind, commands, folder, options.times)


if __name__ == "__main__":
    main()
