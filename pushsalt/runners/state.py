"""Orchestrations. Salt: ``salt/runners/state.py``."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from pushsalt.errors import FunctionError
from pushsalt.orchestrate.master import master_id
from pushsalt.orchestrate.unsupported import refuse
from pushsalt.runners.salt import cmd, execute

if TYPE_CHECKING:
    from pushsalt.orchestrate.runnercalls import Run


def orchestrate(
    run: Run,
    mods: Any,
    saltenv: str | None = None,
    test: bool | None = None,
    exclude: Any = None,
    pillar: dict[str, Any] | None = None,
    pillarenv: str | None = None,
    orchestration_jid: str | None = None,
    **kwargs: Any,
) -> dict[str, Any]:
    """Run SLS files on the controller: ``data``, ``outputter``, ``retcode``.

    ``orchestration_jid``: the JID of the orchestration that this is a step of.
    """
    from pushsalt.orchestrate.recorded import as_printed
    from pushsalt.orchestrate.running import orchestrate_within

    _check_pillar(pillar)
    names = [str(name) for name in mods] if isinstance(mods, list) else [*filter(None, str(mods).split(","))]
    dry = run.options.test if test is None else test
    options = replace(run.options, pillar=pillar, saltenv=saltenv, pillarenv=pillarenv, test=dry)
    within = str(orchestration_jid or "")
    return as_printed(run.wait(orchestrate_within(run.client, names, options, run.jid, exclude, within)))


orch = sls = orchestrate


def orchestrate_single(run: Run, fun: str, name: str, pillar: dict[str, Any] | None = None, **kwargs: Any) -> Any:
    """Run one state on the controller, by its function and name: the controller's id -> tag -> return."""
    return _on_master(run, "state.single", [fun, name], pillar, kwargs)


def orchestrate_high(run: Run, data: dict[str, Any], pillar: dict[str, Any] | None = None, **kwargs: Any) -> Any:
    """Run states on the controller that are given as data (``{ID: {salt.state: [...]}}``)."""
    return _on_master(run, "state.high", [data], pillar, kwargs)


def orchestrate_show_sls(run: Run, mods: Any, pillar: dict[str, Any] | None = None, **kwargs: Any) -> Any:
    """The states of SLS files as they are rendered for the controller."""
    return _on_master(run, "state.show_sls", [mods], pillar, kwargs)


orch_show_sls = orchestrate_show_sls


def graph(
    run: Run, mods: Any, tgt: Any = None, tgt_type: str = "glob", saltenv: str = "base", test: Any = None, **kwargs: Any
) -> Any:
    """The requisites between the states of SLS files, as a graph in DOT: for the controller, or id -> graph."""
    return _graph(run, "state.graph", [mods], tgt, tgt_type, {"saltenv": saltenv, "test": test, **kwargs})


def graph_highstate(run: Run, tgt: Any = None, tgt_type: str = "glob", **kwargs: Any) -> Any:
    """The requisites between the states of the highstate, as a graph in DOT: for the controller, or id -> graph."""
    return _graph(run, "state.graph_highstate", [], tgt, tgt_type, kwargs)


def event(run: Run, *args: Any, **kwargs: Any) -> None:
    """Fails: ``pushsalt events --follow`` shows events as they come."""
    raise FunctionError(
        "exception", "state.event is a command here", "pushsalt events [TAG-GLOB] --follow", "SaltException"
    )


def pause(run: Run, jid: Any, state_id: Any = None, duration: Any = None) -> None:
    """Fails: a run cannot be paused."""
    refuse("state.pause", "a run cannot be paused", _STOP)


def resume(run: Run, jid: Any, state_id: Any = None) -> None:
    """Fails: a run cannot be paused."""
    refuse("state.resume", "a run cannot be paused", "`pushsalt orchestrate --resume JID` goes on after a failed step")


def soft_kill(run: Run, jid: Any, state_id: Any = None) -> None:
    """Fails: a run ends where it was started."""
    refuse("state.soft_kill", "another command cannot end a run", _STOP)


set_pause, rm_pause = pause, resume

_STOP: Final = "Ctrl-C ends a run where it was started, after the running state"


def _graph(run: Run, fun: str, args: list[Any], tgt: Any, tgt_type: str, kwargs: dict[str, Any]) -> Any:
    _check_pillar(kwargs.get("pillar"))
    given = {key: value for key, value in kwargs.items() if key != "timeout" and value is not None}
    if tgt:
        return execute(run, tgt, fun, args, tgt_type=tgt_type, kwarg=given)
    return cmd(run, fun, *args, **given)


def _check_pillar(pillar: Any) -> None:
    if pillar is not None and not isinstance(pillar, dict):
        raise FunctionError("exception", "Pillar data must be formatted as a dictionary", "", "SaltInvocationError")


def _on_master(run: Run, fun: str, args: list[Any], pillar: Any, kwargs: dict[str, Any]) -> dict[str, Any]:
    _check_pillar(pillar)
    given = {key: value for key, value in kwargs.items() if key != "queue" and value is not None}
    given.update({} if pillar is None else {"pillar": pillar})
    return {master_id(): cmd(run, fun, *args, **given)}
