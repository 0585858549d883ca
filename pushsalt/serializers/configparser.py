"""INI files: a mapping of sections to mappings of text. Options: those of ``configparser.ConfigParser``."""

from __future__ import annotations

import configparser
import io
from typing import Any

from pushsalt.serializers import text_of


def serialize(obj: Any, **options: Any) -> str:
    if not isinstance(obj, dict):
        raise TypeError(f"configparser can only serialize dictionaries, not {type(obj)}")
    parser = configparser.ConfigParser(**options)
    parser.read_dict({str(section): _values(values) for section, values in obj.items()})
    text = io.StringIO()
    parser.write(text)
    return text.getvalue()


def _values(values: dict[Any, Any]) -> dict[str, Any]:
    return {str(key): None if value is None else str(value) for key, value in values.items()}


def deserialize(stream_or_string: Any, **options: Any) -> dict[str, dict[str, str]]:
    parser = configparser.ConfigParser(**options)
    parser.read_string(text_of(stream_or_string))
    return {section: dict(parser.items(section)) for section in parser.sections()}
