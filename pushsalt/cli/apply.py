"""``pushsalt apply``: states, or the highstate."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pushsalt.cli.app import Command, complete_targets
from pushsalt.cli.detach import DETACH, check, leave_running
from pushsalt.cli.options import GLOBAL, JOB, MATCHERS, RERUN, RETURNS, STATES, Given, takes
from pushsalt.cli.planoptions import BACKUPS, DETAILED, FROM_PLAN
from pushsalt.cli.reports import REPORTS
from pushsalt.cli.rollouts import ROLLOUT
from pushsalt.cli.slsnames import sls_names
from pushsalt.cli.stdio import TERMINAL
from pushsalt.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from pushsalt.api import Client, JobOptions, Selection
    from pushsalt.model import TargetReturn

app = typer.Typer(rich_markup_mode=None, add_completion=False)

EXAMPLES = """
pushsalt apply 'web*'                       the highstate of top.sls
pushsalt apply 'web*' nginx,users --test    two SLS, dry run
pushsalt apply -L web1,db1 app --pillar '{"version": "1.4"}'
pushsalt apply monday.plan                  exactly the changes of the plan
pushsalt apply '*' --batch 25% --out json
pushsalt apply --rerun-failed               repeat the last apply on targets without a good return
pushsalt apply '*' --batch 1,10%,25% --max-fail 1 --batch-check 'service.status nginx'
"""


@app.command(cls=Command, epilog=EXAMPLES)
@takes(STATES, DETAILED, BACKUPS, FROM_PLAN, RETURNS, RERUN, MATCHERS, JOB, DETACH, ROLLOUT, REPORTS, GLOBAL)
def apply(
    given: Given,
    target: Annotated[
        str | None, typer.Argument(metavar="TARGET", help="Target expression.", autocompletion=complete_targets)
    ] = None,
    sls: Annotated[
        list[str] | None,
        typer.Argument(metavar="[SLS ...]", help="SLS names, also separated by commas; without any: the highstate."),
    ] = None,
) -> int:
    """Apply SLS to each target, or the highstate of top.sls if none is given."""
    if given.detach:
        check(given)
    if given.rerun_failed:
        from pushsalt.cli.again import rerun_failed

        return rerun_failed(given, [word for word in (target, *(sls or ())) if word is not None], "apply")
    if target is None:
        raise UsageError("TARGET is missing", hint="usage: pushsalt apply [OPTIONS] TARGET [SLS ...]")
    from pushsalt.cli.job import run_job

    if target.endswith(".plan") and Path(target).is_file():
        if given.detach:
            raise UsageError("--detach: applying a plan needs the command until its end", hint="omit --detach")
        from pushsalt.cli import planfiles

        return planfiles.apply(given, target, sls or ())
    if given.accept_drift or given.max_age:
        raise UsageError("--accept-drift and --max-age are options for plans", hint="pushsalt apply FILE.plan")
    names = sls_names(sls or [])

    def stream(client: Client, selection: Selection, options: JobOptions) -> AsyncIterator[TargetReturn]:
        return client.stream_apply(selection, names, options)

    if given.detach:
        return leave_running(given, TERMINAL.get(), target, stream)
    words = ["apply", *([",".join(names)] if names else [])]
    return run_job(given, TERMINAL.get(), target, stream, words=words)
