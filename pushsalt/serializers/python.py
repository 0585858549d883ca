"""Python literals, as ``pprint`` writes them; there is no ``deserialize``."""

from __future__ import annotations

from pprint import pformat
from typing import Any


def serialize(obj: Any, **options: Any) -> str:
    return pformat(obj, **options)
