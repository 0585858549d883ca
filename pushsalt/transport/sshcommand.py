"""Commands of the operator's ssh_config (ProxyCommand, Match exec), as argument lists.

A line is split into words before its tokens (``%h``, ``%r`` ...) are expanded, and is run without a shell: a host or
user is always part of a single word. A shell is used only if the line itself needs one (a pipe, a variable, a glob
...). Then the values of the tokens are positional parameters (``${1}``), so that no value is part of a script. Both
prevent attacks like CVE-2023-51385 and CVE-2025-61984. OpenSSH always passes the expanded line to the shell.
"""

from __future__ import annotations

import logging
import os
import re
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Final

log = logging.getLogger(__name__)

#: letter of a token -> its value. Raises KeyError for an unknown one.
Token = Callable[[str], str]

#: Seconds for one command of Match exec; a connection waits for it.
EXEC_TIMEOUT: Final = 15.0

_SHELLS: Final = ("sh", "ash", "bash", "dash", "ksh", "mksh", "zsh")
#: builtin commands of shells
_BUILTINS: Final = frozenset(
    (
        "!",
        "{",
        ".",
        ":",
        "case",
        "cd",
        "command",
        "eval",
        "export",
        "for",
        "if",
        "set",
        "source",
        "trap",
        "type",
        "ulimit",
        "umask",
        "until",
        "while",
    )
)
_TOKEN: Final = re.compile(r"%(.?)", re.S)
#: a value that is one word in a shell even if it is not quoted
_ONE_WORD: Final = re.compile(r"[\w.:@%+=,/-]*")


class TokenError(ValueError):
    """A line of ssh_config has an unknown token."""


def expand(text: str, token: Token) -> str:
    """The text with its tokens expanded; values are not expanded again. Raises TokenError."""
    return _TOKEN.sub(lambda found: _value(found[1], token), text)


def _value(letter: str, token: Token) -> str:
    if letter == "%":
        return "%"
    try:
        return token(letter)
    except KeyError:
        raise TokenError(f"there is no token %{letter}") from None


def command(line: str, token: Token) -> list[str]:
    """The words of the program that a line names. Raises TokenError, or ValueError for a quote that is not closed."""
    if _asks_for_shell(line):
        script, values = _script(line, token)
        return [_shell(), "-c", script, "pushsalt", *values]
    words = shlex.split(line)
    if words[:1] == ["exec"] and len(words) > 1:
        del words[0]
    if not words:
        raise ValueError("the command is empty")
    return [expand(word, token) for word in words]


def succeeds(words: list[str]) -> bool:
    """Whether a command of Match exec ends with status 0; False if it cannot be started or takes too long."""
    try:
        done = subprocess.run(
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=EXEC_TIMEOUT,
            check=False,
        )
    except subprocess.TimeoutExpired:
        log.warning("ssh_config: Match exec: %s did not end in %g seconds", words[0], EXEC_TIMEOUT)
        return False
    except (OSError, ValueError) as exc:
        log.warning("ssh_config: Match exec: %s cannot be started: %s", words[0], exc)
        return False
    return done.returncode == 0


def _asks_for_shell(line: str) -> bool:
    """Whether the operator's line contains syntax that only a shell interprets."""
    quote = ""
    start = True  # at the start of a word
    at = 0
    while at < len(line):
        character = line[at]
        if quote == "'":
            quote = "" if character == "'" else quote
        elif character in "$`":
            return True
        elif character == "\\":
            at += 1
        elif quote:
            quote = "" if character == '"' else quote
        elif character in "'\"":
            quote = character
        elif character in "|&;<>()*?[\n" or (start and character in "~#"):
            return True
        start = not quote and character.isspace()
        at += 1
    try:
        first = shlex.split(line)[:1]
    except ValueError:
        return False  # the error is reported when it is split
    return bool(first) and (first[0] in _BUILTINS or re.match(r"[A-Za-z_]\w*=", first[0]) is not None)


def _script(line: str, token: Token) -> tuple[str, list[str]]:
    """The line with a parameter for each token, and the values of the parameters."""
    script: list[str] = []
    numbers: dict[str, int] = {}
    values: list[str] = []
    quote = ""
    around: list[str] = []  # the quotes around each ( that is open
    at = 0
    while at < len(line):
        character, after = line[at], line[at + 1 : at + 2]
        at += 1
        if character == "%":
            at += 1
            if after == "%":
                script.append("%")
                continue
            if after not in numbers:
                values.append(_value(after, token))
                numbers[after] = len(values)
            parameter = f"${{{numbers[after]}}}"
            if quote == "'":
                script.append(f"'\"{parameter}\"'")
            elif quote or _ONE_WORD.fullmatch(values[numbers[after] - 1]):
                script.append(parameter)
            else:
                script.append(f'"{parameter}"')
            continue
        if character == "\\" and quote != "'":
            if after == "%":  # the backslash would quote the first character of the value
                continue
            script.append(character + after)
            at += 1
            continue
        if character == "(" and (not quote or (quote == '"' and script[-1:] == ["$"])):
            around.append(quote)
            quote = ""
        elif character == ")" and not quote and around:
            quote = around.pop()
        elif character in "'\"" and quote in ("", character):
            quote = "" if quote else character
        script.append(character)
    return "".join(script), values


def _shell() -> str:
    """The user's shell, as in OpenSSH, if it has sh's syntax."""
    own = Path(os.environ.get("SHELL", ""))
    return str(own) if own.is_absolute() and own.name in _SHELLS else "/bin/sh"
