"""``pushsalt orchestrate``: SLS files that run on the controller, and jobs on targets from them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from pushsalt.cli.app import Command
from pushsalt.cli.opt import Opt
from pushsalt.cli.options import CONTROLLER, GLOBAL, STATES, Given, takes
from pushsalt.cli.stdio import TERMINAL
from pushsalt.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from pushsalt.api import Client, JobOptions, Selection
    from pushsalt.model import TargetReturn

app = typer.Typer(rich_markup_mode=None, add_completion=False)

EXAMPLES = """
pushsalt orchestrate orch.deploy --pillar '{version: 1.2}'
pushsalt orchestrate orch.deploy --test           dry run of each step
pushsalt orchestrate --resume last                continue at the failed step
"""
RESUMED = (
    Opt(
        "resume",
        ("--resume",),
        "Continue the orchestration of this JID: successful steps are not run again.",
        metavar="JID",
    ),
)


@app.command(cls=Command, epilog=EXAMPLES)
@takes(RESUMED, STATES, CONTROLLER, GLOBAL)
def orchestrate(
    given: Given,
    sls: Annotated[
        list[str] | None, typer.Argument(metavar="SLS ...", help="SLS files of the file roots; none with --resume.")
    ] = None,
) -> int:
    """Run an orchestration: states on the controller, which apply states and call functions on targets."""
    from pushsalt.cli.slsnames import sls_names

    if not sls and not given.resume:
        raise UsageError("no SLS is named", "for example pushsalt orchestrate orch.deploy")
    return _run(given, sls_names(sls or []), given.resume or "")


def resume(given: Given, jid: str) -> int:
    """Continue the orchestration of this JID."""
    return _run(given, [], jid)


def _run(given: Given, names: list[str], jid: str) -> int:
    from pushsalt.cli.job import run_job
    from pushsalt.inventory import THIS_MACHINE

    def stream(client: Client, selection: Selection, options: JobOptions) -> AsyncIterator[TargetReturn]:
        return client.stream_orchestrate(names, options, jid)

    for_people = given.out in (None, "rich", "highstate")
    return run_job(given, TERMINAL.get(), THIS_MACHINE, stream, document=None if for_people else _document)


def _document(data: dict[str, Any], results: dict[str, TargetReturn]) -> dict[str, Any]:
    """The document that ``salt-run state.orchestrate`` prints."""
    failed = any(result.exit_code for result in results.values())
    return {"data": data, "outputter": "highstate", "retcode": int(failed)}
