"""Measures rendering by whole commands: ``state.show_low_sls`` of a formula for offline hosts, without connections.

    python benchmarks/rendering.py                         this checkout
    python benchmarks/rendering.py --beside ../other       and another one, in turns: A B A B ...

One host (from start to exit), a thousand equal ones, and a thousand with different grains and pillar below the
formula's key. Wall time and CPU time of all processes; medians of ``--rounds``; the first round is not counted.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FORMULA = "apache"


def hosts(count: int, *, different: bool) -> dict[str, object]:
    """Offline hosts: Debian, as a formula sees it."""
    hosts_by_id = {}
    for number in range(count):
        grains = {"os": "Debian", "os_family": "Debian", "osrelease": "12", "oscodename": "bookworm", "init": "systemd"}
        host: dict[str, object] = {"transport": "offline", "grains": grains}
        if different:
            grains["number"] = str(number)
            host["pillar"] = {FORMULA: {"vhosts": {f"site{number}.example": {"port": 8000 + number}}}}
        hosts_by_id[f"host{number:04}"] = host
    return {"hosts": hosts_by_id}


def run(checkout: Path, folder: Path) -> tuple[float, float]:
    """Wall and CPU seconds of one command. Raises RuntimeError when a host has no low data."""
    env = {**os.environ, "PYTHONPATH": str(checkout), "PUSHSALT_CACHE": str(folder / f"cache-{checkout.name}")}
    argv = [sys.executable, "-m", "pushsalt", "run", "--out", "json", "*", "state.show_low_sls", FORMULA]
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(argv, cwd=folder, env=env, capture_output=True, check=False)
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise RuntimeError(done.stderr.decode()[-600:])
    if not all(json.loads(done.stdout).values()):
        raise RuntimeError("a host has no low data")
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--beside", type=Path, help="another checkout, measured in the same run")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--hosts", type=int, default=1000)
    options = parser.parse_args()
    checkouts = [ROOT, *([options.beside.resolve()] if options.beside else [])]
    cases = {
        "1 host": (1, False),
        f"{options.hosts} alike": (options.hosts, False),
        f"{options.hosts} different": (options.hosts, True),
    }
    for name, (count, different) in cases.items():
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch)
            (folder / "inventory.yaml").write_text(json.dumps(hosts(count, different=different)))
            (folder / "pushsalt.yaml").write_text(json.dumps({"file_roots": {"base": [str(ROOT / "formulas")]}}))
            costs: dict[Path, list[tuple[float, float]]] = {checkout: [] for checkout in checkouts}
            for _ in range(options.rounds + 1):
                for checkout in checkouts:
                    costs[checkout].append(run(checkout, folder))
        for checkout, rounds in costs.items():
            wall, cpu = (statistics.median(column) for column in zip(*rounds[1:], strict=True))
            print(f"{name:16} {checkout.name:12} {wall * 1000:9.1f} ms wall {cpu * 1000:9.1f} ms cpu")


if __name__ == "__main__":
    main()
