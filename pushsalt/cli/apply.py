"""``pushsalt apply``: states, or the highstate."""

from __future__ import annotations

from typing import Annotated

import typer

from pushsalt.cli.app import Command, complete_targets
from pushsalt.cli.options import GLOBAL, JOB, MATCHERS, STATES, Given, takes
from pushsalt.cli.stdio import TERMINAL
from pushsalt.errors import UsageError

app = typer.Typer(rich_markup_mode=None, add_completion=False)

EXAMPLES = """
pushsalt apply 'web*'                       the highstate of top.sls
pushsalt apply 'web*' nginx,users --test    two SLS, dry run
pushsalt apply -L web1,db1 app --pillar '{"version": "1.4"}'
pushsalt apply '*' --batch 25% --out json
"""


@app.command(cls=Command, epilog=EXAMPLES)
@takes(STATES, MATCHERS, JOB, GLOBAL)
def apply(
    target: Annotated[str, typer.Argument(metavar="TARGET", help="Which targets.", autocompletion=complete_targets)],
    given: Given,
    sls: Annotated[
        list[str] | None,
        typer.Argument(metavar="[SLS ...]", help="SLS names, also comma separated; none: the highstate."),
    ] = None,
) -> int:
    """Apply SLS, or with none the highstate of top.sls, to each target."""
    from pushsalt.cli.job import run_job

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
