"""Returns are always well-formed, whatever a state returns; hooks of state modules are called as in Salt."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from thin import call_state, engine, parallel
from thin.requisites import tag_of

ODD = {
    "thin.states.odd": """
def lst(name): return [1]
def none(name): return None
def nocomment(name): return {"name": name, "result": True, "changes": {}}
def badchanges(name): return {"name": name, "result": True, "changes": [], "comment": ""}
def lines(name): return {"name": name, "result": 1, "changes": {}, "comment": ["a", b"b"]}
def boom(name): raise ValueError("broken")
def needs(name, what): return {"name": name, "result": True, "changes": {}, "comment": what}
def ok(name, **kwargs): return {"name": name, "result": True, "changes": {"a": 1}, "comment": ",".join(sorted(kwargs))}
def low(name): return {"name": name, "result": True, "changes": {}, "comment": __low__["__id__"] + __env__}
def masks(name):
    import os
    mask = os.umask(0)
    os.umask(mask)
    return {"name": name, "result": True, "changes": {}, "comment": oct(mask)}
def inner(name):
    low = {"state": "odd", "__id__": "sub", "name": "sub", "fun": "part"}
    part = {"low": low, "changes": {"x": 1}, "result": True, "comment": "in it"}
    return {"name": name, "result": True, "changes": {}, "comment": "", "sub_state_run": [part]}
def dies(name):
    import os
    os._exit(3)
""",
    "thin.states.hooked": """
calls = []
def mod_init(low):
    calls.append("init " + low["fun"])
    return low["fun"] == "enough"
def first(name): return _ret(name)
def enough(name): return _ret(name)
def mod_aggregate(low, chunks, running):
    low["extra"] = ",".join(chunk["name"] for chunk in chunks)
    return low
def joined(name, extra=None, **kwargs): return dict(_ret(name), comment=extra)
def _ret(name): return {"name": name, "result": True, "changes": {}, "comment": ";".join(calls)}
""",
}


def chunk(fun: str, name: str = "it", **kwargs: Any) -> dict[str, Any]:
    state, function = fun.split(".")
    return {
        "state": state,
        "fun": function,
        "name": name,
        "__id__": name,
        "__sls__": "s",
        "__env__": "base",
        "order": 10000,
        **kwargs,
    }


@pytest.fixture
def run(make_loaders: Callable[..., Any]) -> Callable[..., Any]:
    def run_chunks(*chunks: dict[str, Any], opts: Any = None, groups: Any = (), **kwargs: Any) -> list[Any]:
        state_engine = engine.Engine(make_loaders(ODD, opts=opts), **kwargs)
        return list(state_engine.run(list(chunks), groups=groups).values())

    return run_chunks


@pytest.mark.parametrize(
    "fun, comment",
    [
        ("odd.lst", "Malformed state return. Data must be a dictionary type."),
        ("odd.none", "Malformed state return. Data must be a dictionary type."),
        ("odd.nocomment", "The following keys were not present in the state return: comment."),
        ("odd.badchanges", "'Changes' should be a dictionary."),
    ],
)
def test_malformed_returns_are_failures(run: Callable[..., Any], fun: str, comment: str) -> None:
    [ret] = run(chunk(fun))
    assert (ret["result"], ret["changes"]) == (False, {})
    assert ret["comment"] == f"An exception occurred in this state: {comment}"
    assert (ret["__id__"], ret["__run_num__"]) == ("it", 0)


def test_comments_and_results_are_converted(run: Callable[..., Any]) -> None:
    [ret] = run(chunk("odd.lines"))
    assert (ret["result"], ret["comment"]) == (True, "a\nb")


def test_an_exception_is_a_failure_with_its_traceback(run: Callable[..., Any]) -> None:
    [ret] = run(chunk("odd.boom"))
    assert ret["comment"].startswith("An exception occurred in this state: Traceback")
    assert ret["comment"].rstrip().endswith("ValueError: broken")


def test_missing_and_unknown_arguments_are_failures(run: Callable[..., Any]) -> None:
    missing, unknown = run(chunk("odd.needs", "a"), chunk("odd.needs", "b", what="x", more=1))
    assert missing["comment"] == "Missing parameter what for state odd.needs\n"
    assert "'more' is an invalid keyword argument for 'odd.needs'" in unknown["comment"]


def test_arguments_of_the_engine_are_not_passed_to_the_state(run: Callable[..., Any]) -> None:
    internal = {"runas": "root", "failhard": False, "onchanges_in": [], "reload_modules": False, "fire_event": True}
    [ret] = run(chunk("odd.ok", own=1, **internal))
    assert ret["comment"] == "own"


def test_dunders_are_those_of_the_running_state(run: Callable[..., Any]) -> None:
    first, second = run(chunk("odd.low", "a"), chunk("odd.low", "b", saltenv="dev"))
    assert (first["comment"], second["comment"]) == ("abase", "bdev")


def test_umask_applies_to_one_state(run: Callable[..., Any]) -> None:
    [inside, after] = run(chunk("odd.masks", "a", umask="0077"), chunk("odd.masks", "b"))
    assert inside["comment"] == "0o77" != after["comment"]


def test_states_inside_of_a_state_have_their_own_returns(run: Callable[..., Any]) -> None:
    outer, inner = run(chunk("odd.inner"))
    assert "sub_state_run" not in outer
    assert (inner["comment"], inner["changes"], inner["__run_num__"]) == ("in it", {"x": 1}, 2)


def test_no_log_masks_values(run: Callable[..., Any]) -> None:
    [ret] = run(chunk("odd.ok", "secret", no_log=True, password="x"))
    assert (ret["name"], ret["comment"], ret["changes"]) == ("**********", "**********", {"a": "**********"})


def test_mock_calls_nothing(run: Callable[..., Any]) -> None:
    [ret] = run(chunk("odd.boom"), mock=True)
    assert (ret["result"], ret["comment"]) == (True, "Not called, mocked")


def test_mod_init_is_called_until_it_succeeds(make_loaders: Callable[..., Any]) -> None:
    run = engine.Engine(make_loaders(ODD)).run(
        [chunk("hooked.first", "a"), chunk("hooked.enough", "b"), chunk("hooked.first", "c")]
    )
    comment = "init first;init enough"
    assert [ret["comment"] for ret in run.values()] == ["init first", comment, comment]


def test_a_hook_that_raises_fails_only_its_state(make_loaders: Callable[..., Any]) -> None:
    broken = {"thin.states.broken": "def mod_init(low):\n    raise ValueError('boom')\n\ndef done(name):\n    pass\n"}
    run = engine.Engine(make_loaders({**ODD, **broken})).run([chunk("broken.done", "a"), chunk("odd.ok", "b")])
    first, second = run.values()
    assert (first["result"], first["__state_ran__"]) == (False, False) and "ValueError: boom" in first["comment"]
    assert (second["result"], second["__run_num__"]) == (True, 1)


def test_mod_aggregate_gets_the_chunks_that_do_not_require_each_other(run: Callable[..., Any]) -> None:
    chunks = [
        chunk("hooked.joined", "a"),
        chunk("hooked.joined", "b"),
        chunk("hooked.joined", "c", require=[{"hooked": "a"}]),
        chunk("hooked.joined", "d"),
    ]
    groups = [[tag_of(chunks[0]), tag_of(chunks[1]), tag_of(chunks[3])]]
    rets = {ret["__id__"]: ret["comment"] for ret in run(*chunks, groups=groups)}
    assert rets == {"a": "a,b,d", "b": "a,b,d", "d": "a,b,d", "c": None}
    assert list(rets)[-1] == "c", "a state that requires one of them runs after all of them"


def test_watch_without_mod_watch_is_require(run: Callable[..., Any]) -> None:
    _, ret = run(chunk("odd.boom", "a"), chunk("odd.ok", "b", watch=[{"odd": "a"}]))
    assert ret["comment"] == "One or more requisite failed: s.a"


@pytest.mark.parametrize(
    "until, test, comment",
    [
        (False, False, 'Attempt 1: Returned a result of "True", with the following comment: ""\n'),
        (True, False, ""),
        (False, True, ""),
    ],
)
def test_a_malformed_return_is_retried_by_its_result(
    run: Callable[..., Any], until: bool, test: bool, comment: str
) -> None:
    retry = {"attempts": 2, "interval": 0, "until": until}
    [ret] = run(chunk("odd.badchanges", retry=retry), opts={"test": test})
    assert ret["comment"] == comment + "An exception occurred in this state: 'Changes' should be a dictionary."


@pytest.mark.parametrize("limit", [1, 8])
def test_parallel_states_are_reported_and_ordered(run: Callable[..., Any], limit: int) -> None:
    chunks = [chunk("odd.ok", name, parallel=True) for name in "abc"]
    chunks += [chunk("odd.boom", "d", parallel=True), chunk("odd.dies", "e", parallel=True)]
    chunks += [chunk("test.nop", "f", onchanges=[{"odd": "a"}]), chunk("test.nop", "g", require=[{"odd": "d"}])]
    reported: list[str] = []
    rets = run(*chunks, jobs=parallel.Jobs(limit), on_done=lambda tag, ret: reported.append(ret["__id__"]))
    assert [ret["result"] for ret in rets] == [True, True, True, False, False, True, False]
    assert [ret["__run_num__"] for ret in rets] == list(range(7))
    assert rets[4]["comment"] == "Parallel process failed to return"
    assert sorted(reported) == list("abcdefg"), "each return is reported once, when it is final"


@pytest.mark.parametrize(
    "retry, rules",
    [
        (True, (True, 2, 30, 0)),
        (False, (True, 0, 30, 0)),
        ("often", (True, 2, 30, 0)),
        ({"attempts": 5, "until": False}, (False, 5, 30, 0)),
        ({"attempts": "5", "splay": 3}, (True, 2, 30, 3)),
    ],
)
def test_options_of_retry_have_defaults(retry: Any, rules: tuple[Any, ...], lines: list[Any]) -> None:
    options = call_state.retry_rules(retry)
    assert (options["until"], options["attempts"], options["interval"], options["splay"]) == rules
