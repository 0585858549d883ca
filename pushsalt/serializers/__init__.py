"""Serializers, one file each: ``serialize(obj, **options)`` and ``deserialize(stream_or_string, **options)``.

``slsutil`` and ``file.serialize`` find them by their file's name; users' own, in ``_serializers`` of the file roots,
win. They run on the controller. Options are those of the underlying module. They may raise any exception, which the
caller turns into an error. Salt: salt.serializers.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol

from pushsalt import plugins
from pushsalt.errors import FunctionError


class Serializer(Protocol):
    """The module contract. One that only reads, or only writes, leaves the other function out."""

    def serialize(self, obj: Any, **options: Any) -> str | bytes: ...

    def deserialize(self, stream_or_string: Any, **options: Any) -> Any: ...


def text_of(stream_or_string: Any) -> str:
    """The text of a str, of bytes in UTF-8, or of a file object."""
    data = stream_or_string.read() if hasattr(stream_or_string, "read") else stream_or_string
    return data.decode("utf-8") if isinstance(data, bytes) else str(data)


def bytes_of(stream_or_string: Any) -> bytes:
    """As ``text_of``, as bytes."""
    data = stream_or_string.read() if hasattr(stream_or_string, "read") else stream_or_string
    return data if isinstance(data, bytes) else str(data).encode("utf-8")


def serializer_named(name: str, folders: Sequence[Path] = ()) -> ModuleType:
    """The module of a serializer. ``folders``: folders of users' serializers. Raises FunctionError for unknown ones."""
    available = plugins.names("serializers", folders)
    if name not in available:
        text = f"Serializer '{name}' not found."
        raise FunctionError("exception", text, f"there are: {', '.join(available)}", "CommandExecutionError")
    return plugins.load("serializers", name, folders)
