"""``pushsalt run``: one execution function."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from pushsalt.cli.app import TERMINAL, CallCommand, complete_targets
from pushsalt.cli.options import GLOBAL, JOB, MATCHERS, STATES, Given, takes
from pushsalt.cli.stdio import write_stderr
from pushsalt.errors import UsageError

app = typer.Typer(rich_markup_mode=None, add_completion=False)

EXAMPLES = """
pushsalt run '*' test.ping
pushsalt run web1 cmd.run 'df -h /' timeout=10
pushsalt run --out json 'db*' pkg.version openssl
pushsalt run web1 cmd.run 'ls -l'           options go before the function:
pushsalt run web1 test.arg --x key=[1,2]    what follows it are its arguments
"""


@app.command(cls=CallCommand, epilog=EXAMPLES)
@takes(STATES, MATCHERS, JOB, GLOBAL)
def run(
    target: Annotated[str, typer.Argument(metavar="TARGET", help="Which targets.", autocompletion=complete_targets)],
    function: Annotated[str, typer.Argument(metavar="MODULE.FUNCTION", help="What to call.")],
    given: Given,
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="[ARG ...] [KEY=VALUE ...]", help="Its arguments, read as YAML as Salt does."),
    ] = None,
) -> int:
    """Call an execution function on each target."""
    from pushsalt.cli.job import run_job
    from pushsalt.cliargs import parse_args

    if not all(part.isidentifier() for part in function.split(".")) or "." not in function:
        raise UsageError(f"{function!r} is no function", hint="functions are MODULE.FUNCTION, for example test.ping")
    args, kwargs = parse_args(words or [])
    code = run_job(
        given,
        TERMINAL.get(),
        target,
        lambda client, selection, options: client.stream_run(selection, function, args, kwargs, options),
        unmask=asks_in_clear(kwargs),
    )
    if code:
        _hint_at_options(function, words or [])
    return code


def asks_in_clear(kwargs: dict[str, Any]) -> bool:
    """Whether the call says ``unmask=True``: who asks for a secret by name gets it, in the output and nowhere else."""
    return kwargs.get("unmask") is True


def _hint_at_options(function: str, words: list[str]) -> None:
    """Options of ours that stood among the arguments, where they are arguments: likely the reason for the failure."""
    ours = {flag for group in (STATES, MATCHERS, JOB, GLOBAL) for opt in group for flag in opt.flags if len(flag) > 2}
    found = [word for word in words if word.partition("=")[0] in ours]
    if found:
        shown = " ".join(found)
        write_stderr(f"note: {shown} went to {function} as an argument; options stand before the function\n")
