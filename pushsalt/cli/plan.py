"""``pushsalt plan``: predicts the changes of a run, and how certain they are."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Annotated

import typer

from pushsalt.cli.app import Command, complete_targets
from pushsalt.cli.options import GLOBAL, JOB, MATCHERS, STATES, Given, takes
from pushsalt.cli.planoptions import DETAILED, PLAN_FILE
from pushsalt.cli.reports import REPORT
from pushsalt.cli.slsnames import sls_names
from pushsalt.cli.stdio import TERMINAL
from pushsalt.errors import UsageError

if TYPE_CHECKING:
    from pushsalt.api import Client, JobOptions, Selection
    from pushsalt.model import TargetReturn

app = typer.Typer(rich_markup_mode=None, add_completion=False)

EXAMPLES = """
pushsalt plan 'web*'                        the highstate of top.sls
pushsalt plan 'web*' nginx,users --out json
pushsalt plan '*' -o monday.plan            later: pushsalt apply monday.plan
pushsalt plan show monday.plan --out markdown
pushsalt plan diff monday.plan tuesday.plan
pushsalt plan '*' --detailed-exitcode       4 if anything would change
"""


@app.command(cls=Command, epilog=EXAMPLES)
@takes(STATES[1:], DETAILED, PLAN_FILE, REPORT, MATCHERS, JOB, GLOBAL)
def plan(
    target: Annotated[str, typer.Argument(metavar="TARGET", help="Which targets.", autocompletion=complete_targets)],
    given: Given,
    sls: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[SLS ...]",
            help="SLS names, also comma separated; none: the highstate. Or: show FILE.plan, diff FILE.plan FILE.plan.",
        ),
    ] = None,
) -> int:
    """Predict the changes of an apply of SLS, or of the highstate, on each target, and how certain they are."""
    if target in ("show", "diff") and any(word.endswith(".plan") for word in sls or ()):
        from pushsalt.cli import planshow

        return (planshow.show if target == "show" else planshow.diff)(given, sls or ())
    from pushsalt.cli.job import run_job
    from pushsalt.planning.fingerprints import Fingerprints

    names, key = sls_names(sls or []), secrets.token_bytes(32)
    words = ["plan", *([",".join(names)] if names else [])]
    if given.recipient and not given.plan_file:
        raise UsageError("--recipient without -o", hint="name the file: -o FILE.plan")
    making = None
    if given.plan_file:
        from pushsalt.cli.planfiles import Making

        making = Making(given.plan_file, given.recipient or (), ["plan", target, *names], key)

    def stream(client: Client, selection: Selection, options: JobOptions) -> AsyncIterator[TargetReturn]:
        if making is None:
            return client.stream_plan(selection, names, options)
        returns = client.stream_plan(selection, names, options, making.recorder)
        return making.stream(client, options, returns)

    code = run_job(
        given, TERMINAL.get(), target, stream, words=words, hiding=lambda redactor: Fingerprints(redactor, key)
    )
    if making is not None:
        making.finish()
    return code
