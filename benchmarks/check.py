"""Measures `pushsalt check` for a folder of formulas, on all systems: with an empty cache, and again.

    python benchmarks/check.py FOLDER [--rounds 3]

FOLDER has formulas side by side, for example clones of repositories of the saltstack-formulas organisation.

    22 formulas, 456 SLS, 8 systems; 2 cores, Python 3.11; median (least to most) in seconds
    empty cache      8.0   (7.9-8.2)
    again            1.1   (1.1-1.1)
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def once(folder: Path, cache: Path) -> tuple[float, dict[str, int]]:
    """Wall seconds of one check, and its counts."""
    command = [sys.executable, "-m", "pushsalt", "--cache-dir", str(cache), "check", str(folder), "--format", "json"]
    began = time.perf_counter()
    done = subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
    took = time.perf_counter() - began
    if done.returncode not in (0, 2):
        sys.exit(done.stderr.decode())
    return took, json.loads(done.stdout)["summary"]


def main() -> None:
    parser = argparse.ArgumentParser(description="How long `pushsalt check` takes.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    empty, again = [], []
    for _ in range(options.rounds):
        with tempfile.TemporaryDirectory() as cache:
            took, counted = once(options.folder.resolve(), Path(cache))
            empty.append(took)
            again.append(once(options.folder.resolve(), Path(cache))[0])
    systems = len(counted["systems"])
    print(f"{counted['trees']} trees, {counted['sls']} SLS, {systems} systems; median (least to most) in seconds")
    for name, values in (("empty cache", empty), ("again", again)):
        print(f"{name:<12} {statistics.median(values):6.1f}   ({min(values):.1f}-{max(values):.1f})")


if __name__ == "__main__":
    main()
