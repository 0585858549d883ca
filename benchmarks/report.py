"""Measurements: stored as JSON, shown as Markdown tables with medians and ratios."""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

Cost = dict[str, float]


@dataclass
class Results:
    """``runs``: section -> contender -> the cost of each round. ``failures``: section -> contender -> reason."""

    about: dict[str, str] = field(default_factory=dict)
    runs: dict[str, dict[str, list[Cost]]] = field(default_factory=dict)
    failures: dict[str, dict[str, str]] = field(default_factory=dict)

    @classmethod
    def load(cls, path: Path) -> Results:
        return cls(**json.loads(path.read_text())) if path.exists() else cls()

    def save(self, path: Path) -> None:
        """As JSON, and as tables in a ``.md`` of the same name in capitals."""
        path.write_text(json.dumps(self.__dict__, indent=1) + "\n")
        path.with_name(f"{path.stem.upper()}.md").write_text(self.table())

    def add(self, section: str, name: str, cost: Cost) -> None:
        rounded = {key: round(cost[key], 4) for key in ("wall", "cpu", "rss")}
        self.runs.setdefault(section, {}).setdefault(name, []).append(rounded)

    def failed(self, section: str, name: str, reason: str) -> None:
        self.failures.setdefault(section, {})[name] = reason

    def forget(self, section: str) -> None:
        """Drop the results of an earlier run for this section (all sizes)."""
        tables: tuple[dict[str, Any], ...] = (self.runs, self.failures)
        for results in tables:
            for name in [name for name in results if name.split()[0] == section]:
                del results[name]

    def table(self) -> str:
        return "\n".join(self._lines()) + "\n"

    def _lines(self) -> Iterator[str]:
        yield "# Results"
        yield ""
        yield "Made by `python benchmarks/run.py`; see [README.md](README.md) for what is measured and how."
        yield ""
        for name, value in self.about.items():
            yield f"- {name}: {value}"
        for section, runs in sorted(self.runs.items(), key=lambda item: list(TITLES).index(item[0].split()[0])):
            yield ""
            yield f"## {TITLES.get(section.split()[0], section).format(*section.split()[1:])}"
            yield ""
            yield "| | wall, s | least–most | to the first | controller CPU, s | peak RSS, MiB | rounds |"
            yield "|---|---:|---:|---:|---:|---:|---:|"
            base = None
            for name, costs in runs.items():
                wall = median(costs, "wall")
                base = base or wall
                spread = f"{min(cost['wall'] for cost in costs):.3f}–{max(cost['wall'] for cost in costs):.3f}"
                cpu, rss = f"{median(costs, 'cpu'):.3f}", f"{median(costs, 'rss'):.0f}"
                cells = [f"{wall:.3f}", spread, f"{wall / base:.2f}", cpu, rss]
                yield f"| {name} | {' | '.join(cells)} | {len(costs)} |"
        for section, failures in self.failures.items():
            for name, reason in failures.items():
                yield ""
                yield f"{section}, {name}: no figure: {' '.join(reason.split())[:400]}"


TITLES = {
    "startup": "Start-up, whole process",
    "fanout": "`cmd.run hostname` on {} loopback targets",
    "states": "50 unchanged files on {} booted machines",
    "memory": "Memory of the controller, 100 targets at once",
    "concurrency": "100 loopback targets by connections at a time",
    "compile": "Compiling the {} formula (render + low), in process",
    "fleet": "Compiling the {} formula for a fleet, in process",
}


def median(costs: list[Cost], key: str) -> float:
    return statistics.median(cost[key] for cost in costs)


def about(peers: list[str]) -> dict[str, str]:
    """The machine and the versions."""
    ssh = subprocess.run(["ssh", "-V"], capture_output=True, text=True, check=False).stderr.strip()
    libraries = ", ".join(f"{name} {version(name)}" for name in ("asyncssh", "cryptography", "msgpack", "jinja2"))
    return {
        "date": time.strftime("%Y-%m-%d"),
        "machine": f"{os.cpu_count()} CPUs ({_cpu()}), Linux {platform.release()}",
        "Python": f"{platform.python_version()} ({sys.implementation.name}), {libraries}",
        "OpenSSH": ssh,
        "peers": "; ".join(peers) or "not measured",
    }


def _cpu() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())
