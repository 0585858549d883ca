"""The outcome of orchestration steps from the answers of targets. Comparison with real Salt is by hand."""

from __future__ import annotations

import pytest

from thin.utils import orchestration

GOOD = {"ret": {"t": {"result": True, "changes": {}}}}
CHANGED = {"ret": {"t": {"result": True, "changes": {"a": 1}}}}
BAD = {"ret": {"t": {"result": False, "changes": {}}}}
UNREACHABLE = {"failed": True}


@pytest.mark.parametrize(
    "step, fun, arg",
    [
        ((True, None, "a"), "state.highstate", []),
        ((None, "night.sls", None), "state.top", ["night.sls"]),
        ((None, None, ["a", "b"]), "state.sls", ["a,b"]),
        ((None, None, None), None, []),
    ],
)
def test_the_function_of_a_state_step(step, fun, arg):
    assert orchestration.state_function(*step) == (fun, arg)


@pytest.mark.parametrize(
    "returns, succeeded",
    [
        ({}, False),
        (["error"], False),
        (GOOD["ret"], True),
        (BAD["ret"], False),
        ({"web1": GOOD["ret"], "web2": BAD["ret"]}, False),
        ({"t": {"result": None}}, True),
    ],
)
def test_returns_of_a_target_are_a_success_or_a_failure(returns, succeeded):
    assert orchestration.succeeded(returns) is succeeded


def test_targets_without_changes_are_named_separately():
    outcome = orchestration.states_outcome({"a": GOOD, "b": CHANGED}, [], 0)
    assert outcome["result"] is True
    assert outcome["comment"] == "States ran successfully. Updating b. No changes made to a."
    assert outcome["changes"] == {"out": "highstate", "ret": {"b": CHANGED["ret"]}}


def test_failures_are_explained():
    answers = {"a": BAD, "b": UNREACHABLE, "c": {"ret": ["first", "second"]}, "d": {"ret": False}}
    outcome = orchestration.states_outcome(answers, [], 0)
    assert outcome["result"] is False
    assert outcome["comment"].split("\n") == [
        "Run failed on minions: a, b, c, d",
        "Minion b did not return a state result.",
        "Minion c returned errors: first; second",
        "Minion d returned False instead of a state result.",
    ]


@pytest.mark.parametrize("may_fail, allowed, succeeded", [([], 0, False), (["a"], 0, True), ([], 1, True)])
def test_allowed_failures_are_no_failure_of_the_step(may_fail, allowed, succeeded):
    assert orchestration.states_outcome({"a": BAD}, may_fail, allowed)["result"] is succeeded


def test_a_retcode_is_a_failure_even_of_an_allowed_target():
    outcome = orchestration.function_outcome("cmd.run", {"a": {"ret": "x", "retcode": 3}}, ["a"], None)
    assert outcome["result"] is False and "failed on minions: a" in outcome["comment"]


def test_a_function_decides_on_success():
    assert orchestration.function_outcome("f.g", {"a": {"ret": 1}}, [], bool)["result"] is True
    assert orchestration.function_outcome("f.g", {"a": {"ret": 0}}, [], bool)["result"] is False


def test_a_step_without_returns_fails():
    outcome = orchestration.function_outcome("test.ping", {}, [], None)
    assert outcome == {"result": False, "comment": "No minions responded", "changes": {}}


def test_arguments_of_parallel_runners_are_parsed():
    assert orchestration.runner_call("test.ping", None) == {"name": "test.ping", "kwarg": {}}
    arguments = [{"name": "state.orchestrate"}, {"kwarg": {"mods": "a"}}]
    assert orchestration.runner_call("left", arguments) == {"name": "state.orchestrate", "kwarg": {"mods": "a"}}


def test_a_failed_runner_is_named():
    outputs = {"left": {"outputter": "highstate", "data": {}, "retcode": 1}, "right": {"outputter": "highstate"}}
    outcome = orchestration.parallel_outcome(outputs)
    assert outcome["result"] is False and outcome["comment"] == "Runner left failed."


def test_a_step_has_the_jid_of_its_job():
    assert orchestration.jid_of({"a": dict(GOOD, jid="1"), "b": dict(BAD, jid="1")}) == {"__jid__": "1"}
    assert orchestration.jid_of({"a": GOOD}) == orchestration.jid_of({}) == {}
