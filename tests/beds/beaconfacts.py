"""A simulated machine for beacons: inputs of cases, and the recorded answers of Salt."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import yaml

HERE = Path(__file__).parents[1] / "cases" / "thin" / "beacons"
ANSWERS = HERE / "answers.json"
FIELDS = ("bytes_sent", "bytes_recv", "packets_sent", "packets_recv", "errin", "errout", "dropin", "dropout")
IDLE: dict[str, Any] = {
    "load": [0.0, 0.0, 0.0],
    "memory": 0.0,
    "mounts": {},
    "services": {},
    "processes": [],
    "net": {},
    "status": {},
    "now": 1000.0,
}


def inputs() -> Iterator[dict[str, Any]]:
    """Yield ``module``, ``config`` and ``steps`` of each case; values that a step lacks are those of IDLE."""
    for module, cases in yaml.safe_load((HERE / "inputs.yaml").read_text()).items():
        for case in cases:
            steps = [{**IDLE, **step} for step in case.get("steps", ())]
            for step in steps:
                step["net"] = {name: dict(zip(FIELDS, row, strict=True)) for name, row in step["net"].items()}
            yield {"module": module, "config": case["config"], "steps": steps}


def answers() -> list[dict[str, Any]]:
    """Salt's answer to each case: ``valid`` and ``events``."""
    recorded: list[dict[str, Any]] = json.loads(ANSWERS.read_text())
    return recorded


def comparable(answer: dict[str, Any]) -> dict[str, Any]:
    """An answer without times, by which the tags of ``status`` end."""
    events = [
        [{key: value for key, value in event.items() if key != "tag" or "data" not in event} for event in step]
        for step in answer["events"]
    ]
    valid, text = answer["valid"]
    without_times: dict[str, Any] = json.loads(json.dumps({"valid": [bool(valid), text], "events": events}))
    return without_times


def patch_machine(monkeypatch: Any, step: dict[str, Any]) -> None:
    """Patch the functions that read the machine to return the values of this step."""

    def usage(mount: str) -> dict[str, Any]:
        if step["mounts"][mount] is None:
            raise OSError("stale")
        return {"percent": step["mounts"][mount]}

    procfs = "thin.utils.system.procfs."
    monkeypatch.setattr("os.getloadavg", lambda: tuple(step["load"]))
    monkeypatch.setattr("time.time", lambda: step["now"])
    monkeypatch.setattr(procfs + "virtual_memory", lambda: {"percent": step["memory"], "total": 1})
    monkeypatch.setattr(procfs + "partitions", lambda everything: [{"mountpoint": mount} for mount in step["mounts"]])
    monkeypatch.setattr(procfs + "disk_usage", usage)
    running = [SimpleNamespace(name=lambda name=name: name) for name in step["processes"]]
    monkeypatch.setattr(procfs + "processes", lambda: running)
    monkeypatch.setattr(procfs + "net_counters", lambda: step["net"])


def functions(step: dict[str, Any]) -> dict[str, Any]:
    """``__salt__`` of a beacon."""
    mocks: dict[str, Any] = {"service.status": lambda name: step["services"][name]}
    mocks.update({f"status.{name}": lambda value=value: value for name, value in step["status"].items()})
    return mocks
