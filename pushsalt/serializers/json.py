"""JSON; non-ASCII characters are not escaped. Options: those of Python's ``json``."""

from __future__ import annotations

import json
from typing import Any

from pushsalt.serializers import text_of


def serialize(obj: Any, **options: Any) -> str:
    return json.dumps(obj, **{"ensure_ascii": False, **options})


def deserialize(stream_or_string: Any, **options: Any) -> Any:
    return json.loads(text_of(stream_or_string), **options)
