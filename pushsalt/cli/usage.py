"""Prints errors of the command line, with suggestions."""

from __future__ import annotations

import logging
import re
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from pushsalt.cli import words
from pushsalt.cli.detach import DETACH
from pushsalt.cli.options import JOB, MATCHERS, RAW, RERUN, RETURNS, STATES
from pushsalt.cli.reports import REPORTS
from pushsalt.cli.rollouts import ROLLOUT
from pushsalt.cli.stdio import print_error, write_stderr
from pushsalt.errors import EXIT_COMMAND, NoTargetError, PushsaltError, StateError
from pushsalt.log import DEFAULT_LEVEL, Handler, configure

#: The message of Typer's parser for surplus arguments.
_TOO_MANY = re.compile(r"Got unexpected extra arguments?(?:\(s\))? \((.*)\)", re.DOTALL)

log = logging.getLogger(__name__)


def explain(exc: PushsaltError, handler: Handler) -> int:
    """Print an error of pushsalt; returns its exit code."""
    _settle(handler)
    text, hint = str(exc), exc.hint
    if isinstance(exc, NoTargetError) and exc.words and Path(exc.words).exists():
        hint = (
            f"{exc.words} is a file in this folder: quote wildcards, or the shell replaces them by file names; {hint}"
        )
    if isinstance(exc, StateError) and len(exc.errors) > 1:
        text = "\n  ".join(exc.errors)
    _say(handler, text, hint)
    return exc.exit_code


def explain_usage(exc: Any, handler: Handler) -> int:
    """Print a usage error of Typer's parser: a ClickException, whose module differs between versions of Typer."""
    _settle(handler)
    if type(exc).__name__ == "NoArgsIsHelpError":  # the message of this error is the help
        write_stderr(exc.format_message().rstrip() + "\n")
        return EXIT_COMMAND
    context = getattr(exc, "ctx", None)
    path = context.command_path if context else "pushsalt"
    text = exc.format_message().rstrip(".")
    hint = f"see {path} --help"
    option, param = getattr(exc, "option_name", None), getattr(exc, "param", None)
    if option and hasattr(exc, "possibilities") and (answered := words.answer(option)):
        text, hint = f"{option} is an option of {answered[0]}", answered[1]
    elif option and hasattr(exc, "possibilities"):
        text = f"there is no option {option}" + (f" of {path}" if context and context.parent else "")
        options = [flag for item in context.command.params for flag in words.own(item.opts)] if context else []
        if context and context.parent is None:  # options of commands are allowed there too
            options += [
                flag
                for group in (JOB, ROLLOUT, REPORTS, RETURNS, RERUN, DETACH, MATCHERS, STATES, RAW)
                for opt in group
                for flag in opt.flags
            ]
        flags = {flag.lstrip("-"): flag for flag in [*options, "--help"] if len(flag) > 2}
        near = [flags[name] for name in get_close_matches(option.lstrip("-"), flags, 3)]
        if near:
            hint = f"did you mean {' or '.join(near)}?"
    elif option:
        text = f"option {option}: {text.removeprefix('Option ').removeprefix(repr(option)).strip()}"
    elif more := _TOO_MANY.fullmatch(text):
        text = f"too many arguments: {more[1]}"
        hint = f"quote arguments with wildcards or spaces; see {path} --help"
    elif type(exc).__name__ == "MissingParameter" and param is not None:
        text = f"{param.metavar or param.name} is missing"
        hint = context.get_usage().replace("Usage:", "usage:") if context else hint
    _say(handler, text, hint)
    return EXIT_COMMAND


def explain_defect(exc: BaseException, handler: Handler) -> int:
    """Report an unexpected exception; the traceback is only in the debug log."""
    _settle(handler)
    log.debug("unexpected error", exc_info=exc)
    shown = logging.getLogger().isEnabledFor(logging.DEBUG)
    hint = "this is a defect in pushsalt; please report it" + ("" if shown else " with the output of -l debug")
    _say(handler, f"{type(exc).__name__}: {exc}", hint)
    return EXIT_COMMAND


def _settle(handler: Handler) -> None:
    """Write the buffered log lines if the level was not set yet."""
    if handler.waiting is not None:
        configure(handler, DEFAULT_LEVEL)


def _say(handler: Handler, text: str, hint: str) -> None:
    redact = handler.redactor.text if handler.redactor else str
    print_error(redact(text), redact(hint))
