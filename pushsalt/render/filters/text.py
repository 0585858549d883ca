"""Filters on text: regular expressions, quoting, case, numbers. Salt: salt.utils.jinja, .stringutils, .yamlencoding."""

from __future__ import annotations

import datetime
import fnmatch
import io
import posixpath
import re
import shlex
import sys
from collections.abc import Callable, Iterable
from typing import Any

import yaml
from yaml.emitter import Emitter

_UUID_SPACE = "91633EBF-1C86-5E33-935A-28061F4B480E"


def _flags(ignorecase: bool, multiline: bool) -> int:
    return (re.IGNORECASE if ignorecase else 0) | (re.MULTILINE if multiline else 0)


def matches(text: str, rgx: str, ignorecase: bool = False, multiline: bool = False) -> bool:
    """The test ``is match(rgx)``: the pattern matches at the text's beginning."""
    return re.match(rgx, text, _flags(ignorecase, multiline)) is not None


def _groups(match: re.Match[str] | None) -> tuple[Any, ...] | None:
    if match is None:
        return None
    return match.groups() or (match.group(),)


def regex_search(text: str, rgx: str, ignorecase: bool = False, multiline: bool = False) -> tuple[Any, ...] | None:
    """The groups of the first match; the whole match if the pattern has no groups."""
    return _groups(re.search(rgx, text, _flags(ignorecase, multiline)))


def regex_match(text: str, rgx: str, ignorecase: bool = False, multiline: bool = False) -> tuple[Any, ...] | None:
    """As ``regex_search``, at the text's beginning only."""
    return _groups(re.match(rgx, text, _flags(ignorecase, multiline)))


def regex_replace(text: str, rgx: str, val: str, ignorecase: bool = False, multiline: bool = False) -> str:
    return re.compile(rgx, _flags(ignorecase, multiline)).sub(val, text)


def to_bool(value: Any) -> bool:
    """True for yes, true and 1 (case-insensitive), positive integers, and non-empty collections."""
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        return value.lower() in ("yes", "1", "true")
    if isinstance(value, int):
        return value > 0
    if isinstance(value, list | dict | set | bytearray):
        return len(value) > 0
    return False


def to_num(text: Any) -> Any:
    """The text as an int or float, else unchanged."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def to_bytes(value: str | bytes | bytearray, encoding: Any = None, errors: str = "strict") -> bytes:
    """The text in the first encoding (one, or a list) that has all its characters; bytes are unchanged."""
    encodings = list(encoding) if isinstance(encoding, list | tuple) else ["utf-8" if encoding is None else encoding]
    if not encodings:
        raise ValueError("encoding cannot be empty")
    if isinstance(value, bytes | bytearray):
        return bytes(value)
    if isinstance(value, str):
        for candidate in encodings[:-1]:
            try:
                return value.encode(candidate, errors)
            except UnicodeEncodeError:
                continue
        return value.encode(encodings[-1], errors)
    raise TypeError(f"expected str, bytes, or bytearray not {type(value)}")


def is_hex(value: Any) -> bool:
    try:
        int(value, 16)
    except (TypeError, ValueError):
        return False
    return True


def contains_whitespace(text: str) -> bool:
    return any(character.isspace() for character in text)


_UNITS = "bkmgtpezy"


def human_to_bytes(size: Any, default_unit: str = "B", handle_metric: bool = False) -> int:
    """Bytes of ``2G``, ``30MB``, ``64KiB`` …; 0 for anything else. ``handle_metric``: KB is 1000."""
    match = re.match(r"([0-9.]*)\s*(.*)$", str(size).strip())
    assert match is not None
    number, unit = match.group(1), (match.group(2) or default_unit).lower()
    try:
        value: float = int(number)
    except ValueError:
        try:
            value = float(number)
        except ValueError:
            return 0
    metric = re.match(r"[kmgtpezy]b$", unit) is not None
    if not metric and not re.match(r"(b|[kmgtpezy](ib)?)$", unit):
        return 0
    base = 1000 if metric and handle_metric else 1024
    return int(base ** _UNITS.index(unit[0]) * value)


def to_snake_case(text: str) -> str:
    """``camelCase`` as ``camel_case``."""
    result = text[0].lower()
    for at, letter in enumerate(text[1:], 1):
        starts_word = at + 1 < len(text) and text[at + 1].islower()
        if letter.isupper() and (text[at - 1].islower() or starts_word):
            result += "_"
        result += letter.lower()
    return result


def to_camelcase(text: str, uppercamel: bool = False) -> str:
    """``snake_case`` as ``snakeCase``, or ``SnakeCase``."""
    first, *others = text.split("_")
    return (first.capitalize() if uppercamel else first) + "".join(word.capitalize() for word in others)


def _fits(value: Any, expression: Any) -> bool:
    """Whether a glob, or a regular expression for the whole value, matches."""
    try:
        if fnmatch.fnmatch(value, expression):
            return True
        return re.match(rf"\A{expression}\Z", value) is not None
    except (re.error, TypeError):
        return False


def check_whitelist_blacklist(
    value: Any, whitelist: str | Iterable[str] | None = None, blacklist: str | Iterable[str] | None = None
) -> bool:
    """Whether ``value`` matches the whitelist (if any) and not the blacklist: globs or regular expressions."""
    allowed = _expressions(whitelist, "whitelist")
    refused = _expressions(blacklist, "blacklist")
    if any(_fits(value, expression) for expression in refused):
        return False
    return not allowed or any(_fits(value, expression) for expression in allowed)


def _expressions(given: str | Iterable[str] | None, what: str) -> list[str]:
    if not given:
        return []
    if isinstance(given, str):
        return [given]
    if not isinstance(given, Iterable):
        raise TypeError(f"Expecting iterable {what}, but got {type(given).__name__} ({given})")
    return list(given)


def to_uuid(value: str | bytes) -> str:
    """A UUID that is a function of the text."""
    import uuid

    return str(uuid.uuid5(uuid.UUID(_UUID_SPACE), value.decode() if isinstance(value, bytes) else value))


def strftime(date: Any = None, format: str = "%Y-%m-%d") -> str:
    """A datetime, or seconds since 1970 as number or text, in this format; by default the current time."""
    if date is None:
        moment = datetime.datetime.now()
    elif isinstance(date, datetime.datetime):
        moment = date
    elif isinstance(date, str) and (fuzzy := _fuzzy_date(date)) is not None:
        moment = fuzzy
    else:
        try:
            moment = datetime.datetime.fromtimestamp(float(date) if not str(date).isdigit() else int(date))
        except (ValueError, TypeError, OverflowError, OSError):
            moment = _parse_date(str(date))
    return moment.strftime(format)


def _fuzzy_date(text: str) -> datetime.datetime | None:
    """Parses ``tomorrow``, ``12:30`` and the like by timelib, as in Salt, if it is installed."""
    try:
        import timelib  # type: ignore[import-not-found,import-untyped,unused-ignore]
    except ImportError:
        return None
    try:
        moment: datetime.datetime = timelib.strtodatetime(text.encode())
    except ValueError:
        return None
    return moment


def _parse_date(text: str) -> datetime.datetime:
    for candidate in (text, text.replace("/", "-")):
        try:
            return datetime.datetime.fromisoformat(candidate)
        except ValueError:
            continue
    raise ValueError(f"Unable to parse {text} as a date; what is not ISO 8601 takes: pip install 'pushsalt[timelib]'")


def path_join(*parts: Any, use_posixpath: bool = True) -> str:
    """One normalized path; later parts are never absolute."""
    normal = [posixpath.normpath(to_bytes(part).decode()) for part in parts]
    return posixpath.normpath(posixpath.join(normal[0], *(part.lstrip("/") for part in normal[1:]))) if normal else ""


def yaml_dquote(value: Any) -> str:
    """A double-quoted YAML scalar, quotes included."""
    stream = io.StringIO()
    Emitter(stream, width=sys.maxsize).write_double_quoted(str(value))
    return stream.getvalue()


def yaml_squote(value: Any) -> str:
    """A single-quoted YAML scalar, quotes included."""
    stream = io.StringIO()
    Emitter(stream, width=sys.maxsize).write_single_quoted(str(value))
    return stream.getvalue()


def yaml_encode(value: Any) -> str:
    """One scalar as YAML."""
    node = yaml.representer.SafeRepresenter().represent_data(value)
    if not isinstance(node, yaml.ScalarNode):
        raise TypeError(f"yaml_encode() only works with YAML scalar data; failed for {type(value)}")
    return yaml_dquote(node.value) if node.tag == "tag:yaml.org,2002:str" else str(node.value)


FILTERS: dict[str, Callable[..., Any]] = {
    "check_whitelist_blacklist": check_whitelist_blacklist,
    "contains_whitespace": contains_whitespace,
    "date_format": strftime,
    "human_to_bytes": human_to_bytes,
    "is_hex": is_hex,
    "path_join": path_join,
    "quote": shlex.quote,
    "regex_escape": re.escape,
    "regex_match": regex_match,
    "regex_replace": regex_replace,
    "regex_search": regex_search,
    "skip": lambda value: "",
    "str_to_num": to_num,
    "strftime": strftime,
    "to_bool": to_bool,
    "to_bytes": to_bytes,
    "to_camelcase": to_camelcase,
    "to_num": to_num,
    "to_snake_case": to_snake_case,
    "uuid": to_uuid,
    "yaml_dquote": yaml_dquote,
    "yaml_encode": yaml_encode,
    "yaml_squote": yaml_squote,
}
