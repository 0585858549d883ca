"""``pushsalt wait``: the error of a target that was not restarted in time."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from pushsalt.errors import TargetError
from pushsalt.run import waiting


@pytest.mark.parametrize(
    "answers, kind, text",
    [
        (["a"], "timeout", "it was not restarted within 0.2 s"),
        ([], "connect_timeout", "not reachable after 0.2 s: no answer"),
    ],
    ids=["answered", "silent"],
)
async def test_the_last_attempt_may_have_too_little_time(
    monkeypatch: pytest.MonkeyPatch, answers: list[str], kind: str, text: str
) -> None:
    left = list(answers)

    async def boot(work: Any, began: float) -> tuple[str, bool]:
        if not left:
            await asyncio.sleep(60)
        return left.pop(), False

    monkeypatch.setattr(waiting, "_boot", boot)
    monkeypatch.setattr(waiting, "PAUSE", 0.01)
    reporter = SimpleNamespace(target_phase=lambda name, phase: None)
    work: Any = SimpleNamespace(reporter=reporter, name="t", target=SimpleNamespace(id="t"))
    with pytest.raises(TargetError) as caught:
        await waiting.wait_for(work, "reboot", 0.2)
    assert caught.value.kind == kind and text in caught.value.message
