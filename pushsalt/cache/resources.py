"""Which resources there are and who manages them, as it was last seen: the index behind ``T@`` and ``M@``.

The ids of an inventory are resources too. For them the inventory itself is the answer; they are registered here when
they are reached, beside what lies behind them, so that whoever looks up a resource finds all of one kind in one place.
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

#: How often in a row an index is made anew before the disk is no place for one.
_TRIES: Final = 3
#: The types of inventory ids: an id has one of them at a time.
INVENTORY_TYPES: Final = ("local", "offline", "ssh")


class ResourceBank:
    """The index, which is made anew if it is damaged; where it cannot be used nothing is known."""

    def __init__(self, root: Path, name: str = "resources", source: str = "minion_resources") -> None:
        self.path = root / name
        self._source = Bank(root, source)
        self._index: ResourceIndex | None = None
        self._usable = True
        self._opening = threading.Lock()

    def register(self, type: str, id: str, manager: str) -> None:
        """Note who manages an inventory id, which has no other type any more."""

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
        """Note several as (type, id, manager), all or none of them."""
        if entries:
            self._do(lambda index: index.put_many(entries), None)

    def delete(self, type: str, id: str) -> bool:
        """Forget one; whether it was there."""
        return self._do(lambda index: index.delete(type, id), False)

    def types(self) -> list[str]:
        """All types, sorted."""
        return self._do(lambda index: index.types(), [])

    def owners(self, type: str) -> dict[str, str]:
        """id -> manager of all of a type."""
        return self._do(lambda index: index.owners(type), {})

    def by_type(self, type: str) -> list[str]:
        """The ids of a type, sorted."""
        return self._do(lambda index: index.by_type(type), [])

    def by_manager(self, manager: str) -> list[tuple[str, str]]:
        """What one manages, as (type, id), sorted."""
        return self._do(lambda index: index.by_manager(manager), [])

    def keep(self, known: Mapping[str, str]) -> int:
        """Forget inventory ids that are not known with that type (``{id: type}``); how many there were."""
        gone = [(type, id) for type in INVENTORY_TYPES for id in self.by_type(type) if known.get(id) != type]
        return sum(self._do(lambda index, key=key: index.delete(*key), False) for key in gone)  # type: ignore[misc]

    def clear(self) -> None:
        """Forget all of them."""
        self._do(lambda index: index.reset(), None)

    def problems(self) -> list[str]:
        """What is wrong with the bytes of the index, in words; nothing is made anew here."""
        if not self.path.exists():
            return []
        from pushsalt.index.resources import ResourceIndex

        try:
            with ResourceIndex(self.path) as index:
                return [f"index: {text}" for text in index.verify()]
        except OSError as exc:
            return [f"index: {exc}"]

    def close(self) -> None:
        """Let go of the index."""
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
                    log.warning("the index of resources is damaged and made anew: %s", exc)
                    index.refill(self._kept, index.place())
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
                    index.refill(self._kept, None)
                elif index.crashed() is not None:
                    try:
                        self._put_right(index)
                    except IndexCorrupt as exc:
                        log.warning("the index of resources is damaged and made anew: %s", exc)
                        index.refill(self._kept, index.place())
            return self._index if self._usable else None

    def _put_right(self, index: ResourceIndex) -> None:
        """After a crash of the machine: the index may have lost its last writes, the bank has not."""
        with index.held():
            kept = {(type, id): manager for type, id, manager in self._kept()}
            for type, id, _ in index.items():
                if type not in INVENTORY_TYPES and (type, id) not in kept:
                    index.delete(type, id)
            index.put_many([(*key, manager) for key, manager in kept.items() if index.get(*key) != manager])

    def _kept(self) -> Iterator[tuple[str, str, str]]:
        """What the managers said last; of two who named the same the later one has it."""
        for manager, types, _ in sorted(self._source.entries(), key=lambda entry: entry[2]):
            for type, ids in types.items() if isinstance(types, dict) else ():
                yield from ((type, id, manager) for id in ids)
