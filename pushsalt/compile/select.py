"""Selects chunks of a lowstate with all their requisites, so that they can run alone."""

from __future__ import annotations

from collections.abc import Iterator
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
)


def _named(requisites: Any) -> Iterator[tuple[str, str]]:
    """(kind, name or pattern) of each entry of a requisite list; kind: a state module, ``id`` or ``sls``."""
    for entry in requisites or ():
        for kind, name in entry.items() if isinstance(entry, dict) else [("id", entry)]:
            yield str(kind).partition(".")[0], str(name)


def _meets(chunk: Chunk, kind: str, name: str) -> bool:
    if kind == "sls":
        names = [chunk.get("__sls__"), *(chunk.get("__sls_included_from__") or ())]
    else:
        names = [chunk.get("__id__"), chunk.get("name")]
    return kind in ("sls", "id", chunk["state"]) and any(fnmatchcase(str(own), name) for own in names)


def with_requisites(low: list[Chunk], wanted: list[Chunk]) -> list[Chunk]:
    """The wanted chunks and, transitively, the chunks that their requisites name or that have them as ``prereq``; in
    the order of ``low``."""
    keep: set[int] = set()
    open_ends = [low.index(chunk) for chunk in wanted]
    while open_ends:
        at = open_ends.pop()
        if at in keep:
            continue
        keep.add(at)
        names = [pair for key in _FORWARD for pair in _named(low[at].get(key))]
        open_ends += [
            other
            for other, chunk in enumerate(low)
            if other not in keep
            and (
                any(_meets(chunk, *pair) for pair in names)
                or any(_meets(low[at], *pair) for pair in _named(chunk.get("prereq")))
            )
        ]
    return [chunk for at, chunk in enumerate(low) if at in keep]
