"""``pushsalt clean``: nothing of pushsalt stays on the targets."""

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
    target: Annotated[str, typer.Argument(metavar="TARGET", help="Which targets.", autocompletion=complete_targets)],
    given: Given,
) -> int:
    """Remove all that pushsalt keeps on each target: its runtime, its caches, and the backups of files that states made
    there (`backup: minion`; `file.restore_backup` puts one back before). What states did stays."""
    from pushsalt.cli.job import run_job

    return run_job(
        given, TERMINAL.get(), target, lambda client, selection, options: client.stream_clean(selection, options)
    )
