"""A part of a lowstate that can run by itself: some chunks and all that they depend on."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Any

from pushsalt.model import Chunk

_FORWARD = (
    "require",
    "require_any",
    "watch",
    "watch_any",
    "onchanges",
    "onchanges_any",
    "onfail",
    "onfail_any",
    "onfail_all",
    "prereq",
    "use",
)


def _names(requisite: Any) -> list[tuple[str | None, str]]:
    """(module or None for any, name or ID) of one entry of a requisite list."""
    if isinstance(requisite, dict):
        return [(str(module), str(name)) for module, name in requisite.items()]
    return [(None, str(requisite))]


def _meets(chunk: Chunk, module: str | None, name: str) -> bool:
    if module == "sls":
        return fnmatchcase(str(chunk.get("__sls__")), name)
    return (module is None or chunk["state"] == module) and (
        fnmatchcase(str(chunk.get("__id__")), name) or fnmatchcase(str(chunk.get("name")), name)
    )


def with_requisites(low: list[Chunk], wanted: list[Chunk]) -> list[Chunk]:
    """The wanted chunks and, transitively, those that their requisites name; in the order of ``low``."""
    keep: set[int] = set()
    open_ends = [low.index(chunk) for chunk in wanted]
    while open_ends:
        at = open_ends.pop()
        if at in keep:
            continue
        keep.add(at)
        for key in _FORWARD:
            for requisite in low[at].get(key) or ():
                for module, name in _names(requisite):
                    open_ends += [
                        other for other, chunk in enumerate(low) if other not in keep and _meets(chunk, module, name)
                    ]
    return [chunk for at, chunk in enumerate(low) if at in keep]
