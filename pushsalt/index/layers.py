"""Managers of resources in layers: the entry of a newer layer overrides those of older layers.

A layer is a segment (``segment``), or entries in memory (``Recent``): the writes of the log, or the entries saved from
a damaged segment. In a layer, None as the manager means "deleted". The number of layers is bounded (``compaction``).
"""

from __future__ import annotations

import enum
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import starmap
from typing import Final, Protocol

from pushsalt.index.filters import hash_key

Key = tuple[str, str]
#: type -> id -> manager, or None for deleted
ByType = Mapping[str, Mapping[str, str | None]]


class Missing(enum.Enum):
    """The result of a layer that has no entry for a resource."""

    MISSING = 0


MISSING: Final = Missing.MISSING


class Layer(Protocol):
    """A set of entries. All methods may raise Damage."""

    @property
    def name(self) -> str:
        """The name of its file."""

    @property
    def count(self) -> int:
        """The number of entries."""

    def find(self, type: str, id: str, key_hash: int) -> str | Missing | None:
        """The manager of a resource; ``key_hash`` is its hash (``filters``)."""

    def types(self) -> Collection[str]:
        """The types of all entries, deleted ones included."""

    def managers(self) -> Collection[str]:
        """The managers of all entries."""

    def firsts(self, managers: Collection[str]) -> dict[str, Key]:
        """manager -> one of its resources, for those of the managers that have entries."""

    def has_living(self, type: str) -> bool:
        """Whether this layer has resources of the type that are not deleted."""

    def ids(self, type: str) -> tuple[list[str], set[str]]:
        """The sorted ids of a type, and its deleted ids."""

    def owners(self, type: str) -> Mapping[str, str | None]:
        """id -> manager, for a type."""

    def by_manager(self, manager: str) -> list[Key]:
        """The resources of a manager."""

    def among(self, keys: Sequence[Key], hashes: Sequence[int]) -> set[Key]:
        """Those of the resources for which this layer has an entry; ``hashes`` are their hashes."""

    def entries(self) -> ByType:
        """All entries."""


class Recent:
    """A layer in memory. It is small: look-ups by manager scan all entries in ``by_type``."""

    def __init__(self, items: Iterable[tuple[str, str, str | None]] = (), name: str = "") -> None:
        self.name = name
        #: the number of writes in ``by_type``
        self.count = 0
        #: type -> id -> manager. With tuples as keys, the next garbage collection would take as long as reading the log
        self.by_type: dict[str, dict[str, str | None]] = {}
        self.add(items)

    def add(self, items: Iterable[tuple[str, str, str | None]]) -> None:
        by_type = self.by_type
        for type, id, manager in items:
            try:
                by_type[type][id] = manager
            except KeyError:
                by_type[type] = {id: manager}
            self.count += 1

    def find(self, type: str, id: str, key_hash: int) -> str | Missing | None:
        return self.owners(type).get(id, MISSING)

    def types(self) -> Collection[str]:
        return self.by_type

    def managers(self) -> Collection[str]:
        return {manager for ids in self.by_type.values() for manager in ids.values() if manager is not None}

    def firsts(self, managers: Collection[str]) -> dict[str, Key]:
        items = ((type, id, of) for type, ids in self.by_type.items() for id, of in ids.items())
        return {of: (type, id) for type, id, of in items if of is not None and of in managers}

    def has_living(self, type: str) -> bool:
        return any(manager is not None for manager in self.owners(type).values())

    def ids(self, type: str) -> tuple[list[str], set[str]]:
        owners = self.owners(type)
        gone = {id for id, manager in owners.items() if manager is None}
        return sorted(owners.keys() - gone), gone

    def owners(self, type: str) -> dict[str, str | None]:
        return self.by_type.get(type, {})

    def by_manager(self, manager: str) -> list[Key]:
        return [(type, id) for type, ids in self.by_type.items() for id, of in ids.items() if of == manager]

    def among(self, keys: Sequence[Key], hashes: Sequence[int]) -> set[Key]:
        by_type = self.by_type
        return {key for key in keys if key[0] in by_type and key[1] in by_type[key[0]]}

    def entries(self) -> ByType:
        return {type: dict(ids) for type, ids in self.by_type.items()}


# --- queries on several layers, oldest first --------------------------------------------------------------------------


def find(newest_first: Iterable[Layer], type: str, id: str) -> str | None:
    """The manager of a resource; the layers are ordered newest first, unlike in the functions below."""
    sought = hash_key(type, id)
    for layer in newest_first:
        manager = layer.find(type, id, sought)
        if manager is not MISSING:
            return manager
    return None


def by_type(layers: Iterable[Layer], type: str) -> list[str]:
    """The ids of a type, sorted."""
    result: list[str] = []
    for layer in layers:
        ids, gone = layer.ids(type)
        result = _changed(result, ids, gone) if result else ids
    return result


def _changed(before: list[str], ids: list[str], gone: set[str]) -> list[str]:
    merged: list[str] = []
    at = 0
    for id in sorted([*ids, *gone]):
        place = bisect_left(before, id, at)
        merged += before[at:place]
        at = place + 1 if place < len(before) and before[place] == id else place
        if id not in gone:
            merged.append(id)
    return merged + before[at:]


def owners(layers: Iterable[Layer], type: str) -> dict[str, str]:
    """id -> manager, for all resources of a type."""
    owners: dict[str, str | None] = {}
    for layer in layers:
        owners.update(layer.owners(type))
    if None not in owners.values():
        return owners  # type: ignore[return-value]
    return {id: manager for id, manager in owners.items() if manager is not None}


def by_manager(layers: Sequence[Layer], manager: str) -> list[Key]:
    """The resources of a manager, sorted."""
    keys: list[Key] = []
    hashes: list[int] = []
    for layer in layers:
        named = layer.among(keys, hashes) if keys else ()
        if named:
            hashes = [one for key, one in zip(keys, hashes, strict=True) if key not in named]
            keys = [key for key in keys if key not in named]
        new = layer.by_manager(manager)
        keys += new
        if layer is not layers[-1]:
            hashes += starmap(hash_key, new)
    return sorted(keys)


def types(layers: Sequence[Layer]) -> list[str]:
    """The types that have resources, sorted."""
    alive: dict[str, bool] = {}
    for layer in reversed(layers):
        for type in layer.types():
            if not alive.get(type):
                # resources in the newest layer with this type cannot be overridden
                alive[type] = layer.has_living(type) if type not in alive else bool(by_type(layers, type))
    return sorted(type for type in alive if alive[type])


def managers(layers: Sequence[Layer]) -> list[str]:
    """The managers of all resources, sorted."""
    *older, newest = layers
    sure = set(newest.managers())
    doubtful: set[str] = set()
    newer = [newest]
    for layer in reversed(older):
        # A manager with a resource that no newer layer overrides is certain. For most, one resource is enough to know.
        firsts = layer.firsts(set(layer.managers()) - sure)
        keys = list(firsts.values())
        hashes = list(starmap(hash_key, keys))
        named: set[Key] = set()
        for one in newer if keys else ():
            named |= one.among(keys, hashes)
        sure.update(manager for manager, key in firsts.items() if key not in named)
        doubtful.update(manager for manager, key in firsts.items() if key in named)
        newer.append(layer)
    return sorted(sure.union(manager for manager in doubtful - sure if by_manager(layers, manager)))


def united(maps: Iterable[ByType]) -> dict[str, dict[str, str | None]]:
    """The mappings merged; later ones override earlier ones."""
    merged: dict[str, dict[str, str | None]] = {}
    for map in maps:
        for type, owners in map.items():
            if type in merged:
                merged[type].update(owners)
            else:
                merged[type] = dict(owners)
    return merged


def everything(layers: Iterable[Layer]) -> Iterator[tuple[str, str, str]]:
    """All resources as (type, id, manager), in no particular order."""
    for type, owners in united(layer.entries() for layer in layers).items():
        for id, manager in owners.items():
            if manager is not None:
                yield type, id, manager
