"""The bank of known resources and their managers, which answers ``T@`` and ``M@``.

The ids of an inventory are resources too. The inventory is authoritative for them; they are registered here when they
are reached, like managed resources, so that one index has all resources.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from pushsalt.cache.store import Bank
from pushsalt.errors import IndexCorrupt

if TYPE_CHECKING:
    from pushsalt.index.resources import ResourceIndex

log = logging.getLogger(__name__)

_T = TypeVar("_T")

#: Number of consecutive rebuilds of an index after which the disk counts as unusable.
_TRIES: Final = 3
#: The types of inventory ids: an id has one of them at a time.
INVENTORY_TYPES: Final = ("local", "offline", "ssh")


class ResourceBank:
    """The index of resources. It is rebuilt if it is damaged; if it cannot be used, the bank is empty."""

    def __init__(self, root: Path, name: str = "resources", source: str = "minion_resources") -> None:
        self.path = root / name
        self._source = Bank(root, source)
        self._index: ResourceIndex | None = None
        self._usable = True
        self._opening = threading.Lock()

    def register(self, type: str, id: str, manager: str) -> None:
        """Set the manager of an inventory id, and remove the id from other types."""

        def note(index: ResourceIndex) -> None:
            if index.get(type, id) != manager:
                for other in INVENTORY_TYPES:
                    if other != type:
                        index.delete(other, id)
                index.put(type, id, manager)

        self._do(note, None)

    def get(self, type: str, id: str) -> str | None:
        """The manager of a resource, or None."""
        return self._do(lambda index: index.get(type, id), None)

    def put_many(self, entries: Sequence[tuple[str, str, str]]) -> None:
        """Set several (type, id, manager), all or none."""
        if entries:
            self._do(lambda index: index.put_many(entries), None)

    def delete(self, type: str, id: str) -> bool:
        """Remove a resource. Returns whether it existed."""
        return self._do(lambda index: index.delete(type, id), False)

    def types(self) -> list[str]:
        """All types, sorted."""
        return self._do(lambda index: index.types(), [])

    def owners(self, type: str) -> dict[str, str]:
        """id -> manager, for all resources of a type."""
        return self._do(lambda index: index.owners(type), {})

    def by_type(self, type: str) -> list[str]:
        """The ids of a type, sorted."""
        return self._do(lambda index: index.by_type(type), [])

    def by_manager(self, manager: str) -> list[tuple[str, str]]:
        """The resources of a manager as (type, id), sorted."""
        return self._do(lambda index: index.by_manager(manager), [])

    def keep(self, inventory: Mapping[str, str]) -> int:
        """Remove inventory ids that are not in ``inventory`` (``{id: type}``) with their type; returns their number."""
        removed = [(type, id) for type in INVENTORY_TYPES for id in self.by_type(type) if inventory.get(id) != type]
        return sum(self._do(lambda index, key=key: index.delete(*key), False) for key in removed)  # type: ignore[misc]

    def clear(self) -> None:
        """Remove all resources."""
        self._do(lambda index: index.reset(), None)

    def problems(self) -> list[str]:
        """Damage of the index, as texts; nothing is repaired."""
        if not self.path.exists():
            return []
        from pushsalt.index.resources import ResourceIndex

        try:
            with ResourceIndex(self.path) as index:
                return [f"index: {text}" for text in index.verify()]
        except OSError as exc:
            return [f"index: {exc}"]

    def close(self) -> None:
        """Close the index."""
        with self._opening:
            if self._index is not None:
                self._index.close()
                self._index = None

    def _do(self, work: Callable[[ResourceIndex], _T], otherwise: _T) -> _T:
        try:
            index = self._open()
            if index is None:
                return otherwise
            for _ in range(_TRIES):
                try:
                    return work(index)
                except IndexCorrupt as exc:
                    log.warning("the index of resources is damaged and is rebuilt: %s", exc)
                    index.refill(self._last_answers, index.place())
            return work(index)
        except (IndexCorrupt, OSError) as exc:
            if self._usable:
                log.warning("the index of resources cannot be used: %s", exc)
            self._usable = False
            return otherwise

    def _open(self) -> ResourceIndex | None:
        with self._opening:
            if self._index is None and self._usable:
                from pushsalt.index.resources import ResourceIndex

                self._index = index = ResourceIndex(self.path)
                if index.place() is None:
                    index.refill(self._last_answers, None)
                elif index.crashed() is not None:
                    try:
                        self._put_right(index)
                    except IndexCorrupt as exc:
                        log.warning("the index of resources is damaged and is rebuilt: %s", exc)
                        index.refill(self._last_answers, index.place())
            return self._index if self._usable else None

    def _put_right(self, index: ResourceIndex) -> None:
        """Restore writes that the index may have lost in a crash of the machine, from the stored answers."""
        with index.held():
            kept = {(type, id): manager for type, id, manager in self._last_answers()}
            for type, id, _ in index.items():
                if type not in INVENTORY_TYPES and (type, id) not in kept:
                    index.delete(type, id)
            index.put_many([(*key, manager) for key, manager in kept.items() if index.get(*key) != manager])

    def _last_answers(self) -> Iterator[tuple[str, str, str]]:
        """The last answers of all managers; a resource that two of them named belongs to the later one."""
        for manager, types, _ in sorted(self._source.entries(), key=lambda entry: entry[2]):
            for type, ids in types.items() if isinstance(types, dict) else ():
                yield from ((type, id, manager) for id in ids)
