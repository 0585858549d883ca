"""The resources behind the targets of an inventory, as ``pushsalt.targeting`` asks for them (``ManagedResources``).

Where no target ever said that it manages any, that costs one look at a folder. What was answered is kept, and whose
registrations terms relied on (``T@``, ``M@``), so that their age can be said.
"""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Final

from pushsalt.model import Target

if TYPE_CHECKING:
    from pushsalt.select.project import SelectingProject
    from pushsalt.select.resources import Resources

#: More than so many are not looked up one by one, at some 5 µs each; all of a million take a second.
_MANY: Final = 10_000


class InventoryResources:
    """What ``known``, the ids of an inventory, manage.

    A resource with the very key that is also an inventory id is not there: they would share what is kept of them.
    """

    def __init__(self, project: SelectingProject, known: Mapping[str, Target]) -> None:
        self._project = project
        self._known = known
        self._there: bool | None = None
        self._all: dict[str, str] | None = None
        #: key -> manager, of those that were asked for
        self._managers: dict[str, str | None] = {}
        #: whose registrations a term relied on
        self._relied_on: set[str | None] = set()

    @property
    def _managed(self) -> Resources:
        return self._project.managed

    def has_any(self) -> bool:
        if self._there is None:
            folder = self._project.cache_dir / "minion_resources"
            # os.path rather than pathlib: every command pays for this.
            self._there = os.path.isdir(folder) and bool(self._managed.types())  # noqa: PTH112
        return self._there

    def all(self) -> Mapping[str, str]:
        if self._all is None:
            self._all = self._sound(self._managed.all(self._known))
            # what was there when it was asked for stays known, also if it is gone by now
            self._managers = {**self._managers, **self._all} if self._managers else dict[str, str | None](self._all)
        return self._all

    def of_type(self, type: str) -> Collection[str]:
        found = self._sound(self._managed.of_type(type, self._known))
        self._managers.update(found)
        self._relied_on.update(found.values())
        return found.keys()

    def of_manager(self, manager: str) -> Collection[str]:
        if manager not in self._known:
            return ()
        found = self._sound(dict.fromkeys(self._managed.managed_by(manager), manager))
        self._managers.update(found)
        return found.keys()

    def called(self, id: str) -> Collection[str]:
        found = {key: self.manager(key) for key in self._managed.called(id, self._known)}
        return [key for key, manager in found.items() if manager is not None]

    def manager(self, key: str) -> str | None:
        if self._all is not None:
            manager = self._all.get(key)
        elif key in self._managers:
            manager = self._managers[key]
        else:
            manager = self._managed.manager(key) if key not in self._known else None
            self._managers[key] = manager = manager if manager in self._known else None
        return manager

    def managers(self, keys: Collection[str]) -> Mapping[str, str | None]:
        for key in keys if self._all is None else ():
            if key not in self._managers:
                self.manager(key)
        return self._managers

    def relied(self, keys: Collection[str]) -> None:
        managers = self.managers(keys)
        self._relied_on.update(map(managers.get, keys))

    def those(self, keys: Iterable[str]) -> set[str]:
        """Which of these are there."""
        keys = list(keys)
        if self._all is None and len(keys) > _MANY:
            self.all()
        return {key for key in keys if self.manager(key) is not None}

    def elsewhere(self, name: str) -> Mapping[str, str]:
        keys = [name, *(f"{type}:{name}" for type in self._managed.types())] if self.has_any() else []
        found = {key: self._managed.manager(key) for key in keys}
        return {key: owner for key, owner in found.items() if owner is not None and owner not in self._known}

    def age(self, manager: str) -> int | None:
        """How long ago it was last looked what one manages, in seconds."""
        written = self._managed.bank.written(manager)
        return None if written is None else max(0, int(time.time() - written))

    def oldest(self) -> float | None:
        """When the oldest registration that a term relied on was taken in, in seconds since the epoch."""
        written = [self._managed.bank.written(manager) for manager in self._relied_on if manager is not None]
        return min((at for at in written if at is not None), default=None)

    def _sound(self, found: dict[str, str]) -> dict[str, str]:
        for key in found.keys() & self._known.keys():
            del found[key]
        return found
