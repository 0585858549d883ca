"""The outcome of orchestration steps from the answers of targets. Comparison with real Salt is by hand."""

from __future__ import annotations

import pytest

from thin.utils import orchestration

GOOD = {"ret": {"t": {"result": True, "changes": {}}}}
CHANGED = {"ret": {"t": {"result": True, "changes": {"a": 1}}}}
BAD = {"ret": {"t": {"result": False, "changes": {}}}}
GONE = {"failed": True}


@pytest.mark.parametrize(
    "given, fun, arg",
    [
        ((True, None, "a"), "state.highstate", []),
        ((None, "night.sls", None), "state.top", ["night.sls"]),
        ((None, None, ["a", "b"]), "state.sls", ["a,b"]),
        ((None, None, None), None, []),
    ],
)
def test_the_function_of_a_state_step(given, fun, arg):
    assert orchestration.state_function(*given) == (fun, arg)


@pytest.mark.parametrize(
    "returns, good",
    [
        ({}, False),
        (["error"], False),
        (GOOD["ret"], True),
        (BAD["ret"], False),
        ({"web1": GOOD["ret"], "web2": BAD["ret"]}, False),
        ({"t": {"result": None}}, True),
    ],
)
def test_success(returns, good):
    assert orchestration.succeeded(returns) is good


def test_targets_without_changes_are_named_apart():
    outcome = orchestration.states_outcome({"a": GOOD, "b": CHANGED}, [], 0)
    assert outcome["result"] is True
    assert outcome["comment"] == "States ran successfully. Updating b. No changes made to a."
    assert outcome["changes"] == {"out": "highstate", "ret": {"b": CHANGED["ret"]}}


def test_failures_are_explained():
    answers = {"a": BAD, "b": GONE, "c": {"ret": ["first", "second"]}, "d": {"ret": False}}
    outcome = orchestration.states_outcome(answers, [], 0)
    assert outcome["result"] is False
    assert outcome["comment"].split("\n") == [
        "Run failed on minions: a, b, c, d",
        "Minion b did not return a state result.",
        "Minion c returned errors: first; second",
        "Minion d returned False instead of a state result.",
    ]


@pytest.mark.parametrize("may_fail, allowed, good", [([], 0, False), (["a"], 0, True), ([], 1, True)])
def test_failures_that_may_be(may_fail, allowed, good):
    assert orchestration.states_outcome({"a": BAD}, may_fail, allowed)["result"] is good


def test_a_retcode_is_a_failure_even_where_failing_is_allowed():
    outcome = orchestration.function_outcome("cmd.run", {"a": {"ret": "x", "retcode": 3}}, ["a"], None)
    assert outcome["result"] is False and "failed on minions: a" in outcome["comment"]


def test_a_judge_decides():
    assert orchestration.function_outcome("f.g", {"a": {"ret": 1}}, [], bool)["result"] is True
    assert orchestration.function_outcome("f.g", {"a": {"ret": 0}}, [], bool)["result"] is False


def test_no_target_answered():
    outcome = orchestration.function_outcome("test.ping", {}, [], None)
    assert outcome == {"result": False, "comment": "No minions responded", "changes": {}}


def test_calls_of_parallel_runners():
    assert orchestration.runner_call("test.ping", None) == {"name": "test.ping", "kwarg": {}}
    given = [{"name": "state.orchestrate"}, {"kwarg": {"mods": "a"}}]
    assert orchestration.runner_call("left", given) == {"name": "state.orchestrate", "kwarg": {"mods": "a"}}


def test_one_of_the_parallel_runners_failed():
    outputs = {"left": {"outputter": "highstate", "data": {}, "retcode": 1}, "right": {"outputter": "highstate"}}
    outcome = orchestration.parallel_outcome(outputs)
    assert outcome["result"] is False and outcome["comment"] == "Runner left failed."


def test_the_job_of_a_step():
    assert orchestration.jid_of({"a": dict(GOOD, jid="1"), "b": dict(BAD, jid="1")}) == {"__jid__": "1"}
    assert orchestration.jid_of({"a": GOOD}) == orchestration.jid_of({}) == {}
