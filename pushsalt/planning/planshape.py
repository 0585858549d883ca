"""Checks the shape of a plan file's content: anyone who knows a recipient can seal any content to it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pushsalt.planning.marks import MARKS

_NUMBER: Final = (int, float)
#: Key -> type, of each level.
_MADE: Final[Mapping[str, Any]] = {
    "created": _NUMBER,
    "runtime": str,
    "revision": str,
    "lock": str,
    "words": list,
    "by": str,
    "key": bytes,
    "options": Mapping,
}
_ENTRY: Final[Mapping[str, Any]] = {
    "place": str,
    "data": Mapping,
    "run": Mapping,
    "files": Mapping,
    "trees": Mapping,
    "templates": Mapping,
    "pillar": Mapping,
    "disabled": Mapping,
    "custom": str,
}
_STATE: Final[Mapping[str, Any]] = {
    "tag": str,
    "mark": str,
    "because": list,
    "changes": object,
    "diff": (str, type(None)),
    "comment": str,
}
_OPTIONS: Final = ("pillar", "saltenv", "pillarenv")


def check(content: Mapping[str, Any]) -> None:
    """Raises ValueError if the content of a plan file does not have the right shape."""
    _require(content["made"], _MADE)
    _are_texts(content["made"]["words"])
    if set(content["made"]["options"]) != set(_OPTIONS):
        raise ValueError("options")
    for name in ("targets", "failed", "blobs"):
        _are(content[name], Mapping)
    for entry in content["targets"].values():
        _require(entry, _ENTRY)
        _are(entry["run"].get("chunks"), list)
        for chunk in entry["run"]["chunks"]:
            _require(chunk, {"state": str, "fun": str, "name": object, "__id__": object})
        _require(entry["data"], {"states": list, "counts": Mapping})
        for state in entry["data"]["states"]:
            _require(state, _STATE)
            _are_texts(state["because"])
            if state["mark"] not in MARKS:
                raise ValueError(state["mark"])
        if set(entry["data"]["counts"]) != set(MARKS):
            raise ValueError("counts")
    if not all(isinstance(blob, bytes) for blob in content["blobs"].values()):
        raise ValueError("blobs")
    _are_texts(content["secrets"])


def _are(value: Any, kind: Any) -> None:
    if not isinstance(value, kind):
        raise ValueError(f"{type(value).__name__} in place of {kind}")


def _are_texts(values: Any) -> None:
    _are(values, list)
    for value in values:
        _are(value, str)


def _require(value: Any, shape: Mapping[str, Any]) -> None:
    _are(value, Mapping)
    for key, kind in shape.items():
        _are(value[key], kind)
