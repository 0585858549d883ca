"""Python's notation, as ``pprint`` writes it; it is not read back."""

from __future__ import annotations

from pprint import pformat
from typing import Any


def serialize(obj: Any, **options: Any) -> str:
    return pformat(obj, **options)
