"""Reorders options: before the command, between its words, and after a function, where they may be arguments.

Options before the command that are not global are moved after it, where its parser reads them or reports unknown ones.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import pairwise

from pushsalt.cli.detach import DETACH
from pushsalt.cli.opt import Opt
from pushsalt.cli.options import GLOBAL, JOB, MATCHERS, RAW, RERUN, RETURNS, STATES
from pushsalt.cli.reports import REPORTS
from pushsalt.cli.rollouts import ROLLOUT


def options_after_command(
    args: list[str], own: Mapping[str, bool], commands: Collection[str]
) -> tuple[list[str], list[str]]:
    """(``args`` with options that are not ``own`` moved after the command, these options if there is no command).

    ``own``: flag -> whether it takes the next word, for options that are not moved. A TARGET may precede the command
    too, if a matcher's flag does.
    """
    others = _flags(GLOBAL, JOB, ROLLOUT, REPORTS, RETURNS, RERUN, DETACH, MATCHERS, STATES, RAW)
    matchers = _flags(MATCHERS).keys() - own.keys()
    values = {flag for flag, has_value in {**others, **own}.items() if has_value}
    kept: list[str] = []
    moved: list[str] = []
    target: list[str] = []
    has_matcher = False
    at = 0
    while at < len(args) and args[at] != "--":
        word = args[at]
        if word.startswith("-") and word != "-":
            flags = set(_flags_in(word, values))
            has_matcher = has_matcher or not matchers.isdisjoint(flags)
            count = 2 if takes_next(word, values) else 1
            (moved if flags & (others.keys() - own.keys()) else kept).extend(args[at : at + count])
            at += count
        elif word in commands or target or not has_matcher:
            break
        else:
            target = [word]
            at += 1
    rest = args[at:]
    if rest and rest[0] in commands:
        return [*kept, rest[0], *moved, *target, *rest[1:]], []
    return [*kept, *target, *rest], moved


def command_as_value(args: list[str], own: Mapping[str, bool], commands: Collection[str]) -> tuple[str, str]:
    """(option, command) if an option before the command has the command's name as its value; else empty texts.

    ``own``: as for ``options_after_command``.
    """
    flags = {**_flags(GLOBAL, JOB, ROLLOUT, REPORTS, RETURNS, RERUN, MATCHERS, STATES, RAW), **own}
    values = {flag for flag, has_value in flags.items() if has_value}
    for word, after in pairwise(args):
        if not word.startswith("-") or word == "--":
            continue
        if after in commands and takes_next(word, values):
            return _flags_in(word, values)[-1], after
    return "", ""


def call(words: list[str], moved: list[str]) -> str:
    """The command line for words in the form of a call in Salt, TARGET MODULE.FUNCTION [ARG ...]; empty for other
    words.
    """
    function = words[1] if len(words) > 1 else ""
    if "." not in function or not all(part.isidentifier() for part in function.split(".")):
        return ""
    import shlex

    return shlex.join(["pushsalt", "run", *moved, *words])


def end_options(args: list[str], takes_value: Mapping[str, bool]) -> list[str]:
    """``args`` with ``--`` before MODULE.FUNCTION; long options after the function are moved before that.

    ``takes_value``: option -> whether it takes the next word, for all options. After a ``--`` all words are arguments
    of the function.
    """
    value_flags = {flag for flag, takes in takes_value.items() if takes}
    at = plain = 0
    while at < len(args):
        word = args[at]
        if word == "--":
            return args
        if word.startswith("-") and word != "-":
            at += 2 if takes_next(word, value_flags) else 1
            continue
        plain += 1
        if plain == 2:
            options, words = _split(args[at + 1 :], takes_value)
            return [*args[:at], *options, "--", word, *words]
        at += 1
    return args


def _split(words: list[str], takes_value: Mapping[str, bool]) -> tuple[list[str], list[str]]:
    """Our long options with their values, and the function's own words."""
    options: list[str] = []
    own: list[str] = []
    at = 0
    while at < len(words):
        word = words[at]
        if word == "--":
            return options, own + words[at + 1 :]
        if word.startswith("--") and word.partition("=")[0] in takes_value:
            count = 2 if takes_value.get(word) else 1
            options += words[at : at + count]
            at += count
            continue
        own.append(word)
        at += 1
    return options, own


def takes_next(word: str, value_flags: Collection[str]) -> bool:
    """Whether the next word is the value of this option, or of the last of these."""
    if word.startswith("--"):
        return word in value_flags
    for at, letter in enumerate(word[1:], 1):  # -vl debug; -ldebug contains its value
        if f"-{letter}" in value_flags:
            return at == len(word) - 1
    return False


def _flags(*groups: tuple[Opt, ...]) -> dict[str, bool]:
    return {flag: opt.has_value for group in groups for opt in group for flag in opt.spellings}


def _flags_in(word: str, value_flags: Collection[str]) -> list[str]:
    """The options in a word: ``-vG`` has two, ``--out=json`` one."""
    if word.startswith("--"):
        return [word.partition("=")[0]]
    flags = []
    for letter in word[1:]:
        flags.append(f"-{letter}")
        if flags[-1] in value_flags:
            break
    return flags
