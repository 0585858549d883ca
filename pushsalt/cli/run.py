"""``pushsalt run``: one execution function."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pushsalt.cli.app import CallCommand, complete_targets
from pushsalt.cli.detach import DETACH, check, leave_running
from pushsalt.cli.options import GLOBAL, JOB, MATCHERS, RAW, RERUN, RETURNS, STATES, Given, takes
from pushsalt.cli.planoptions import BACKUPS, DETAILED
from pushsalt.cli.reports import REPORTS
from pushsalt.cli.rollouts import ROLLOUT
from pushsalt.cli.stdio import TERMINAL
from pushsalt.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from pushsalt.api import Client, JobOptions, Selection
    from pushsalt.model import TargetReturn

app = typer.Typer(rich_markup_mode=None, add_completion=False)

EXAMPLES = """
pushsalt run '*' test.ping
pushsalt run web1 cmd.run 'df -h /' timeout=10
pushsalt run --out json 'db*' pkg.version openssl
pushsalt run web1 cmd.run 'ls -l'
pushsalt run --raw switch1 'show version'   in the login shell, without Python
pushsalt run web1 test.arg -x key=[1,2]     words after the function are its arguments,
pushsalt run web1 test.arg --out json -- --out    except for pushsalt's own long options
"""


@app.command(cls=CallCommand, epilog=EXAMPLES)
@takes(STATES, DETAILED, BACKUPS, RAW, RETURNS, RERUN, MATCHERS, JOB, DETACH, ROLLOUT, REPORTS, GLOBAL)
def run(
    given: Given,
    target: Annotated[
        str | None, typer.Argument(metavar="TARGET", help="Target expression.", autocompletion=complete_targets)
    ] = None,
    function: Annotated[str | None, typer.Argument(metavar="MODULE.FUNCTION", help="Function to call.")] = None,
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[ARG ...] [KEY=VALUE ...]", help="Arguments of the function, parsed as YAML as in Salt."
        ),
    ] = None,
) -> int:
    """Call an execution function on each target; with --raw, run a command in its login shell."""
    if given.detach:
        check(given)
    if given.rerun_failed:
        from pushsalt.cli.again import rerun_failed

        return rerun_failed(given, [word for word in (target, function, *(words or ())) if word is not None], "call")
    for name, word in (("TARGET", target), ("MODULE.FUNCTION", function)):
        if word is None:
            usage = "usage: pushsalt run [OPTIONS] TARGET MODULE.FUNCTION [ARG ...] [KEY=VALUE ...]"
            raise UsageError(f"{name} is missing", hint=usage)
    assert target is not None and function is not None
    from pushsalt.cli.job import run_job
    from pushsalt.cliargs import parse_args

    if given.raw:
        command = " ".join([function, *(words or ())])
        if given.test:
            raise UsageError("--test: a command of --raw has no dry run", hint="omit --test to run it")
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
        raise UsageError(f"{function!r} is not a function", hint=hint)
    args, kwargs = parse_args(words or [])
    if given.test:
        _has_dry_run(function, args, kwargs)
    if given.detailed_exitcode and not function.startswith("state."):
        hint = "omit it; the functions of state.* support it"
        raise UsageError(f"--detailed-exitcode: {function} does not report whether it changed something", hint=hint)

    def stream(client: Client, selection: Selection, options: JobOptions) -> AsyncIterator[TargetReturn]:
        return client.stream_run(selection, function, args, kwargs, options)

    if given.detach:
        return leave_running(given, TERMINAL.get(), target, stream)
    return run_job(
        given,
        TERMINAL.get(),
        target,
        stream,
        unmask=asks_in_clear(function, kwargs),
        hint="unmask=True shows masked values" if function.startswith("pillar.") and "unmask" not in kwargs else "",
        words=["run", function, *(words or ())],
    )


def _has_dry_run(function: str, args: list[Any], kwargs: dict[str, Any]) -> None:
    """Raise UsageError for a shipped function that changes the system and, unlike states, ignores ``--test``."""
    from pushsalt.modules.effects import CHANGES, RUNS, shipped

    effect = shipped(function)
    kind, argument = effect.of_call(args, kwargs) if effect else ("", "")
    if kind in (CHANGES, RUNS):
        what = "runs its argument" if kind == RUNS else "changes the system"
        called = f"{function} with `{argument}`" if argument else function
        hint = "omit --test to call it; states have a dry run: pushsalt run --test TARGET state.single STATE NAME"
        raise UsageError(f"--test: {called} {what}, and has no dry run", hint=hint)


def asks_in_clear(function: str, kwargs: dict[str, Any]) -> bool:
    """Whether the call explicitly requests values that would be redacted. Then they are shown in the output, but not in
    logs.

    These are calls with ``unmask=True``, and ``state.show_*``.
    """
    return kwargs.get("unmask") is True or function.startswith("state.show_")
