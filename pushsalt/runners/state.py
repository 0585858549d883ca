"""Orchestrations. Salt: ``salt/runners/state.py``."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pushsalt.errors import FunctionError

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
