"""Apple's property lists, which are bytes."""

from __future__ import annotations

import plistlib
from typing import Any

from pushsalt.serializers import bytes_of


def serialize(obj: Any, **options: Any) -> bytes:
    return plistlib.dumps(obj, **options)


def deserialize(stream_or_string: Any, **options: Any) -> Any:
    return plistlib.loads(bytes_of(stream_or_string), **options)
