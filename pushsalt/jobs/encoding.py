"""Values of the record as compressed JSON, and back. What JSON has no type for is kept as it is shown."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from typing import Any, Final

_LEVEL: Final = 1
#: Values within each other; deeper ones are kept as their text. Answers of targets are bounded below this.
_DEEPEST: Final = 200


def pack(value: Any) -> bytes:
    """The value, compressed."""
    return zlib.compress(text_of(value).encode("ascii"), _LEVEL)


def unpack(data: bytes) -> Any:
    """The value. Raises ValueError for damaged data."""
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
