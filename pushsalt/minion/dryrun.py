"""Which functions a dry run may call: `--test` must not change anything by templates, guards or slots either.

Modules declare the effects of their functions (pushsalt.modules.effects). A function that changes the system, or has no
declaration, is refused. Functions that run any command are called, with a warning: ``cmd.run('uname -r')`` only reads,
and many formulas cannot be rendered without it.

Options: ``test_template_functions`` (refuse, warn or allow), and globs in ``test_template_allow`` and
``test_template_refuse``; an exact name there wins over a glob, and ``test_template_refuse`` wins over the other.
"""

from __future__ import annotations

import fnmatch
import logging
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import wraps
from types import FrameType
from typing import Any, Final

from pushsalt.errors import FunctionError
from pushsalt.model import Chunk
from pushsalt.modules.effects import CHANGES, READS, RUNS, Effect
from pushsalt.render.context import ALIASES
from thin import slots

log = logging.getLogger(__name__)

#: Functions that templates usually call by another name.
WRITTEN: Final = {meant: written for written, meant in ALIASES.items()}

#: The values of ``test_template_functions``.
REFUSE, WARN, ALLOW = "refuse", "warn", "allow"


def treatment(name: str, opts: Mapping[str, Any], kind: str) -> str:
    """``refuse``, ``warn`` or ``allow``, for a function of this effect (pushsalt.modules.effects) in a dry run."""
    names = (name, WRITTEN[name]) if name in WRITTEN else (name,)
    lists = ((opts.get("test_template_refuse"), REFUSE), (opts.get("test_template_allow"), ALLOW))
    for words, answer in lists:
        if any(each in (words or ()) for each in names):
            return answer
    for words, answer in lists:
        if any(fnmatch.fnmatchcase(each, str(word)) for each in names for word in words or ()):
            return answer
    mode = str(opts.get("test_template_functions") or REFUSE)
    if kind == RUNS:
        return ALLOW if mode == ALLOW else WARN
    if kind == READS or mode == ALLOW:
        return ALLOW
    return WARN if mode == WARN else REFUSE


def guarded(
    name: str,
    function: Callable[..., Any],
    opts: Mapping[str, Any],
    effect: Effect,
    warn: Callable[[str], None] = log.warning,
) -> Callable[..., Any]:
    """``function`` for templates in a dry run. If it is refused, calling it raises FunctionError."""
    if not effect.unless and treatment(name, opts, effect.kind) == ALLOW:
        return function

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        kind, argument = effect.of_call(args, kwargs)
        how = treatment(name, opts, kind)
        if how == REFUSE:
            text, hint = _refusal(name, kind, argument, effect.where)
            if kind == CHANGES:
                hint = "leave it out with {% if not opts.test %}, or better make it a state; " + hint
            raise FunctionError("exception", text, hint, "CommandExecutionError")
        if how == WARN:
            warn(f"{_caller() or 'a template'}: {_doing(name, kind, argument)}, in a dry run too")
        return function(*args, **kwargs)

    return call


def not_dry(name: str, effect: Effect, args: Sequence[Any], kwargs: Mapping[str, Any]) -> FunctionError | None:
    """The error for a function that a command with ``--test`` names; None if the call only reads, or has ``test``."""
    kind, argument = effect.of_call(args, kwargs)
    if kind == READS or kwargs.get("test") is True:
        return None
    text = f"{_doing(name, kind, argument)}, and has no dry run: it was not called"
    hint = "omit --test to call it"
    if kind not in (CHANGES, RUNS) and effect.where:
        hint = f"write `__reads__ = ('{name.partition('.')[2]}',)` into {effect.where} if it changes nothing, or {hint}"
    return FunctionError("exception", text, hint, "CommandExecutionError")


def _doing(name: str, kind: str, argument: str) -> str:
    """The effect of a function, as the beginning of a sentence."""
    text = WRITTEN.get(name, name) + (f" with `{argument}`" if argument else "")
    does = {CHANGES: "changes the system", RUNS: "runs a command"}
    return f"{text} {does.get(kind, 'does not say whether it changes the system')}"


def _refusal(name: str, kind: str, argument: str, where: str) -> tuple[str, str]:
    """Text and hint of the error. ``where`` is the user's file without a declaration for the function."""
    ending = "and this is a dry run: it was not called"
    if kind in (READS, RUNS):
        return f"{WRITTEN.get(name, name)} is among `test_template_refuse`, {ending}", "take it out of that option"
    text = f"{_doing(name, kind, argument)}, {ending}"
    if kind == CHANGES:
        return text, "the options `test_template_functions` and `test_template_allow` can allow it"
    hint = f"`test_template_allow: ['{name}']` in the configuration allows it"
    if where:
        named = f"('{name.partition('.')[2]}',)"
        hint = f"write `__reads__ = {named}` into {where} if it changes nothing, else `__changes__`; {hint}"
    return text, hint


# guards and slots of states ------------------------------------------------------------------------------------------


def refused_calls(
    chunk: Chunk, opts: Mapping[str, Any], effect: Callable[[str], Effect], warn: Callable[[str], None] = log.warning
) -> dict[str, str]:
    """Function -> why it is refused, for the functions in the chunk's guards and slots that a dry run must not call.

    A guard that calls a function which runs commands is like a guard that is a command: it runs without a warning.
    """
    refused: dict[str, str] = {}
    for where, name, args, kwargs in _calls(chunk):
        does = effect(name)
        kind, argument = does.of_call(args, kwargs)
        how = treatment(name, opts, kind)
        if how == REFUSE:
            text, hint = _refusal(name, kind, argument, does.where)
            refused[name] = f"{where}: {text}\nhint: {hint}"
        elif how == WARN and (kind != RUNS or where == "a slot"):
            place = f"{chunk.get('__id__')} in SLS {chunk.get('__sls__')}"
            warn(f"{place}: {where}: {_doing(name, kind, argument)}, in a dry run too")
    return refused


def _calls(chunk: Chunk) -> Iterator[tuple[str, str, Sequence[Any], Mapping[str, Any]]]:
    """(where, function, arguments, keyword arguments) of each call in guards and slots."""
    for guard in ("onlyif", "unless"):
        given = chunk.get(guard)
        entries: list[Any] = given if isinstance(given, list) else [given]
        for entry in entries:
            if isinstance(entry, dict) and "fun" in entry:
                kwargs = {key: entry[key] for key in entry if key not in ("fun", "args", "get_return")}
                args = entry.get("args")
                # any iterable is accepted, as on the target; of a mapping, the keys are used
                yield guard, str(entry["fun"]), list(args) if isinstance(args, Iterable) else [], kwargs
    for text in _texts(chunk):
        try:
            call: Any = slots.parse(text.split(":", 2)[2])
        except (ValueError, IndexError):  # the state reports it
            continue
        if call[0]:
            yield "a slot", *call


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        if value.startswith(slots.MARK):
            yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item)


def _caller() -> str:
    """``file:line`` of the template (Jinja, or Python of the tree) that is being rendered in this thread."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        template = frame.f_globals.get("__jinja_template__")
        if template is not None:
            return f"{template.filename}:{template.get_corresponding_lineno(frame.f_lineno)}"
        if frame.f_code.co_filename.endswith(".sls"):
            return f"{frame.f_code.co_filename}:{frame.f_lineno}"
        frame = frame.f_back
    return ""
