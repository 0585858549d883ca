"""``pushsalt grains``: collects and shows grains."""

from __future__ import annotations

from typing import Annotated

import typer

from pushsalt.cli.app import Command, complete_targets
from pushsalt.cli.options import GLOBAL, JOB, MATCHERS, Given, takes
from pushsalt.cli.stdio import TERMINAL

app = typer.Typer(rich_markup_mode=None, add_completion=False)

EXAMPLES = """
pushsalt grains web1
pushsalt grains '*' --out json > grains.json
"""


@app.command(cls=Command, epilog=EXAMPLES)
@takes(MATCHERS, JOB, GLOBAL)
def grains(
    target: Annotated[
        str, typer.Argument(metavar="TARGET", help="Target expression.", autocompletion=complete_targets)
    ],
    given: Given,
) -> int:
    """Collect and show the grains of each target, and update the cache that -G and -P use."""
    from pushsalt.cli.job import run_job

    return run_job(
        given, TERMINAL.get(), target, lambda client, selection, options: client.stream_grains(selection, options)
    )
