"""``pushsalt plan``: what a run would change, and how sure that is."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer

from pushsalt.cli.app import Command, complete_targets
from pushsalt.cli.apply import sls_names
from pushsalt.cli.options import DETAILED, GLOBAL, JOB, MATCHERS, PLANNED, Given, takes
from pushsalt.cli.stdio import TERMINAL

app = typer.Typer(rich_markup_mode=None, add_completion=False)

EXAMPLES = """
pushsalt plan 'web*'                        the highstate of top.sls
pushsalt plan 'web*' nginx,users --out json
pushsalt plan '*' --detailed-exitcode       4 if anything would change
"""


@app.command(cls=Command, epilog=EXAMPLES)
@takes(PLANNED, DETAILED, MATCHERS, JOB, GLOBAL)
def plan(
    target: Annotated[str, typer.Argument(metavar="TARGET", help="Which targets.", autocompletion=complete_targets)],
    given: Given,
    sls: Annotated[
        list[str] | None,
        typer.Argument(metavar="[SLS ...]", help="SLS names, also comma separated; none: the highstate."),
    ] = None,
) -> int:
    """Say what an apply of SLS, or of the highstate, would change on each target, and how sure that is."""
    from pushsalt.cli.job import run_job
    from pushsalt.planning.fingerprints import Fingerprints

    names = sls_names(sls or [])
    return run_job(
        given,
        TERMINAL.get(),
        target,
        lambda client, selection, options: client.stream_apply(
            selection, names, replace(options, test=True, plan=True)
        ),
        words=["plan", *([",".join(names)] if names else [])],
        hiding=Fingerprints,
    )
