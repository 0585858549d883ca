"""A project with one target, this machine, used by the API: faster than whole commands."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pushsalt.api import Client, JobOptions, Selection, Settings
from pushsalt.planning.planfile import PlanFile
from pushsalt.run.recording import Recorder
from tests.planning.trees import BINARY

HERE = Selection("here")


@dataclass
class Bed:
    """A project with one target, this machine."""

    folder: Path

    def __post_init__(self) -> None:
        for name in ("salt/tree/sub", "pillar"):
            (self.folder / name).mkdir(parents=True)
        self.write(
            "pushsalt.yaml", json.dumps({"file_roots": {"base": ["salt"]}, "pillar_roots": {"base": ["pillar"]}})
        )
        self.write("inventory.yaml", json.dumps({"hosts": {"here": {"transport": "local"}}}))
        self.write("salt/plain.txt", "one\ntwo\nthree\n")
        self.write("salt/words.jinja", "{{ grains.id }} and {{ name }}\n")
        self.write("salt/asks.jinja", "{{ salt['file.file_exists'](path) }}\n")
        (self.folder / "salt/binary").write_bytes(BINARY + b"more")
        self.write("salt/tree/one", "one of a tree\n")
        self.write("salt/tree/sub/two", "two\n")
        self.client = Client(Settings(config=self.folder, cache_dir=self.folder / "cache"))

    def write(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text)

    def plan(self, sls: str) -> Any:
        return self._only(self.client.apply(HERE, [sls], JobOptions(test=True, plan=True)))

    def apply(self, sls: str) -> Any:
        return self._only(self.client.apply(HERE, [sls]))

    def planned(self, sls: str) -> tuple[Any, PlanFile]:
        """The plan, and what a plan file has of it."""
        recorder = Recorder()

        async def planning() -> Any:
            [ret] = [ret async for ret in self.client.stream_plan(HERE, [sls], JobOptions(), recorder)]
            return ret.ret

        ret = asyncio.run(planning())
        recorder.plan.made["options"] = dict.fromkeys(("pillar", "saltenv", "pillarenv"))
        return ret, recorder.plan

    def apply_planned(self, plan: PlanFile, accept_drift: bool = False, **options: Any) -> Any:
        """The returns of a plan that is applied."""

        async def applying() -> Any:
            stream = self.client.stream_planned(plan, JobOptions(**options), accept_drift)
            [ret] = [ret async for ret in stream]
            return ret.ret

        return asyncio.run(applying())

    def _only(self, returns: dict[str, Any]) -> Any:
        return returns["here"].ret
