"""Filters the notes that a target sends with its returns (thin.detail).

A target is not trusted: only valid notes are kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

_PATHS: Final = ("real", "missing", "blocked")
_FLAGS: Final = ("asked", "own", "dangling", "nowhere", "same")


def clean(sent: Any) -> dict[str, Any]:
    """The valid notes of one state."""
    if not isinstance(sent, Mapping):
        return {}
    note: dict[str, Any] = {name: True for name in _FLAGS if sent.get(name)}
    for name in _PATHS:
        if isinstance(path := sent.get(name), str) and path.startswith("/"):
            note[name] = path
    for name, valid in (("diffs", _is_text), ("digests", _is_pair)):
        given = sent.get(name)
        if isinstance(given, Mapping):
            note[name] = {path: value for path, value in given.items() if isinstance(path, str) and valid(value)}
    if isinstance(words := sent.get("unsure"), str):
        note["unsure"] = words
    given = sent.get("needs")
    if isinstance(given, list):
        note["needs"] = [need for need in given if _is_need(need)]
    return note


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_pair(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(isinstance(side, str | None) for side in value)


def _is_need(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 3 and all(isinstance(part, str) for part in value)
