"""The course of a rollout: which targets begin, what stops it, and the errors of targets that did not begin."""

import asyncio

import pytest

from pushsalt.errors import FunctionError, TargetError, UsageError
from pushsalt.events import Reporter
from pushsalt.job import JobOptions
from pushsalt.model import TargetReturn
from pushsalt.run.rollout import Rollout, parse_call, settle
from pushsalt.run.stopping import Stopping

IDS = [f"t{number}" for number in range(10)]
FAILED = FunctionError("exception", "it broke", "see the message", "CommandExecutionError")
GONE = TargetError("connection_refused", "refused", "start sshd")


class Notes(Reporter):
    """Records the events of a rollout. ``answers``: the operator's answers between batches."""

    def __init__(self, answers=()):
        self.answers = list(answers)
        self.batches, self.waits, self.asked, self.warnings, self.sizes, self.done = [], [], [], [], [], []

    def run_batched(self, size):
        self.sizes.append(size)

    def batch_started(self, number, batches, ids):
        self.batches.append((number, batches, list(ids)))

    def batch_waits(self, seconds):
        self.waits.append(seconds)

    async def go_on(self, done):
        self.asked.append(done)
        return self.answers.pop(0)

    def warning(self, id, text):
        self.warnings.append(text)

    def target_done(self, result):
        self.done.append(result.id)


class Checked:
    """A batch check that reports these targets as failed, and records its calls."""

    def __init__(self, *unwell):
        self.unwell, self.asked = unwell, []

    async def failures(self, ids):
        self.asked.append(list(ids))
        return {id: "test.ping: returned False" for id in ids if id in self.unwell}


def course_of(options, opts=None, ids=IDS, values=None):
    return settle(JobOptions(**options), opts or {}, ids, lambda keys, ids: values)


async def roll(course, troubles=None, notes=None, check=None, stop_at=None):
    """The returns by id, in order of arrival, the ids that began, and the events."""
    begun, stop, notes = [], Stopping(), notes or Notes()

    async def run_one(id):
        begun.append(id)
        if id == stop_at:
            stop.stop()
        await asyncio.sleep(0)
        if troubles and id in troubles:
            raise troubles[id]
        return TargetReturn(id, True)

    rollout = Rollout(course, run_one, notes, stop, check)
    results = {result.id: result async for result in rollout.returns()}
    assert sorted(results) == sorted(id for batch in course.batches for id in batch), "every target has one return"
    assert sorted(notes.done) == sorted(results)
    return results, begun, notes


def kinds(results):
    return {id: result.ret["error"]["kind"] for id, result in results.items() if isinstance(result.ret, dict)}


def left_out(results):
    return [id for id, kind in kinds(results).items() if kind == "not_begun"]


async def test_steps_are_done_before_the_next_begins():
    course = course_of({"batch": "1,20%,50%"})
    at_work, peak = set(), []

    async def run_one(id):
        at_work.add(id)
        peak.append(sorted(at_work))
        await asyncio.sleep(0.001 if id == "t1" else 0)
        at_work.discard(id)
        return TargetReturn(id, True)

    notes = Notes()
    results = [result.id async for result in Rollout(course, run_one, notes, Stopping()).returns()]
    assert sorted(results) == IDS
    assert [(number, of, len(ids)) for number, of, ids in notes.batches] == [(1, 4, 1), (2, 4, 2), (3, 4, 5), (4, 4, 2)]
    for _, _, ids in notes.batches:
        assert all(set(together) <= set(ids) for together in peak if set(together) & set(ids))


async def test_one_size_is_a_window_as_in_salt():
    course = course_of({"batch": "3"})
    _, begun, notes = await roll(course)
    assert begun == IDS and notes.batches == [] and notes.sizes == [3]
    assert course.width == 3 and not course.has_ends


@pytest.mark.parametrize(
    "options, troubles, left",
    [
        ({"max_fail": "1"}, {"t1": FAILED}, 8),
        ({"max_fail": "2"}, {"t1": FAILED, "t3": GONE}, 6),
        ({"max_fail": "20%"}, {"t1": FAILED, "t3": GONE}, 6),
        ({"max_fail": "15%"}, {"t1": FAILED, "t3": GONE}, 6),  # of ten, 1.5: after the second failure
        ({"max_fail": "11%"}, {"t1": FAILED}, 0),
        ({"max_fail": "10%"}, {"t1": FAILED}, 8),
        ({"max_fail": "3"}, {"t1": FAILED, "t3": GONE}, 0),
        ({"max_fail": "100%"}, dict.fromkeys(IDS, FAILED), 0),
        ({"fail_fast": True}, {"t4": GONE}, 5),
        ({}, dict.fromkeys(IDS, FAILED), 0),  # as in Salt
        ({"max_fail": "1", "ignore_unreachable": True}, {"t1": GONE, "t4": FAILED}, 5),
        ({"max_fail": "1", "ignore_unreachable": True}, {"t1": GONE}, 0),
        ({"max_fail": "1", "ignore_unreachable": True}, {"t1": TargetError("auth_failed", "x", "y")}, 8),
    ],
)
async def test_failures_stop_it(options, troubles, left):
    results, begun, notes = await roll(course_of({"batch": "1", **options}), troubles)
    assert len(left_out(results)) == left and len(begun) == 10 - left
    assert left_out(results) == IDS[10 - left :]
    assert bool(notes.warnings) == bool(left)
    failed = any(trouble is FAILED for id, trouble in troubles.items() if id in begun)
    assert {results[id].exit_code for id in left_out(results)} <= {2 if failed else 3}


async def test_running_targets_are_finished():
    """After the limit is reached, running targets continue to their end."""
    results, begun, _ = await roll(course_of({"batch": "3", "max_fail": "1"}), {"t0": FAILED})
    assert begun == ["t0", "t1", "t2"]
    assert results["t1"].ret is True and results["t2"].ret is True
    assert left_out(results) == IDS[3:]


async def test_messages_of_a_stopped_rollout():
    results, _, notes = await roll(course_of({"batch": "1", "max_fail": "2"}), {"t1": FAILED, "t3": GONE})
    assert notes.warnings == [
        "the rollout was stopped: 1 target failed and 1 gave no answer (--max-fail 2); 6 targets were not begun"
    ]
    error = results["t9"].ret["error"]
    assert error["message"] == "t9: not begun: 1 target failed and 1 gave no answer (--max-fail 2)"
    assert error["hint"] and results["t9"].shape == "error"


@pytest.mark.parametrize("trouble, code", [(FAILED, 2), (GONE, 3)])
async def test_a_batch_in_which_all_targets_fail_ends_the_steps(trouble, code):
    results, begun, notes = await roll(course_of({"batch": "2,5"}), {"t0": trouble, "t1": trouble})
    assert begun == ["t0", "t1"] and len(left_out(results)) == 8
    assert "all 2 targets of a batch failed or gave no answer" in notes.warnings[0]
    assert results["t9"].exit_code == code
    _, begun, _ = await roll(course_of({"batch": "2,5"}), {"t0": trouble})
    assert len(begun) == 10
    _, begun, _ = await roll(course_of({"batch": "2,5", "max_fail": "50%"}), {"t0": trouble, "t1": trouble})
    assert len(begun) == 10


async def test_an_unreachable_batch_is_not_failed_if_unreachable_targets_do_not_count():
    course = course_of({"batch": "2,5", "ignore_unreachable": True})
    results, begun, _ = await roll(course, {"t0": GONE, "t1": GONE})
    assert len(begun) == 10 and results["t0"].exit_code == 3


async def test_only_successful_targets_are_checked():
    check = Checked("t3")
    course = course_of({"batch": "3", "batch_check": "test.ping", "max_fail": "2"})
    results, _, _ = await roll(course, {"t1": FAILED}, check=check)
    assert check.asked == [["t0", "t2"], ["t3", "t4", "t5"]]
    assert (results["t3"].ret, results["t3"].exit_code, results["t3"].retcode) == (True, 2, 1)
    assert results["t3"].check == "test.ping: returned False" and results["t4"].check == ""
    assert left_out(results) == IDS[6:]


async def test_the_last_batch_is_checked_too():
    check = Checked("t9")
    results, _, _ = await roll(course_of({"batch_check": "test.ping"}), check=check)
    assert check.asked == [IDS] and results["t9"].exit_code == 2


async def test_a_batch_without_successful_targets_is_not_checked():
    check = Checked()
    await roll(course_of({"batch_check": "test.ping"}), dict.fromkeys(IDS, FAILED), check=check)
    assert check.asked == []


@pytest.mark.parametrize("answers, begun", [([True, True], 10), ([True, False], 6), ([False], 2)])
async def test_the_operator_is_asked_between_batches(answers, begun):
    course = course_of({"batch": "2,4", "confirm": True})
    results, ids, notes = await roll(course, {"t1": FAILED}, Notes(answers))
    assert ids == IDS[:begun] and len(left_out(results)) == 10 - begun
    first = notes.asked[0]
    assert (first.number, first.batches, first.done, first.targets) == (1, 3, 2, 10)
    assert (first.failed, first.unanswered, first.next_ids) == (1, 0, tuple(IDS[2:6]))
    if begun < 10:
        assert results["t9"].exit_code == 3 and "operator did not go on" in notes.warnings[0]


async def test_one_size_has_ends_when_somebody_is_asked():
    notes = Notes([True] * 4)
    await roll(course_of({"batch": "2", "confirm": True}), notes=notes)
    assert len(notes.asked) == 4 and len(notes.batches) == 5


async def test_the_next_batch_waits(monkeypatch):
    slept, sleep = [], asyncio.sleep

    async def note(seconds):
        slept.append(seconds)
        await sleep(0)

    monkeypatch.setattr(asyncio, "sleep", note)
    _, _, notes = await roll(course_of({"batch": "2,4", "batch_wait": 7.0}))
    assert [seconds for seconds in slept if seconds] == [7.0, 7.0] == notes.waits


async def test_stopping_in_mid_rollout():
    course = course_of({"batch": "2,4", "batch_wait": 60.0, "batch_check": "test.ping"})
    check = Checked()
    results, begun, notes = await roll(course, stop_at="t1", check=check)
    assert begun == ["t0", "t1"] and notes.waits == [] and notes.warnings == []
    assert {kinds(results)[id] for id in IDS[2:]} == {"interrupted"}


async def test_stopping_while_it_waits():
    course = course_of({"batch": "5,5", "batch_wait": 3600.0})
    stop, notes = Stopping(), Notes()
    notes.batch_waits = lambda seconds: stop.stop()

    async def run_one(id):
        return TargetReturn(id, True)

    results = {result.id: result async for result in Rollout(course, run_one, notes, stop).returns()}
    assert set(kinds(results)) == set(IDS[5:]) and set(kinds(results).values()) == {"interrupted"}


async def test_leaving_early_cancels_running_targets():
    cancelled = []

    async def run_one(id):
        if id == "t0":
            return TargetReturn(id, True)
        try:
            await asyncio.sleep(60)
        finally:
            cancelled.append(id)

    returns = Rollout(course_of({"batch": "3"}), run_one, Reporter(), Stopping()).returns()
    async for _ in returns:
        break
    await returns.aclose()
    assert sorted(cancelled) == ["t1", "t2"] or sorted(cancelled) == ["t1", "t2", "t3"]


def test_values_keep_targets_apart():
    values = {id: {f"rack={number % 2}"} for number, id in enumerate(IDS)}
    asked = []
    course = settle(
        JobOptions(batch="1,4", batch_by=("grain:rack", " grain:a:b")),
        {},
        IDS,
        lambda keys, ids: asked.append((keys, ids)) or values,
    )
    assert asked == [(["rack", "a:b"], IDS)]
    assert [len(batch) for batch in course.batches] == [1, 2, 2, 2, 2, 1]
    assert course_of({"batch_by": ("grain:rack",)}, values=values).batches == [IDS]


# --- the configuration ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options, opts, width",
    [
        ({}, {}, 50),
        ({}, {"batch": "3"}, 3),
        ({"batch": "4"}, {"batch": "3"}, 4),
        ({}, {"batch": "20%"}, 2),
        ({}, {"batch_safe_limit": 10, "batch_safe_size": "20%"}, 2),
        ({}, {"batch_safe_limit": 11, "batch_safe_size": "20%"}, 50),
        ({}, {"batch_safe_limit": 5}, 1),  # Salt's 8 %
        ({"batch_safe_limit": 5, "batch_safe_size": "4"}, {}, 4),
        ({"batch": "6"}, {"batch_safe_limit": 5, "batch_safe_size": "2"}, 6),
        ({"concurrency": 2, "batch": "5"}, {}, 2),
    ],
)
def test_sizes_of_salts_configuration(options, opts, width):
    assert course_of(options, opts).width == width


@pytest.mark.parametrize(
    "options, opts, most",
    [
        ({"batch": "2"}, {"failhard": True}, 1),
        ({}, {"failhard": True}, None),  # Salt checks it between batches only
        ({"batch": "2", "max_fail": "3"}, {"failhard": True}, 3),
        ({"batch": "2"}, {"failhard": False}, None),
        ({}, {"failhard": True, "batch": "2"}, 1),
    ],
)
def test_failhard(options, opts, most):
    assert course_of(options, opts).most == most


def test_batch_wait_of_the_configuration():
    assert course_of({"batch": "2"}, {"batch_wait": 5}).wait == 5.0
    assert course_of({"batch": "2", "batch_wait": 0.0}, {"batch_wait": 5}).wait == 0.0


# --- bad input --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options, opts, words",
    [
        ({"batch": "0"}, {}, "--batch: '0' is out of range"),
        ({"batch": "1,x"}, {}, "--batch: 'x' is neither"),
        ({}, {"batch": "many"}, "`batch` of the configuration: 'many' is neither"),
        ({}, {"batch_safe_limit": 1, "batch_safe_size": "x"}, "batch_safe_size: 'x' is neither"),
        ({"batch_safe_size": "x"}, {}, "--batch-safe-size: 'x' is neither"),
        ({"max_fail": "0%"}, {}, "--max-fail: '0%' is out of range"),
        ({"max_fail": "-1"}, {}, "--max-fail: '-1' is neither"),
        ({"max_fail": "200%"}, {}, "--max-fail: '200%' is out of range"),
        ({"max_fail": "1", "fail_fast": True}, {}, "--fail-fast and --max-fail contradict"),
        ({"batch_by": ("rack",)}, {}, "--batch-by: 'rack' does not name a grain"),
        ({"batch_by": ("pillar:rack",)}, {}, "--batch-by: 'pillar:rack' does not name a grain"),
        ({"batch_by": ("grain:",)}, {}, "--batch-by: 'grain:' does not name a grain"),
        ({"batch_check": ""}, {}, "--batch-check: '' is no function"),
        ({"batch_check": "ping"}, {}, "--batch-check: 'ping' is no function"),
        ({"batch_check": "cmd.run 'true"}, {}, "--batch-check: .* cannot be read: No closing quotation"),
        ({"batch_check_timeout": 3.0}, {}, "--batch-check-timeout without --batch-check"),
    ],
)
def test_bad_options(options, opts, words):
    with pytest.raises(UsageError, match=words) as caught:
        course_of(options, opts)
    assert caught.value.hint


def test_the_call_of_a_check():
    call = parse_call("cmd.run 'curl -f http://localhost' timeout=5 python_shell=True")
    assert (call.fun, call.args) == ("cmd.run", ["curl -f http://localhost"])
    assert call.kwargs == {"timeout": 5, "python_shell": True}
