"""Converts values of the configuration to the types of their options. All values that Salt accepts are accepted."""

from __future__ import annotations

import re
from glob import glob
from pathlib import Path
from typing import Any, Final

from pushsalt.discover import absolute
from pushsalt.errors import ConfigError, Position, in_words
from pushsalt.options import Option


def convert(option: Option, value: Any, where: Position, folder: Path) -> Any:
    """The value converted to the option's type, by Salt's rules. Raises ConfigError for invalid values."""
    wanted = option.type
    if wanted in ("path", "paths", "roots") and "sdb://" in str(value):
        raise ConfigError(f"`{option.name}` cannot be an sdb:// URI", hint=option.doc, where=where)
    if wanted in ("bool", "journal") and isinstance(value, int | str):
        word = str(value).lower()
        if wanted == "journal" and (word == "jetstream" or word.startswith(("nats://", "tls://"))):
            return word if word == "jetstream" else value
        if word in ("true", "yes", "on", "1"):
            return True
        if word in ("false", "no", "off", "0", ""):
            return False
    elif wanted in ("int", "number") and not isinstance(value, bool | list | dict):
        number = _number(value)
        if number is not None and (wanted == "number" or number == int(number)):
            return int(number) if wanted == "int" else number
    elif wanted == "bytes" and not isinstance(value, bool | list | dict):
        size = _bytes(value)
        if size is not None:
            return size
    elif wanted == "text" and isinstance(value, str | int | float):
        return value if isinstance(value, str) else str(value)
    elif wanted == "path" and isinstance(value, str):
        return str(absolute(folder, value)) if value else ""
    elif wanted == "paths" and isinstance(value, str | list):
        items = value if isinstance(value, list) else [value]
        if all(isinstance(item, str) for item in items):
            return [str(absolute(folder, item)) for item in items]
    elif wanted == "list" and isinstance(value, list | str | set):
        return [value] if isinstance(value, str) else list(value)
    elif wanted == "map" and isinstance(value, dict):
        return value
    elif wanted == "roots" and isinstance(value, dict):
        return {str(env): _folders(option, dirs, where, folder) for env, dirs in value.items()}
    elif wanted == "any":
        return value
    words = {
        "bool": "true or false",
        "journal": "true, false, jetstream, or the URL of a NATS server",
        "int": "a whole number",
        "number": "a number",
        "bytes": "a number of bytes, such as 512MiB",
        "map": "a mapping",
        "roots": "a mapping of saltenvs to lists of folders",
        "path": "a path",
        "paths": "a list of paths",
        "list": "a list",
    }.get(wanted, "text")
    raise ConfigError(f"`{option.name}` must be {words}, not {in_words(value)}", hint=option.doc, where=where)


_SIZE: Final = re.compile(r"(\d+)\s*(?:([kmgt])(i?)b?|b)?", re.IGNORECASE)


def _bytes(value: Any) -> int | None:
    """A number of bytes: ``1073741824``, ``1GiB``, ``500 MB``; None for any other value, and for an empty one."""
    match = _SIZE.fullmatch(str(value).strip())
    if match is None or not int(match[1]):
        return None
    power = "bkmgt".index((match[2] or "b").lower())
    return int(match[1]) * int((1024 if match[3] or not match[2] else 1000) ** power)


def _number(value: Any) -> int | float | None:
    try:
        return float(value) if isinstance(value, str) else value
    except ValueError:
        return None


def _folders(option: Option, dirs: Any, where: Position, folder: Path) -> list[str]:
    """Folders of one saltenv as absolute paths; globs are expanded as Salt does; a glob without matches stays."""
    if dirs is None:
        return []
    items = dirs if isinstance(dirs, list) else [dirs]
    paths: list[str] = []
    for item in items:
        if not isinstance(item, str) or not item:
            raise ConfigError(f"`{option.name}` has an entry that is not a path", hint=option.doc, where=where)
        path = absolute(folder, item)
        paths += [str(each) for each in expand(path) or [path]]
    return paths


def expand(pattern: Path) -> list[Path]:
    """The sorted paths that a glob matches; empty for a missing path."""
    return sorted(Path(name) for name in glob(str(pattern)))  # noqa: PTH207  (absolute patterns)
