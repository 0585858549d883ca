"""Keys of values: two values have the same key only if templates cannot distinguish them."""

from __future__ import annotations

import hashlib
import marshal
from collections.abc import Hashable
from typing import Any, Final

from thin.utils.dictupdate import InOrder

Key = Hashable

#: The key of a missing value.
MISSING: Final = ("missing",)

_SHORT: Final = 64


class NoKeyError(Exception):
    """The value contains a type that has no key."""


def key_of(value: Any) -> Key:
    """The key of a value; two values have the same key only if templates cannot distinguish them. Raises NoKeyError.

    The key of a long value is a digest: no copy of the value is kept, which may be a secret.
    """
    kind = type(value)
    if kind is str and len(value) <= _SHORT:
        return str(value)
    if value is None or kind is bool or kind is int:
        return (kind, value)
    try:
        data = marshal.dumps(value, 2)  # the last version whose output does not depend on reference counts
    except ValueError:
        try:
            data = _dumped_in_order(value) or marshal.dumps(_spelled(value), 2)
        except (ValueError, RecursionError):
            raise NoKeyError(kind.__name__) from None
    return data if len(data) <= _SHORT else (len(data), hashlib.blake2b(data, digest_size=20).digest())


def _dumped_in_order(value: Any) -> bytes:
    """The marshalled value if InOrder is its only derived type, else b""; faster than by ``_spelled``."""
    try:
        return marshal.dumps(_in_order_marked(value), 2)
    except ValueError:
        return b""


def _in_order_marked(value: Any) -> Any:
    kind = type(value)
    if kind is dict or kind is InOrder:
        plain = {key: _in_order_marked(item) if type(item) in _NESTED else item for key, item in value.items()}
        return plain if kind is dict else (..., plain)
    if kind is list:
        return [_in_order_marked(item) if type(item) in _NESTED else item for item in value]
    return value


_NESTED: Final = frozenset({dict, list, InOrder})


def _spelled(value: Any) -> Any:
    """The value with objects of derived types replaced by (name of the type, content)."""
    kind = type(value)
    if value is None or kind in (bool, int, float, str, bytes, complex):
        return value
    name = "in order" if kind is InOrder else f"{kind.__module__}.{kind.__qualname__}"  # InOrder is named dict
    if isinstance(value, dict):
        return name, [(_spelled(key), _spelled(item)) for key, item in dict.items(value)]
    if isinstance(value, list | tuple | set | frozenset):
        return name, [_spelled(item) for item in value]
    if isinstance(value, str):
        return name, str.__str__(value)
    if isinstance(value, int | float | bytes):
        return name, value.__repr__()
    raise NoKeyError(name)
