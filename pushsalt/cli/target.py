"""``pushsalt target``: which ids an expression selects."""

from __future__ import annotations

from typing import Annotated

import typer

from pushsalt.cli.app import TERMINAL, Command, complete_targets
from pushsalt.cli.options import DELIMITER, GLOBAL, MATCHERS, OUTPUT, Given, takes

app = typer.Typer(rich_markup_mode=None, add_completion=False)

EXAMPLES = """
pushsalt target 'web*'
pushsalt target -E '(web|db)[0-9]+'
pushsalt target -L web1,db1 --out json
"""


@app.command(cls=Command, epilog=EXAMPLES)
@takes(MATCHERS, DELIMITER, OUTPUT, GLOBAL)
def target(
    expr: Annotated[str, typer.Argument(metavar="EXPR", help="The expression.", autocompletion=complete_targets)],
    given: Given,
) -> int:
    """Print the ids that match, one a line. Nothing is connected to."""
    from pushsalt.cli.job import Watcher, open_client
    from pushsalt.display.safe import one_line
    from pushsalt.outputters import load

    terminal = TERMINAL.get()
    client, _ = open_client(given, terminal, Watcher())
    ids = client.target(given.selection(expr))
    if given.out in (None, "rich"):
        terminal.stdout.write("".join(f"{one_line(id)}\n" for id in ids))
    else:
        terminal.stdout.write(load(given.out).output(sorted(ids), terminal=terminal.stdout.is_terminal), utf8=True)
    return 0
