"""Frames of states that the supervisor leaves out: the start of a state whose return follows at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pushsalt.errors import TargetError
from pushsalt.session.start import LockRequest, Start
from pushsalt.session.survival import Reconnect
from thin import surviving, wire

RET = {"name": "a", "result": True, "changes": {}, "comment": ""}


def frame(**message: Any) -> bytes:
    return bytes(wire.frame(b"M", wire.pack(message)))


START = frame(k="start", tag="test_|-a_|-a_|-nop")
STATE = frame(k="state", tag="test_|-a_|-a_|-nop", ret=RET)


@pytest.mark.parametrize(
    "follows, has",
    [
        (STATE, True),
        (frame(k="state", tag="test_|-a_|-a_|-nop", ret=RET, detail={"x": 1}), True),
        (STATE[:60], True),  # the rest of the return is on its way
        (STATE[:12], False),
        (b"", False),
        (frame(k="state", tag="test_|-a_|-a_|-nop2", ret=RET), False),
        (frame(k="state", tag="test_|-a_|-b_|-nop", ret=RET), False),
        (frame(k="log", level="info", text="x", time=1.0), False),
        (START, False),
    ],
)
def test_the_return_of_a_state_makes_its_start_superfluous(follows: bytes, has: bool) -> None:
    assert surviving._has_returned(bytearray(START + follows), len(START)) is has
    assert not surviving._has_returned(bytearray(STATE + STATE), len(STATE))


@pytest.mark.slow
async def test_of_quick_states_only_the_returns_are_sent_and_of_slow_ones_the_start_too(
    open_session: Any, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    events: list[tuple[str, str]] = []

    async def never() -> Any:
        raise TargetError("unreachable", "here: gone", "-")

    def chunk(number: int, state: str, fun: str, name: str) -> dict[str, Any]:
        return {"state": state, "fun": fun, "__id__": f"s{number}", "__sls__": "x", "__env__": "base", "name": name}

    def on_event(message: dict[str, Any]) -> None:
        events.append((message["k"], message["tag"].split("_|-")[1]))
        if events[-1] == ("start", "s40"):
            gate.touch()

    session = await open_session(
        start=Start(lock=LockRequest("me", 20), job="20261128120000000001", reconnect=5.0),
        reconnect=Reconnect(5, never),
        on_event=on_event,
    )
    chunks = [chunk(number, "test", "nop", f"n{number}") for number in range(40)]
    chunks.append(chunk(40, "cmd", "run", f"while ! test -e {gate}; do sleep 0.05; done"))
    plan = {"chunks": chunks, "test": False, "mock": False, "files": {}, "templates": {}, "wants": []}
    await session.run(plan, {}.__getitem__)
    assert [id for kind, id in events if kind == "state"] == [f"s{number}" for number in range(41)]
    starts = [id for kind, id in events if kind == "start"]
    assert "s40" in starts, "the slow state waits until its start has come"
    assert len(starts) < 35, "frames of quick states are sent together"
