"""Every target gets exactly one return: failures, limits, order and interrupts."""

import asyncio

import pytest

from pushsalt.errors import FunctionError, StateError, TargetError, UsageError
from pushsalt.job import JobOptions
from pushsalt.model import TargetReturn
from pushsalt.run.fanout import fan_out
from pushsalt.run.pace import Window
from pushsalt.run.stopping import Stopping


async def collect(ids, run_one, width=3, stop=None, **kwargs):
    returns = fan_out(Window(ids, width), run_one, stop or Stopping(), **kwargs)
    return [result async for some in returns for result in some]


async def test_every_failure_becomes_a_return():
    troubles = {
        "a": TargetError("dns_failure", "a: no such name", "check it"),
        "b": FunctionError("unknown_function", "'x.y' is not available.", "did you mean x.z?", "CommandExecutionError"),
        "c": StateError(["one", "two"]),
        "d": ZeroDivisionError("division by zero"),
        "e": UsageError("bad words"),
    }

    async def run_one(id):
        if id in troubles:
            raise troubles[id]
        return TargetReturn(id, True)

    results = {result.id: result for result in await collect("abcdef", run_one)}
    assert results["a"].ret == {"error": {"kind": "dns_failure", "message": "a: no such name", "hint": "check it"}}
    assert results["b"].ret["error"]["exception"] == "CommandExecutionError"
    assert results["c"].ret == ["one", "two"]
    assert results["d"].ret["error"]["kind"] == "internal"
    assert results["e"].ret["error"]["kind"] == "exception"
    assert results["f"].ret is True
    assert {id: result.exit_code for id, result in results.items()} == {"a": 3, "b": 2, "c": 2, "d": 3, "e": 2, "f": 0}


async def test_width_and_order():
    now, peak, started = 0, 0, []

    async def run_one(id):
        nonlocal now, peak
        started.append(id)
        now += 1
        peak = max(peak, now)
        await asyncio.sleep(0.001)
        now -= 1
        return TargetReturn(id, True)

    ids = [f"t{number:02}" for number in range(20)]
    results = await collect(ids, run_one, width=4)
    assert peak == 4
    assert started == ids
    assert sorted(result.id for result in results) == ids


async def test_stop_gives_every_target_a_return():
    stop = Stopping()

    async def run_one(id):
        if id == "quick":
            return TargetReturn(id, 1)
        stop.stop()
        await asyncio.sleep(60)
        raise AssertionError

    results = {result.id: result for result in await collect(["quick", "slow", "later"], run_one, width=2, stop=stop)}
    assert results["quick"].ret == 1
    assert [results[id].ret["error"]["kind"] for id in ("slow", "later")] == ["interrupted", "interrupted"]


async def test_stop_while_a_return_is_processed():
    """The interrupt arrives while no code waits for it: running targets are cancelled all the same."""
    stop = Stopping()

    async def run_one(id):
        await asyncio.sleep(0 if id == "quick" else 60)
        return TargetReturn(id, 1)

    kinds = {}
    async for [result] in fan_out(Window(["quick", "slow"], 2), run_one, stop):
        stop.stop()
        await asyncio.sleep(0)
        kinds[result.id] = result.ret if result.ret == 1 else result.ret["error"]["kind"]
    assert kinds == {"quick": 1, "slow": "interrupted"}


async def test_no_more_begin_when_they_may_not():
    begun = []

    async def run_one(id):
        begun.append(id)
        return TargetReturn(id, True)

    window = Window("abcdef", 2)
    returns = fan_out(window, run_one, Stopping(), may_begin=lambda: len(begun) < 2)
    results = [result.id async for some in returns for result in some]
    assert results == ["a", "b"] == begun
    assert window.rest() == ["c", "d", "e", "f"]


async def test_the_place_of_a_finished_target_is_free_after_a_delay(monkeypatch):
    """Salt's ``batch_wait``: the place of a finished target is free after a delay."""
    slept, begun, sleep = [], [], asyncio.sleep

    async def note(seconds):
        slept.append((seconds, list(begun)))
        await sleep(0)

    async def run_one(id):
        begun.append(id)
        return TargetReturn(id, True)

    monkeypatch.setattr(asyncio, "sleep", note)
    results = await collect("abcd", run_one, 2, wait=5.0)
    assert sorted(result.id for result in results) == list("abcd")
    assert slept[0] == (5.0, ["a", "b"]) and {seconds for seconds, _ in slept} == {5.0}
    assert len(slept) == 2  # no target waits after the last ones


def test_bad_concurrency():
    with pytest.raises(UsageError, match="--concurrency"):
        _ = JobOptions(concurrency=0).width
