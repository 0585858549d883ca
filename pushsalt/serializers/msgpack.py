"""msgpack, which is bytes."""

from __future__ import annotations

from typing import Any

import msgpack

from pushsalt.serializers import bytes_of


def serialize(obj: Any, **options: Any) -> bytes:
    packed: bytes = msgpack.packb(obj, **options)
    return packed


def deserialize(stream_or_string: Any, **options: Any) -> Any:
    return msgpack.unpackb(bytes_of(stream_or_string), **{"strict_map_key": False, **options})
