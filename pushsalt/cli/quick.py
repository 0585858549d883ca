"""``pushsalt jobs list`` without the complete command line, whose libraries take longer to load than the jobs.

All other cases (another option, help, a mistake, a record that cannot be read) are left to ``cli/jobs.py``.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pushsalt.cli.stdio import Stdout

#: option -> name of its value. Those of _GLOBAL may precede the command.
_GLOBAL: Final = {"--cache-dir": "cache_dir", "-c": "config", "--config": "config", "-i": "", "--inventory": ""}
#: A configuration without these words does not set the cache folder; a backslash may escape any word.
_WORDS_OF_FOLDERS: Final = (b"cache_dir", b"cachedir", b"include", b"\\")
_OWN: Final = {"--limit": "limit", "--since": "since", "--fun": "fun", "--target": "target", "--out": "out"}


def answered(words: list[str], stdout: Stdout) -> bool:
    """Answer these words if possible. Returns whether they were answered."""
    given = _read(words)
    if given is None or given.get("out", "rich") not in ("rich", "json"):
        return False
    try:
        text = _jobs(given, as_json=given.get("out") == "json" and not stdout.is_terminal)
    except Exception:
        return False  # the complete command reports the error
    if text is None:
        return False
    stdout.write(text, utf8="out" in given)
    return True


def _read(words: list[str]) -> dict[str, str] | None:
    """The options of ``jobs list``, by name; None for other command lines."""
    given: dict[str, str] = {}
    command: list[str] = []
    rest = iter(words)
    for word in rest:
        if not word.startswith("-"):
            command.append(word)
            continue
        options = {**_GLOBAL, **_OWN} if command == ["jobs", "list"] else _GLOBAL
        flag, has_value, value = word.partition("=")
        if word == "--failed" and options is not _GLOBAL:
            given["failed"] = "yes"
        elif flag in options and (has_value or flag.startswith("--") or word == flag):
            raw = value if has_value else next(rest, "-")
            if raw.startswith("-") or not raw:
                return None
            given[options[flag]] = raw
        elif word != "--no-color":
            return None
    return given if command == ["jobs", "list"] else None


def _jobs(given: Mapping[str, str], *, as_json: bool) -> str | None:
    """The output; None if the complete command is needed for it."""
    from pushsalt.jobs import database, listing

    limit = given.get("limit")
    if (given.get("out") == "json" and not as_json) or not (limit is None or _is_count(limit)):
        return None
    since = None
    if "since" in given:
        from pushsalt.jobs import times

        since = times.since(given["since"])
    folder = given.get("cache_dir") or os.environ.get("PUSHSALT_CACHE")
    path = Path(folder).expanduser() if folder else _cache_dir(given.get("config") or os.environ.get("PUSHSALT_CONFIG"))
    connection = database.open_to_read(database.path_of(path))
    rows: list[listing.Row] = []
    if connection is not None:
        rows = listing.rows(
            connection,
            limit=None if limit is None else int(limit),
            since=since,
            fun=given.get("fun"),
            target=given.get("target"),
            failed="failed" in given,
        )
        connection.close()
    if as_json:
        return listing.as_json(rows) + "\n"
    lines = listing.lines(rows)
    if not all(line.isascii() and line.isprintable() for line in lines):
        return None
    return "".join([f"{line}\n" for line in lines])


def _is_count(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 10 and int(text) > 0


def _cache_dir(config: str | None) -> Path:
    """The cache folder. The configuration is read only if it may name one. Raises CommandError, and LookupError."""
    from pushsalt.discover import NAME, find, user_folder, working_folder
    from pushsalt.regular import read_bytes

    place = find(Path(config) if config else None, working_folder(), os.environ, [], _of_saltfile)
    if place.file is None or (
        place.file.name == NAME and not any(word in read_bytes(place.file) for word in _WORDS_OF_FOLDERS)
    ):
        return user_folder(os.environ, "XDG_CACHE_HOME", ".cache") / "pushsalt"
    from pushsalt.config import load_config

    return load_config(Path(config) if config else None).cache_dir


def _of_saltfile(file: Path) -> None:
    raise LookupError(f"{file} may have more options")
