"""TOML, read by Python itself (3.11 or the package tomli); writing it needs the package toml."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from pushsalt.serializers import text_of


def serialize(obj: Any, **options: Any) -> str:
    text: str = import_module("toml").dumps(obj, **options)
    return text


def deserialize(stream_or_string: Any, **options: Any) -> Any:
    try:
        parser = import_module("tomllib")
    except ImportError:
        parser = import_module("tomli")
    return parser.loads(text_of(stream_or_string), **options)
