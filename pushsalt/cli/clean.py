"""``pushsalt clean``: removes pushsalt's files from targets."""

from __future__ import annotations

from typing import Annotated

import typer

from pushsalt.cli.app import Command, complete_targets
from pushsalt.cli.options import GLOBAL, JOB, MATCHERS, Given, takes
from pushsalt.cli.stdio import TERMINAL

app = typer.Typer(rich_markup_mode=None, add_completion=False)

EXAMPLES = """
pushsalt clean 'web*'
"""


@app.command(cls=Command, epilog=EXAMPLES)
@takes(MATCHERS, JOB, GLOBAL)
def clean(
    target: Annotated[
        str, typer.Argument(metavar="TARGET", help="Target expression.", autocompletion=complete_targets)
    ],
    given: Given,
) -> int:
    """Remove all files of pushsalt on each target: its runtime, its caches, and the backups that states made.

    Backups are those of `backup: minion`; restore needed ones first (`file.restore_backup`). Changes by states stay.
    """
    from pushsalt.cli.job import run_job

    return run_job(
        given, TERMINAL.get(), target, lambda client, selection, options: client.stream_clean(selection, options)
    )
