"""Every target gets exactly one return: failures, limits, order and being stopped."""

import asyncio

import pytest

from pushsalt.errors import FunctionError, StateError, TargetError, UsageError
from pushsalt.events import Reporter
from pushsalt.job import JobOptions
from pushsalt.model import TargetReturn
from pushsalt.run.fanout import fan_out


async def collect(ids, run_one, width=3, stop=None):
    return [result async for result in fan_out(ids, run_one, width, Reporter(), stop or asyncio.Event())]


async def test_all_trouble_becomes_a_return():
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
    stop = asyncio.Event()

    async def run_one(id):
        if id == "quick":
            return TargetReturn(id, 1)
        stop.set()
        await asyncio.sleep(60)
        raise AssertionError

    results = {result.id: result for result in await collect(["quick", "slow", "later"], run_one, width=2, stop=stop)}
    assert results["quick"].ret == 1
    assert [results[id].ret["error"]["kind"] for id in ("slow", "later")] == ["interrupted", "interrupted"]


@pytest.mark.parametrize(
    "options, total, width",
    [
        (JobOptions(concurrency=7), 100, 7),
        (JobOptions(batch="3"), 100, 3),
        (JobOptions(batch="20%"), 10, 2),
        (JobOptions(batch="1%"), 10, 1),
        (JobOptions(batch="50%", concurrency=2), 10, 2),
    ],
)
def test_width_of_options(options, total, width):
    assert options.width(total) == width


@pytest.mark.parametrize("batch", ["0", "x", "-1", "120%", "5.5", ""])
def test_bad_batch(batch):
    with pytest.raises(UsageError, match="--batch"):
        JobOptions(batch=batch).width(10)


def test_bad_concurrency():
    with pytest.raises(UsageError, match="--concurrency"):
        JobOptions(concurrency=0).width(10)
