"""The batch check: success, repetition, and a check that hangs."""

import asyncio

import pytest

from pushsalt.model import TargetReturn
from pushsalt.run.batchcheck import BatchCheck, verdict

STATE = "test_|-x_|-x_|-fail"


def error(kind, message="a: it broke"):
    return {"error": {"kind": kind, "message": message, "hint": "h"}}


@pytest.mark.parametrize(
    "result, why",
    [
        (TargetReturn("a", True), ""),
        (TargetReturn("a", None), ""),
        (TargetReturn("a", ""), ""),
        (TargetReturn("a", 0), ""),  # the return of cmd.retcode after success
        (TargetReturn("a", {}), ""),
        (TargetReturn("a", False), "returned False"),
        (TargetReturn("a", "down\nfor now", exit_code=2, retcode=3), "exit status 3: down for now"),
        (TargetReturn("a", "", exit_code=2, retcode=1), "exit status 1"),
        (TargetReturn("a", error("exception"), "error", 2), "it broke"),
        (TargetReturn("a", ["no such SLS"], "errors", 2), "no such SLS"),
        (TargetReturn("a", {STATE: {"result": False, "comment": "Failure!"}}, "states", 2), "Failure!"),
    ],
)
def test_verdicts(result, why):
    assert verdict(result) == (why, False)


def test_long_answers_are_cut():
    why, _ = verdict(TargetReturn("a", "x" * 10_000, exit_code=2, retcode=1))
    assert len(why) < 600 and why.endswith(" ...")


def check(ask, timeout=5.0, width=10, redact=str):
    return BatchCheck(ask, "web.is_up", timeout, width, redact, pause=0.0)


async def test_the_check_is_repeated_until_it_succeeds():
    answers = {"a": [False, False, True], "b": [True]}

    async def ask(id, seconds):
        return TargetReturn(id, answers[id].pop(0))

    assert await check(ask).failures(["a", "b"]) == {}
    assert answers == {"a": [], "b": []}


async def test_the_check_has_a_time_limit():
    calls = []

    async def ask(id, seconds):
        calls.append(seconds)
        await asyncio.sleep(0.01)
        return TargetReturn(id, False)

    assert await check(ask, timeout=0.05).failures(["a"]) == {"a": "web.is_up: returned False"}
    assert calls == sorted(calls, reverse=True) and len(calls) > 1  # each has the remaining time


async def test_a_check_that_hangs():
    cancelled = []

    async def ask(id, seconds):
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.append(id)
            return TargetReturn(id, True)  # the return of a cancelled job is not an answer

    found = await check(ask, timeout=0.02).failures(["a", "b"])
    assert found == dict.fromkeys("ab", "web.is_up: no answer after 0.02 s")
    assert sorted(cancelled) == ["a", "b"]


async def test_permanent_failures_are_not_tried_again():
    calls = []

    async def ask(id, seconds):
        calls.append(id)
        return TargetReturn(id, error("unknown_function", "'web.is_up' is not available."), "error", 2)

    assert await check(ask).failures(["a"]) == {"a": "web.is_up: 'web.is_up' is not available."}
    assert calls == ["a"]


async def test_a_check_that_raises():
    async def ask(id, seconds):
        raise ZeroDivisionError("division by zero")

    found = await check(ask, timeout=0.0).failures(["a"])
    assert "no answer" in found["a"] or "ZeroDivisionError" in found["a"]


async def test_the_number_of_concurrent_calls_is_limited():
    now, peak = 0, 0

    async def ask(id, seconds):
        nonlocal now, peak
        now += 1
        peak = max(peak, now)
        await asyncio.sleep(0)
        now -= 1
        return TargetReturn(id, True)

    await check(ask, width=2).failures("abcdef")
    assert peak == 2


async def test_secrets_are_hidden():
    async def ask(id, seconds):
        return TargetReturn(id, "token hunter2", exit_code=2, retcode=1)

    found = await check(ask, timeout=0.0, redact=lambda text: text.replace("hunter2", "**")).failures(["a"])
    assert "hunter2" not in str(found)


async def test_being_stopped_cancels_the_calls():
    cancelled = []

    async def ask(id, seconds):
        try:
            await asyncio.sleep(60)
        finally:
            cancelled.append(id)

    task = asyncio.create_task(check(ask, timeout=60).failures(["a", "b"]))
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    for _ in range(5):
        await asyncio.sleep(0)
    assert sorted(cancelled) == ["a", "b"]
