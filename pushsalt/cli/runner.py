"""``pushsalt runner``: calls a runner function on the controller."""

from __future__ import annotations

from typing import Annotated

import typer

from pushsalt.cli.app import CallCommand
from pushsalt.cli.options import CONTROLLER, GLOBAL, Given, takes
from pushsalt.cli.stdio import TERMINAL
from pushsalt.errors import EXIT_FAILED, UsageError

app = typer.Typer(rich_markup_mode=None, add_completion=False)

EXAMPLES = """
pushsalt runner manage.up
pushsalt runner event.send app/deployed '{version: 1.2}'
"""


@app.command(cls=CallCommand, epilog=EXAMPLES)
@takes(CONTROLLER, GLOBAL)
def runner(
    function: Annotated[str, typer.Argument(metavar="MODULE.FUNCTION", help="Runner function to call.")],
    given: Given,
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[ARG ...] [KEY=VALUE ...]", help="Arguments of the function, parsed as YAML as in Salt."
        ),
    ] = None,
) -> int:
    """Call a runner function on the controller and print its return."""
    from pushsalt import outputters
    from pushsalt.cli.client import Watcher, open_client
    from pushsalt.cliargs import parse_args
    from pushsalt.log import DEFAULT_LEVEL

    if "." not in function:
        raise UsageError(f"{function!r} is not a function", hint="functions are MODULE.FUNCTION, for example manage.up")
    args, kwargs = parse_args(words or [])
    given.job(DEFAULT_LEVEL)  # report invalid options before any file is read
    client, level = open_client(given, TERMINAL.get(), Watcher())
    answer = client.runner(function, args, kwargs, given.job(level))
    data = client.redactor().data(answer["return"])
    out = TERMINAL.get().stdout
    named = given.out in (None, "rich")
    out.write(outputters.load("nested" if named else str(given.out)).output(data, terminal=out.is_terminal), utf8=True)
    return 0 if answer["success"] else EXIT_FAILED
