"""The part of ``compile.py`` that runs in a fresh process: pushsalt's compiling, timed."""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from pushsalt.api import Client, JobOptions, Selection, Settings
from pushsalt.children.starter import load
from pushsalt.cli.__main__ import collect_rarely
from pushsalt.minion.minion import Minion


def main(request: dict[str, Any]) -> None:
    work, sls = Path(request["work"]), request["sls"].split(",")
    grains = json.loads(Path(request["grains"]).read_text())
    count = request.get("fleet") or 2
    client = _client(work, request["roots"], [_host(f"t{number}", grains, request, number) for number in range(count)])

    def low(*ids: str, **options: Any) -> list[Any]:
        """The low data of each target, compiled by one job."""
        project, low_data = client.project, []
        if "shared" in project.__dict__:
            project.shared.look_again()
        for id in ids:
            target = project.inventory.targets[id]
            minion = Minion(project, target, JobOptions(**options), dict(target.grains), None)
            low_data.append(minion.call("state.show_low_sls", [sls], {}))
        return low_data

    if request.get("fleet"):
        print(json.dumps({"fleet": [timed(lambda: low(*client.project.inventory.targets))]}))
        return
    seconds = {
        "first": [timed(lambda: low("t0"))],
        "later": [timed(lambda: low("t0")) for _ in range(request["rounds"])],
        "different": [timed(lambda: low("t1"))],
        "off": [timed(lambda: low("t0", render_cache=False)) for _ in range(request["rounds"])],
        "low": low("t0")[0],
    }
    print(json.dumps(seconds))


def timed(work: Callable[[], object]) -> dict[str, float]:
    began, cpu = time.perf_counter(), time.process_time()
    work()
    cost = {"wall": time.perf_counter() - began, "cpu": time.process_time() - cpu}
    return {**cost, "rss": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}


def _host(id: str, grains: dict[str, Any], request: dict[str, Any], number: int) -> tuple[str, dict[str, Any]]:
    """A target; every second one of two, and each of a fleet of different ones, has other values in what formulas
    read.
    """
    host = {"transport": "offline", "grains": {**grains, "id": id}}
    if request.get("different") or (number and not request.get("fleet")):
        pillar = (Path(request["work"]) / "pillar" / "formula.sls").read_text()
        keys = [line.partition(":")[0] for line in pillar.splitlines() if line[:1].isalpha() and ":" in line]
        host["grains"] |= {"osrelease": f"{number}", "kernelrelease": f"{number}", "oscodename": f"name{number}"}
        host["pillar"] = {key: {"benchmark": number} for key in keys}
    return id, host


def _client(work: Path, roots: str, hosts: list[tuple[str, dict[str, Any]]]) -> Client:
    """A client that has read everything that is not part of compiling."""
    inventory, config = work / "inventory.json", work / "pushsalt.yaml"
    inventory.write_text(json.dumps({"hosts": dict(hosts)}))
    folders = {"file_roots": {"base": [roots]}, "pillar_roots": {"base": [str(work / "pillar")]}}
    config.write_text(json.dumps(folders))
    client = Client(Settings(inventories=[inventory], config=config, cache_dir=work / "cache"))
    client.target(Selection("*"))
    load()
    collect_rarely()
    return client


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
