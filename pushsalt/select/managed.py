"""The managed resources of an inventory, for ``pushsalt.targeting`` (its protocol ``ManagedResources``).

If no target has resources, each method only tests whether a folder exists. Results are cached. The managers whose
registrations were used by terms (``T@``, ``M@``) are recorded, to report their age.
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

#: Up to this number, keys are looked up one by one (about 5 µs each); reading a million at once takes a second.
_MANY: Final = 10_000


class InventoryResources:
    """The resources that ``targets``, the ids of an inventory, manage.

    A resource whose key equals an inventory id is left out, since they would share cache entries.
    """

    def __init__(self, project: SelectingProject, targets: Mapping[str, Target]) -> None:
        self._project = project
        self._targets = targets
        self._there: bool | None = None
        self._all: dict[str, str] | None = None
        #: key -> manager, for looked-up keys
        self._managers: dict[str, str | None] = {}
        #: managers whose registrations a term has used
        self._relied_on: set[str | None] = set()

    @property
    def _managed(self) -> Resources:
        return self._project.managed

    def has_any(self) -> bool:
        if self._there is None:
            folder = self._project.cache_dir / "minion_resources"
            # os.path rather than pathlib: it is faster, and every command runs this.
            self._there = os.path.isdir(folder) and bool(self._managed.types())  # noqa: PTH112
        return self._there

    def all(self) -> Mapping[str, str]:
        if self._all is None:
            self._all = self._without_targets(self._managed.all(self._targets))
            # resources that were found earlier are kept, even if they were removed meanwhile
            self._managers = {**self._managers, **self._all} if self._managers else dict[str, str | None](self._all)
        return self._all

    def of_type(self, type: str) -> Collection[str]:
        resources = self._without_targets(self._managed.of_type(type, self._targets))
        self._managers.update(resources)
        self._relied_on.update(resources.values())
        return resources.keys()

    def of_manager(self, manager: str) -> Collection[str]:
        if manager not in self._targets:
            return ()
        resources = self._without_targets(dict.fromkeys(self._managed.managed_by(manager), manager))
        self._managers.update(resources)
        return resources.keys()

    def called(self, id: str) -> Collection[str]:
        resources = {key: self.manager(key) for key in self._managed.called(id, self._targets)}
        return [key for key, manager in resources.items() if manager is not None]

    def manager(self, key: str) -> str | None:
        if self._all is not None:
            manager = self._all.get(key)
        elif key in self._managers:
            manager = self._managers[key]
        else:
            manager = self._managed.manager(key) if key not in self._targets else None
            self._managers[key] = manager = manager if manager in self._targets else None
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
        """The keys, among these, of existing resources."""
        keys = list(keys)
        if self._all is None and len(keys) > _MANY:
            self.all()
        return {key for key in keys if self.manager(key) is not None}

    def elsewhere(self, name: str) -> Mapping[str, str]:
        keys = [name, *(f"{type}:{name}" for type in self._managed.types())] if self.has_any() else []
        managers = {key: self._managed.manager(key) for key in keys}
        return {key: owner for key, owner in managers.items() if owner is not None and owner not in self._targets}

    def age(self, manager: str) -> int | None:
        """Seconds since the last discovery of a manager."""
        written = self._managed.bank.written(manager)
        return None if written is None else max(0, int(time.time() - written))

    def oldest(self) -> float | None:
        """The time of the oldest registration that a term has used, in seconds since the epoch."""
        written = [self._managed.bank.written(manager) for manager in self._relied_on if manager is not None]
        return min((at for at in written if at is not None), default=None)

    def _without_targets(self, resources: dict[str, str]) -> dict[str, str]:
        for key in resources.keys() & self._targets.keys():
            del resources[key]
        return resources
