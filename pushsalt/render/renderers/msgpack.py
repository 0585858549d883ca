"""MessagePack into data, for file servers and renderers that produce data; empty input gives an empty mapping.

A first line with the renderers' names is skipped.
"""

from __future__ import annotations

from typing import Any

import msgpack

from pushsalt.render.problems import SourceError
from pushsalt.render.source import as_content


def render(data: Any, saltenv: str = "base", sls: str = "", **kwargs: Any) -> Any:
    content = as_content(data)
    packed = content.encode() if isinstance(content, str) else content
    if packed.startswith(b"#!"):
        packed = packed.partition(b"\n")[2]
    if not packed.strip():
        return {}
    try:
        return msgpack.unpackb(packed, raw=False, strict_map_key=False)
    except (ValueError, TypeError, msgpack.UnpackException) as exc:
        raise SourceError(f"msgpack: {exc or type(exc).__name__}") from None
