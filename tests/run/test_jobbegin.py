"""Targets that begin while the job is being recorded: what they do before that is done."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from pushsalt.api import Client, JobOptions, Selection, Settings
from pushsalt.events import Reporter
from pushsalt.model import TargetReturn
from pushsalt.run.jobbegin import begun
from pushsalt.run.observers import Observers
from tests.beds.project import Project


class Parts:
    """A job whose record takes long, and whose only target waits for it, in the order of what happens."""

    def __init__(self) -> None:
        self.order: list[str] = []
        self.recorded = asyncio.Event()
        self.jid = "1"
        self.fails: Exception | None = None

    async def job_begins(self, start: Any) -> None:
        self.order.append("told")
        await asyncio.sleep(0.05)
        if self.fails is not None:
            raise self.fails
        self.order.append("recorded")

    async def returns(self) -> AsyncGenerator[TargetReturn, None]:
        self.order.append("begins")
        try:
            await self.recorded.wait()
            self.order.append("runs")
            yield TargetReturn("a", True)
            yield TargetReturn("b", True)
        finally:
            self.order.append("ended")

    async def run(self, early: bool) -> list[str]:
        parts: Any = self
        said = self.order.append
        ids = [each.id async for each in begun(parts, parts, parts, parts, lambda jid: said("said"), early=early)]
        return ids


@pytest.mark.parametrize(
    "early, order",
    [
        (True, ["told", "begins", "recorded", "said", "runs", "ended"]),
        (False, ["told", "recorded", "said", "begins", "runs", "ended"]),
    ],
)
def test_targets_begin_while_the_job_is_recorded(early: bool, order: list[str]) -> None:
    async def main() -> None:
        parts = Parts()
        assert await parts.run(early) == ["a", "b"]
        assert parts.order == order

    asyncio.run(main())


def test_targets_that_have_begun_end_when_the_job_cannot_begin() -> None:
    async def main() -> None:
        parts = Parts()
        parts.fails = RuntimeError("no")
        with pytest.raises(RuntimeError, match="no"):
            await parts.run(early=True)
        assert parts.order == ["told", "begins", "ended"]

    asyncio.run(main())


JOBS = {
    "apply": lambda client, mark: client.stream_apply(Selection("here"), ["touch"], JobOptions()),
    "run": lambda client, mark: client.stream_run(Selection("here"), "cmd.run", [f"touch {mark}"], {}, JobOptions()),
    "raw": lambda client, mark: client.stream_raw(Selection("here"), f"touch {mark}", JobOptions()),
}


class Phases(Reporter):
    """The phases of all targets so far."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def target_phase(self, id: str, phase: str) -> None:
        self.seen.append(phase)


@pytest.mark.slow
@pytest.mark.parametrize("kind, last", [("apply", "bootstrap"), ("run", "connect"), ("raw", "connect")])
def test_nothing_runs_on_a_target_before_the_job_is_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, last: str
) -> None:
    """``last``: what the target has done by then at least."""
    made = Project(tmp_path, {"here": {"transport": "local"}})
    mark, phases = tmp_path / "ran", Phases()
    made.files({"salt/touch.sls": f"touch {mark}:\n  cmd.run: []\n"})
    before: list[tuple[bool, bool]] = []
    job_begins = Observers.job_begins

    async def slow(self: Observers, job: Any) -> None:
        await job_begins(self, job)
        end = time.monotonic() + 60
        while last not in phases.seen and time.monotonic() < end:
            await asyncio.sleep(0.02)
        await asyncio.sleep(0.5)
        before.append((last in phases.seen, mark.exists() or "run" in phases.seen))

    monkeypatch.setattr(Observers, "job_begins", slow)

    async def main() -> list[TargetReturn]:
        settings = Settings([made.folder / "inventory.yaml"], made.folder / "pushsalt.yaml", cache_dir=made.cache)
        return [each async for each in JOBS[kind](Client(settings, phases), mark)]

    (returned,) = asyncio.run(main())
    assert returned.exit_code == 0, returned.ret
    assert before == [(True, False)]
    assert mark.exists()
