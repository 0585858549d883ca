"""The grammar of ``sdb://PROFILE/KEY``. The driver interprets KEY, which usually is ``path?name=value``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final
from urllib.parse import unquote

from pushsalt.sdb import Asked

SCHEME: Final = "sdb://"


def is_uri(value: object) -> bool:
    """Whether a value is a text that begins with ``sdb://``."""
    return isinstance(value, str) and value.startswith(SCHEME)


def split(uri: str) -> tuple[str, str]:
    """(profile, key); if either is empty, the text is not the URI of a value."""
    profile, _, key = uri[len(SCHEME) :].partition("/")
    return profile, key


def holds_uri(value: Any) -> bool:
    """Whether data contains a URI."""
    return has(value, is_uri)


def has(value: Any, wanted: Callable[[Any], bool]) -> bool:
    """Whether nested data contains a text for which ``wanted`` is true."""
    if isinstance(value, str):
        return wanted(value)
    if isinstance(value, Mapping):
        return any(has(item, wanted) for item in value.values())
    return isinstance(value, list | tuple) and any(has(item, wanted) for item in value)


def replaced(value: Any, wanted: Callable[[Any], bool], give: Callable[[str], Any]) -> Any:
    """``value`` with each text that is ``wanted`` replaced by ``give(text)``; parts without such texts are not
    copied."""
    if isinstance(value, str):
        return give(value) if wanted(value) else value
    if isinstance(value, Mapping):
        items = {key: replaced(item, wanted, give) for key, item in value.items()}
        return value if all(items[key] is item for key, item in value.items()) else items
    if isinstance(value, list | tuple):
        new = [replaced(item, wanted, give) for item in value]
        return value if all(one is two for one, two in zip(new, value, strict=True)) else type(value)(new)
    return value


def read_key(key: str) -> Asked:
    """``a/b?name=value&other=x`` as path and fields; a name without a value has an empty one. ``%2F`` is ``/``."""
    path, _, query = key.partition("?")
    fields = {}
    for pair in query.split("&") if query else ():
        name, _, value = pair.partition("=")
        fields[unquote(name)] = unquote(value)
    return Asked(path, fields)
