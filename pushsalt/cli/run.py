"""``pushsalt run``: one execution function."""

from __future__ import annotations

import shlex
from typing import Annotated, Any

import typer

from pushsalt.cli.app import CallCommand, complete_targets
from pushsalt.cli.options import GLOBAL, JOB, MATCHERS, RAW, STATES, Given, takes
from pushsalt.cli.stdio import TERMINAL
from pushsalt.errors import UsageError

app = typer.Typer(rich_markup_mode=None, add_completion=False)

EXAMPLES = """
pushsalt run '*' test.ping
pushsalt run web1 cmd.run 'df -h /' timeout=10
pushsalt run --out json 'db*' pkg.version openssl
pushsalt run web1 cmd.run 'ls -l'
pushsalt run --raw switch1 'show version'   by the login's shell; no Python is needed there
pushsalt run web1 test.arg -x key=[1,2]     words behind the function are its arguments,
pushsalt run web1 test.arg --out json -- --out    except for pushsalt's own long options
"""


@app.command(cls=CallCommand, epilog=EXAMPLES)
@takes(STATES, RAW, MATCHERS, JOB, GLOBAL)
def run(
    target: Annotated[str, typer.Argument(metavar="TARGET", help="Which targets.", autocompletion=complete_targets)],
    function: Annotated[str, typer.Argument(metavar="MODULE.FUNCTION", help="What to call.")],
    given: Given,
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="[ARG ...] [KEY=VALUE ...]", help="Its arguments, read as YAML as Salt does."),
    ] = None,
) -> int:
    """Call an execution function on each target; with --raw, run a command by its shell."""
    from pushsalt.cli.job import run_job
    from pushsalt.cliargs import parse_args

    if given.raw:
        command = " ".join([function, *(words or ())])
        if given.test:
            raise UsageError("--test: a command of --raw has no dry run", hint="leave --test out to run it")
        return run_job(
            given,
            TERMINAL.get(),
            target,
            lambda client, selection, options: client.stream_raw(selection, command, options),
            words=["run", "--raw", function, *(words or ())],
        )
    if not all(part.isidentifier() for part in function.split(".")) or "." not in function:
        command = " ".join([function, *map(shlex.quote, words or ())])
        call = shlex.join(["pushsalt", "run", *given.matcher_flags(), target, "cmd.run", command])
        hint = f"functions are MODULE.FUNCTION, for example test.ping; to run a command of the system: {call}"
        raise UsageError(f"{function!r} is no function", hint=hint)
    args, kwargs = parse_args(words or [])
    if given.test:
        _has_dry_run(function, args, kwargs)
    return run_job(
        given,
        TERMINAL.get(),
        target,
        lambda client, selection, options: client.stream_run(selection, function, args, kwargs, options),
        unmask=asks_in_clear(function, kwargs),
        hint="unmask=True shows masked values" if function.startswith("pillar.") and "unmask" not in kwargs else "",
        words=["run", function, *(words or ())],
    )


def _has_dry_run(function: str, args: list[Any], kwargs: dict[str, Any]) -> None:
    """Raises UsageError for a shipped function that changes the system and ignores ``--test``, unlike states."""
    from pushsalt.modules.effects import CHANGES, RUNS, shipped

    effect = shipped(function)
    kind, argument = effect.of_call(args, kwargs) if effect else ("", "")
    if kind in (CHANGES, RUNS):
        what = "runs what it is given" if kind == RUNS else "changes the system"
        called = f"{function} with `{argument}`" if argument else function
        hint = "leave --test out to call it; states have a dry run: pushsalt run --test TARGET state.single STATE NAME"
        raise UsageError(f"--test: {called} {what}, and has no dry run", hint=hint)


def asks_in_clear(function: str, kwargs: dict[str, Any]) -> bool:
    """Whether the call explicitly requests values that would be redacted: then the output, but no log, has them.

    These are calls with ``unmask=True``, and ``state.show_*``.
    """
    return kwargs.get("unmask") is True or function.startswith("state.show_")
