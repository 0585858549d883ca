"""Checks of the values of settings: text, commands, ports, paths. Each takes a value and the folder of its file.

Each raises WrongError, whose text completes "`port` ...".
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, get_args

from pushsalt.errors import in_words
from pushsalt.inventory import sshwords
from pushsalt.inventory.sshwords import CONTROL
from pushsalt.model import BecomeMethod, Secret, SecretCommand

TRANSPORTS: Final = ("ssh", "local", "offline")
BECOME: Final = get_args(BecomeMethod)

#: setting with a command -> the setting whose value the command prints
COMMANDS: Final[Mapping[str, str]] = {
    "passwd_command": "passwd",
    "priv_passwd_command": "priv_passwd",
    "sudo_password_command": "sudo_password",
}
#: a value and the folder of its file -> the value as a field of Target has it
Parser = Callable[[Any, Path], Any]


class WrongError(Exception):
    """An invalid value; the text completes "`port` of host web1 ..."."""


def command(value: Any, folder: Path) -> SecretCommand:
    """A command: a line that is split into words as by a shell, or a list; a relative path starts at the folder."""
    if isinstance(value, str):
        try:
            words = shlex.split(value)
        except ValueError as exc:
            raise WrongError(f"cannot be split into words: {str(exc).lower()}") from None
    elif isinstance(value, list) and all(isinstance(word, str | int) for word in value):
        words = [str(word) for word in value]
    else:
        raise WrongError(f"must be a command, or a list of its words, not {in_words(value)}")
    if not words or not words[0]:
        raise WrongError("is empty")
    if any(CONTROL.search(word) for word in words):
        raise WrongError("has a control character or a line break in it")
    if "/" in words[0]:
        try:
            words[0] = str(folder.absolute() / Path(words[0]).expanduser())
        except RuntimeError as exc:
            raise WrongError(f"cannot be resolved: {exc}") from None
    return SecretCommand(shlex.join(words))


def plain(value: Any, _folder: Path) -> str:
    """Text without control characters and without a leading dash."""
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str):
        raise WrongError(f"must be text, not {in_words(value)}")
    if not value:
        raise WrongError("is empty")
    if CONTROL.search(value):
        raise WrongError("has a control character or a line break in it")
    if value.startswith("-"):
        raise WrongError("begins with '-', which reads as an option")
    if len(value) > 4096:
        raise WrongError("is longer than 4096 characters")
    return value


def word(value: Any, folder: Path) -> str:
    text = plain(value, folder)
    if re.search(r"\s", text):
        raise WrongError(f"has a space in it: {text[:80]!r}")
    return text


def checked_by(problem: Callable[[str], str | None]) -> Parser:
    """Text that passes one of the checks of ``sshwords``."""

    def parse(value: Any, folder: Path) -> str:
        text = plain(value, folder)
        wrong = problem(text)
        if wrong is not None:
            raise WrongError(wrong)
        return text

    return parse


def secret(value: Any, _folder: Path) -> Secret:
    """A password: any characters except line breaks and NUL. Messages never contain the value."""
    if isinstance(value, float):
        raise WrongError("is read as a number with a fraction: put it in quotes")
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str):
        raise WrongError(f"must be text, not {in_words(value)}")
    if re.search(r"[\x00\r\n]", value):
        raise WrongError("has a line break or NUL in it")
    return Secret(value)


def optional_secret(value: Any, folder: Path) -> Secret | None:
    return secret(value, folder) if value != "" else None


def site(value: Any, _folder: Path) -> str:
    """The name of a site, which is a token of subjects on a NATS server."""
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str) or not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]{0,31}", value):
        raise WrongError("must be letters, digits, - and _ (at most 32, the first a letter or digit)")
    return value


def boolean(value: Any, _folder: Path) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.lower() in ("true", "yes", "on", "false", "no", "off"):
        return value.lower() in ("true", "yes", "on")
    raise WrongError(f"must be true or false, not {in_words(value)}")


def port(value: Any, _folder: Path) -> int:
    if isinstance(value, str) and re.fullmatch(r"[0-9]{1,5}", value):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise WrongError(f"must be a port number, not {in_words(value)}")
    if not 1 <= value <= 65535:
        raise WrongError(f"must be between 1 and 65535, not {value}")
    return value


def seconds(value: Any, _folder: Path) -> float:
    if isinstance(value, str) and re.fullmatch(r"[0-9]+(\.[0-9]+)?", value):
        value = float(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise WrongError(f"must be a number of seconds, not {in_words(value)}")
    if not 0 < value <= 86400:
        raise WrongError(f"must be more than 0 and at most 86400 seconds, not {value}")
    return float(value)


def mapping(value: Any, _folder: Path) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise WrongError(f"must be a mapping, not {in_words(value)}")
    return value


def mine_functions(value: Any, folder: Path) -> dict[str, Any]:
    """``mine_functions`` of a salt-ssh roster, as the minion option of that name."""
    if not isinstance(value, dict | list):
        raise WrongError(f"must be a mapping of functions, not {in_words(value)}")
    return {"mine_functions": value}


def transport(value: Any, _folder: Path) -> str:
    if not isinstance(value, str):
        raise WrongError(f"must be one of {', '.join(TRANSPORTS)}, not {str(value)[:80]!r}")
    return value


def become(value: Any, _folder: Path) -> str:
    if isinstance(value, bool):
        raise WrongError(f"must be the name of a program, one of {', '.join(BECOME)}; `sudo: true` or false enables it")
    if value not in BECOME:
        raise WrongError(f"must be one of {', '.join(BECOME)}, not {str(value)[:80]!r}")
    return str(value)


def several(one: Parser) -> Parser:
    def parse(value: Any, folder: Path) -> tuple[Any, ...]:
        items = value if isinstance(value, list) else [value]
        return tuple(one(item, folder) for item in items)

    return parse


def key_files(value: Any, folder: Path) -> tuple[str, ...]:
    """Absolute paths; ``~`` is the user's home, other relative paths start at the inventory's folder."""
    if value == "agent-forwarding":  # salt-ssh's value for "use the agent"; no agent is forwarded
        return ()
    names: tuple[str, ...] = several(plain)(value, folder)
    try:
        return tuple(str(folder.absolute() / Path(name).expanduser()) for name in names)
    except RuntimeError as exc:
        raise WrongError(f"cannot be resolved: {exc}") from None


def remote_dir(value: Any, folder: Path) -> str:
    text = plain(value, folder)
    if not text.startswith(("/", "~/")) or ".." in text.split("/"):
        raise WrongError(f"must be an absolute path, not {text[:80]!r}")
    wrong = sshwords.command_problem(text)
    if wrong is not None:
        raise WrongError(wrong)
    return text


def negated(parse: Parser) -> Parser:
    return lambda value, folder: not parse(value, folder)
