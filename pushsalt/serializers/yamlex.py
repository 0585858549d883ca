"""YAML as the renderer ``yamlex`` has it: ``!aggregate`` and ``!reset``."""

from __future__ import annotations

from typing import Any

from pushsalt.render.renderers.yamlex import load_yamlex
from pushsalt.serializers import text_of
from pushsalt.serializers import yaml as plain


def serialize(obj: Any, **options: Any) -> str:
    return plain.serialize(obj, **options)


def deserialize(stream_or_string: Any) -> Any:
    return load_yamlex(text_of(stream_or_string))
