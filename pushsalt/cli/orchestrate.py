"""``pushsalt orchestrate``: SLS files that run on the controller, and jobs on targets from them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from pushsalt.cli.app import Command
from pushsalt.cli.options import CONTROLLER, GLOBAL, STATES, Given, takes
from pushsalt.cli.stdio import TERMINAL

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from pushsalt.api import Client, JobOptions, Selection
    from pushsalt.model import TargetReturn

app = typer.Typer(rich_markup_mode=None, add_completion=False)

EXAMPLES = """
pushsalt orchestrate orch.deploy --pillar '{version: 1.2}'
pushsalt orchestrate orch.deploy --test           what each step would do
"""


@app.command(cls=Command, epilog=EXAMPLES)
@takes(STATES, CONTROLLER, GLOBAL)
def orchestrate(
    sls: Annotated[list[str], typer.Argument(metavar="SLS ...", help="SLS files of the file roots.")],
    given: Given,
) -> int:
    """Run an orchestration: states on the controller, which apply states and call functions on targets."""
    from pushsalt.cli.apply import sls_names
    from pushsalt.cli.job import run_job
    from pushsalt.inventory import THIS_MACHINE

    names = sls_names(sls)

    def stream(client: Client, selection: Selection, options: JobOptions) -> AsyncIterator[TargetReturn]:
        return client.stream_orchestrate(names, options)

    for_people = given.out in (None, "rich", "highstate")
    return run_job(given, TERMINAL.get(), THIS_MACHINE, stream, document=None if for_people else _document)


def _document(data: dict[str, Any], results: dict[str, TargetReturn]) -> dict[str, Any]:
    """What ``salt-run state.orchestrate`` prints."""
    failed = any(result.exit_code for result in results.values())
    return {"data": data, "outputter": "highstate", "retcode": int(failed)}
