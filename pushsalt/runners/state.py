"""Orchestrations. Salt: ``salt/runners/state.py``."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pushsalt.errors import FunctionError
from pushsalt.orchestrate.master import master_id
from pushsalt.runners.salt import cmd

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
    **kwargs: Any,
) -> dict[str, Any]:
    """Run SLS files on the controller: ``data``, ``outputter``, ``retcode``."""
    from pushsalt.orchestrate.recorded import as_printed
    from pushsalt.orchestrate.running import orchestrate_within

    if pillar is not None and not isinstance(pillar, dict):
        raise FunctionError("exception", "Pillar data must be formatted as a dictionary", "", "SaltInvocationError")
    names = [str(name) for name in mods] if isinstance(mods, list) else [*filter(None, str(mods).split(","))]
    dry = run.options.test if test is None else test
    options = replace(run.options, pillar=pillar, saltenv=saltenv, pillarenv=pillarenv, test=dry)
    return as_printed(run.wait(orchestrate_within(run.client, names, options, run.jid)))


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


def event(run: Run, *args: Any, **kwargs: Any) -> None:
    """Fails: ``pushsalt events --follow`` shows events as they come."""
    raise FunctionError(
        "exception", "state.event is a command here", "pushsalt events [TAG-GLOB] --follow", "SaltException"
    )


def _on_master(run: Run, fun: str, args: list[Any], pillar: Any, kwargs: dict[str, Any]) -> dict[str, Any]:
    if pillar is not None and not isinstance(pillar, dict):
        raise FunctionError("exception", "Pillar data must be formatted as a dictionary", "", "SaltInvocationError")
    given = {key: value for key, value in kwargs.items() if key != "queue" and value is not None}
    given.update({} if pillar is None else {"pillar": pillar})
    return {master_id(): cmd(run, fun, *args, **given)}
