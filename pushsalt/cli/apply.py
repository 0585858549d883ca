"""``pushsalt apply``: states, or the highstate."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pushsalt.cli.app import Command, complete_targets
from pushsalt.cli.options import GLOBAL, JOB, MATCHERS, RERUN, RETURNS, STATES, Given, takes
from pushsalt.cli.planoptions import DETAILED, FROM_PLAN
from pushsalt.cli.reports import REPORTS
from pushsalt.cli.rollouts import ROLLOUT
from pushsalt.cli.stdio import TERMINAL
from pushsalt.errors import UsageError

app = typer.Typer(rich_markup_mode=None, add_completion=False)

EXAMPLES = """
pushsalt apply 'web*'                       the highstate of top.sls
pushsalt apply 'web*' nginx,users --test    two SLS, dry run
pushsalt apply -L web1,db1 app --pillar '{"version": "1.4"}'
pushsalt apply monday.plan                  what was planned, and nothing else
pushsalt apply '*' --batch 25% --out json
pushsalt apply --rerun-failed               repeat the last apply on targets without a good return
pushsalt apply '*' --batch 1,10%,25% --max-fail 1 --batch-check 'service.status nginx'
"""


@app.command(cls=Command, epilog=EXAMPLES)
@takes(STATES, DETAILED, FROM_PLAN, RETURNS, RERUN, MATCHERS, JOB, ROLLOUT, REPORTS, GLOBAL)
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
    if given.rerun_failed:
        from pushsalt.cli.again import rerun_failed

        return rerun_failed(given, [word for word in (target, *(sls or ())) if word is not None], "apply")
    if target is None:
        raise UsageError("TARGET is missing", hint="usage: pushsalt apply [OPTIONS] TARGET [SLS ...]")
    from pushsalt.cli.job import run_job

    if target.endswith(".plan") and Path(target).is_file():
        from pushsalt.cli import planfiles

        return planfiles.apply(given, target, sls or ())
    if given.accept_drift or given.max_age:
        raise UsageError("--accept-drift and --max-age are for plans", hint="pushsalt apply FILE.plan")
    names = sls_names(sls or [])
    return run_job(
        given,
        TERMINAL.get(),
        target,
        lambda client, selection, options: client.stream_apply(selection, names, options),
        words=["apply", *([",".join(names)] if names else [])],
    )


def sls_names(words: list[str]) -> list[str]:
    """``a,b c`` as three names. Raises UsageError for Salt's KEY=VALUE."""
    for word in words:
        if not word.strip(" ,"):
            raise UsageError("an SLS name is empty", hint="leave it out altogether for the highstate")
        key, equals, value = word.partition("=")
        if equals:
            option = {
                "test": "--test",
                "pillar": f"--pillar {value!r}",
                "saltenv": f"--saltenv {value}",
                "pillarenv": f"--pillarenv {value}",
            }.get(key)
            hint = f"write {option}" if option else f"or: pushsalt run TARGET state.apply SLS {word}"
            raise UsageError(f"{word!r} is no SLS name", hint=hint)
    return [name for word in words for name in word.split(",") if name]
