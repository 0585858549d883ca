"""Who manages what, in layers: a newer one has the last word on the resources that it names.

A layer is a segment (``segment``) or what is in memory (``Recent``): the writes of the log, or what could be saved of a
damaged segment. In a layer None as the manager stands for "gone". How many there are is bounded (``compaction``).
"""

from __future__ import annotations

import enum
from bisect import bisect_left
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final, Protocol, TypeVar

Key = tuple[str, str]
_K = TypeVar("_K")


class Missing(enum.Enum):
    """What a layer says of a resource that it does not name."""

    MISSING = 0


MISSING: Final = Missing.MISSING


class Layer(Protocol):
    """All methods may raise Damage."""

    @property
    def name(self) -> str:
        """Of its file."""

    @property
    def count(self) -> int:
        """How many resources it has a word on."""

    def find(self, type: str, id: str) -> str | Missing | None:
        """The manager of a resource."""

    def types(self) -> Collection[str]:
        """Of which types there are resources here, living or gone."""

    def managers(self) -> Collection[str]:
        """Who manages any."""

    def ids(self, type: str) -> tuple[list[str], set[str]]:
        """Those of a type, sorted, and those that are gone."""

    def owners(self, type: str) -> dict[str, str | None]:
        """id -> manager of a type."""

    def by_manager(self, manager: str) -> list[Key]:
        """What one manages."""

    def among(self, type: str, ids: Sequence[str]) -> set[str]:
        """Those of the ids of a type that this layer has a word on."""

    def entries(self) -> dict[Key, str | None]:
        """All of it."""


class Recent:
    """A layer in memory. There is little in it: what is asked for by manager is picked out of all that is ``known``."""

    def __init__(self, known: Mapping[Key, str | None] | None = None, name: str = "") -> None:
        self.name = name
        #: how many writes there were of all that is known
        self.count = 0
        #: type -> id -> manager. Pairs as keys would be so many objects for Python to look after, that its next round
        #: costs as much as reading the log
        self.known: dict[str, dict[str, str | None]] = {}
        if known:
            self.add((*key, manager) for key, manager in known.items())

    def add(self, items: Iterable[tuple[str, str, str | None]]) -> None:
        known = self.known
        for type, id, manager in items:
            try:
                known[type][id] = manager
            except KeyError:
                known[type] = {id: manager}
            self.count += 1

    def find(self, type: str, id: str) -> str | Missing | None:
        return self.owners(type).get(id, MISSING)

    def types(self) -> Collection[str]:
        return self.known

    def managers(self) -> Collection[str]:
        return {manager for ids in self.known.values() for manager in ids.values() if manager is not None}

    def ids(self, type: str) -> tuple[list[str], set[str]]:
        owners = self.owners(type)
        gone = {id for id, manager in owners.items() if manager is None}
        return sorted(owners.keys() - gone), gone

    def owners(self, type: str) -> dict[str, str | None]:
        return self.known.get(type, {})

    def by_manager(self, manager: str) -> list[Key]:
        return [(type, id) for type, ids in self.known.items() for id, of in ids.items() if of == manager]

    def among(self, type: str, ids: Sequence[str]) -> set[str]:
        return self.owners(type).keys() & ids

    def entries(self) -> dict[Key, str | None]:
        return {(type, id): manager for type, ids in self.known.items() for id, manager in ids.items()}


# --- questions to layers, of which the oldest comes first -------------------------------------------------------------


def find(newest_first: Iterable[Layer], type: str, id: str) -> str | None:
    """The manager of a resource; here the newest layer comes first."""
    for layer in newest_first:
        found = layer.find(type, id)
        if found is not MISSING:
            return found
    return None


def by_type(layers: Iterable[Layer], type: str) -> list[str]:
    """The ids of a type, sorted."""
    found: list[str] = []
    for layer in layers:
        ids, gone = layer.ids(type)
        found = _changed(found, ids, gone) if found else ids
    return found


def _changed(found: list[str], ids: list[str], gone: set[str]) -> list[str]:
    merged: list[str] = []
    at = 0
    for id in sorted([*ids, *gone]):
        place = bisect_left(found, id, at)
        merged += found[at:place]
        at = place + 1 if place < len(found) and found[place] == id else place
        if id not in gone:
            merged.append(id)
    return merged + found[at:]


def owners(layers: Iterable[Layer], type: str) -> dict[str, str]:
    """id -> manager of all resources of a type."""
    found: dict[str, str | None] = {}
    for layer in layers:
        found.update(layer.owners(type))
    return _living(found)


def by_manager(layers: Iterable[Layer], manager: str) -> list[Key]:
    """The resources of a manager, sorted."""
    found: list[Key] = []
    for layer in layers:
        for type in {type for type, _ in found}:
            ids = layer.among(type, [id for of, id in found if of == type])
            if ids:
                found = [key for key in found if key[0] != type or key[1] not in ids]
        found += layer.by_manager(manager)
    return sorted(found)


def types(layers: Sequence[Layer]) -> list[str]:
    """The types that have resources, sorted."""
    alive: dict[str, bool] = {}
    for layer in reversed(layers):
        for type in layer.types():
            if not alive.get(type):
                # what lives in the newest layer of all that name the type does live
                alive[type] = bool(layer.ids(type)[0]) if type not in alive else bool(by_type(layers, type))
    return sorted(type for type in alive if alive[type])


def managers(layers: Sequence[Layer]) -> list[str]:
    """Who manages any resource, sorted."""
    oldest, *newer = layers
    if not newer:
        return sorted(oldest.managers())
    entries: dict[Key, str | None] = {}
    for layer in newer:
        entries.update(layer.entries())
    sure = {manager for manager in entries.values() if manager is not None}
    touched = {manager for key in entries if isinstance(manager := oldest.find(*key), str)} - sure
    sure.update(manager for manager in oldest.managers() if manager not in touched)
    return sorted(sure.union(manager for manager in touched if by_manager(layers, manager)))


def everything(layers: Iterable[Layer]) -> dict[Key, str]:
    """(type, id) -> manager."""
    found: dict[Key, str | None] = {}
    for layer in layers:
        found.update(layer.entries())
    return _living(found)


def _living(found: dict[_K, str | None]) -> dict[_K, str]:
    if None not in found.values():
        return found  # type: ignore[return-value]
    return {key: manager for key, manager in found.items() if manager is not None}
