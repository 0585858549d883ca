"""Measures transfers: a tree of 5,000 files, and a file of 1 GB, from the state tree to this machine, with peak memory.

    python benchmarks/transfer.py [--files 5000] [--size 1000] [--rounds 3]

Times are those of the whole command, medians. The peak is that of the largest process of either side: the target is
this machine, by the same frames as over SSH. The controller caches digests, and the target hashes existing
files.

The last figures::

    5000 files: first 7.63 s, unchanged 1.03 s, one changed 0.92 s; 60 MiB at most
    1000 MB: first 10.48 s, unchanged 1.41 s; 58 MiB at most
    (2 cores, Python 3.11, a machine with much other work; at rest 0.52 s for the unchanged tree)
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PROBE = """
import resource, subprocess, sys
done = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024)
sys.exit(done.returncode)
"""


class Bench:
    """Commands in a project."""

    def __init__(self, folder: Path, target: str) -> None:
        self.folder, self.target, self.peak = folder, target, 0
        self.env = {**os.environ, "HOME": str(folder / "home"), "XDG_CACHE_HOME": str(folder / "cache")}
        (folder / "home").mkdir()
        (folder / "states").mkdir()

    def apply(self, *arguments: str) -> float:
        """Seconds of a run of one state."""
        command = [
            *(sys.executable, "-m", "pushsalt.cli", "--cache-dir", str(self.folder / "cache")),
            *("--file-root", str(self.folder / "states"), "run", self.target, "state.single", *arguments),
        ]
        began = time.perf_counter()
        probe = [sys.executable, "-c", PROBE, *command]
        done = subprocess.run(probe, env=self.env, capture_output=True, text=True, check=True)
        took = time.perf_counter() - began
        self.peak = max(self.peak, int(done.stdout))
        return took

    def tree(self, files: int, rounds: int) -> str:
        source, dest = self.folder / "states" / "tree", self.folder / "dest"
        for number in range(files):
            path = source / f"d{number % 50}" / f"f{number}"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"file {number}\n" * 40)
        time.sleep(4)  # a file that was just written is hashed again
        arguments = ("file.recurse", str(dest), "source=salt://tree")
        first = self.apply(*arguments)
        same = statistics.median(self.apply(*arguments) for _ in range(rounds))
        (source / "d1" / "f1").write_text("one\n")
        changed = self.apply(*arguments)
        return (
            f"{files} files: first {first:.2f} s, unchanged {same:.2f} s, one changed {changed:.2f} s; {self.memory()}"
        )

    def large(self, size: int, rounds: int) -> str:
        with (self.folder / "states" / "large").open("wb") as stream:
            for _ in range(size):
                stream.write(os.urandom(1_000_000))
        time.sleep(4)
        arguments = ("file.managed", str(self.folder / "large"), "source=salt://large")
        first = self.apply(*arguments)
        same = statistics.median(self.apply(*arguments) for _ in range(rounds))
        return f"{size} MB: first {first:.2f} s, unchanged {same:.2f} s; {self.memory()}"

    def memory(self) -> str:
        peak, self.peak = self.peak, 0
        return f"{peak} MiB at most"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=5000)
    parser.add_argument("--size", type=int, default=1000, help="of the one file, in MB")
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder), "localhost")
        print(bench.tree(args.files, args.rounds))
        print(bench.large(args.size, args.rounds))


if __name__ == "__main__":
    main()
