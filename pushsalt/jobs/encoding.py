"""Encodes values of the record as compressed JSON, and decodes them. Types that JSON does not have become text."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Mapping
from typing import Any, Final

_LEVEL: Final = 1
#: A text of more characters is encoded and compressed in parts, since JSON may need six characters for one.
_LONG: Final = 1 << 20
#: Maximum depth of nested values; deeper ones become text. The limit for answers of targets is lower.
_DEEPEST: Final = 200


def pack(value: Any) -> bytes:
    """The value as compressed JSON."""
    if not _has_long_text(value):
        return zlib.compress(text_of(value).encode("ascii"), _LEVEL)
    stream = zlib.compressobj(_LEVEL)
    return b"".join([*(stream.compress(part.encode("ascii")) for part in _parts(value, 0)), stream.flush()])


def unpack(data: bytes) -> Any:
    """The value of compressed JSON. Raises ValueError for damaged data."""
    try:
        return json.loads(zlib.decompress(data))
    except (zlib.error, ValueError, RecursionError) as exc:
        raise ValueError(f"damaged: {exc}") from None


def text_of(value: Any) -> str:
    """The value as JSON in ASCII; any value has one."""
    try:
        return json.dumps(value, default=_other, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError):
        return json.dumps(_plain(value, 0), separators=(",", ":"))


def _has_long_text(value: Any, depth: int = 0) -> bool:
    """Whether a text within the value is longer than ``_LONG``; values deeper than ``_DEEPEST`` are not examined."""
    if isinstance(value, str | bytes | bytearray):
        return len(value) > _LONG
    if depth > _DEEPEST:
        return False
    if isinstance(value, Mapping):
        return any(_has_long_text(item, depth + 1) for item in value.values())
    return isinstance(value, list | tuple) and any(_has_long_text(item, depth + 1) for item in value)


def _parts(value: Any, depth: int) -> Iterator[str]:
    """Yield the JSON text of a value in pieces. A long text is split after each ``_LONG`` characters."""
    if isinstance(value, bytes | bytearray):
        value = _other(value)
    if isinstance(value, str) and len(value) > _LONG:
        yield '"'
        for start in range(0, len(value), _LONG):
            yield json.dumps(value[start : start + _LONG])[1:-1]
        yield '"'
    elif depth < _DEEPEST and isinstance(value, Mapping):
        for number, (key, item) in enumerate(value.items()):
            yield ("," if number else "{") + text_of({key: 0})[1:-2]  # the key and its colon
            yield from _parts(item, depth + 1)
        yield "}" if value else "{}"
    elif depth < _DEEPEST and isinstance(value, list | tuple):
        for number, item in enumerate(value):
            yield "," if number else "["
            yield from _parts(item, depth + 1)
        yield "]" if value else "[]"
    else:
        yield text_of(value)


def _other(value: Any) -> Any:
    if isinstance(value, bytes | bytearray):
        return bytes(value).decode("utf-8", "replace")
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, set | frozenset):
        return sorted(value, key=repr)
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


def _plain(value: Any, depth: int) -> Any:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if depth > _DEEPEST:
        return str(type(value))
    if isinstance(value, Mapping):
        return {_key(key): _plain(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(item, depth + 1) for item in value]
    return _plain(_other(value), depth + 1)


def _key(key: Any) -> str:
    if isinstance(key, str):
        return key
    return bytes(key).decode("utf-8", "replace") if isinstance(key, bytes | bytearray) else str(key)
