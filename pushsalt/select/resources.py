"""Managed resources of targets, each with a type, an id and a manager.

At discovery a target reports its resources (``thin.resources``). They are stored here: the manager of each in the index
for ``T@`` and ``M@``, grains in the bank ``resource_grains`` by ``type:id``, and the commands to enter them in the bank
``minion_resources`` by manager. Resources whose manager is not in the inventory are ignored.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Protocol

from pushsalt.cache.banks import Banks
from pushsalt.cache.resources import INVENTORY_TYPES
from pushsalt.cache.store import Bank
from pushsalt.config import own_cachedir
from pushsalt.errors import TargetError
from pushsalt.model import Target

if TYPE_CHECKING:
    from pathlib import Path

    from pushsalt.cache.resources import ResourceBank
    from pushsalt.config import Config
    from pushsalt.inventory import Inventory

log = logging.getLogger(__name__)

_TYPE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_ID_LENGTH: Final = 255
#: A word of a command that no login shell changes (see ``pushsalt.bundle.shim``).
_WORD: Final = re.compile(r"[^'\\!\x00-\x1f\x7f]{0,2000}")
#: Options of a manager that do not apply to its resources.
_OWN: Final = frozenset({"grains", "mine_functions", "resource_types"})
#: Options of a declaration with which undeclared ids may exist, too.
_MORE: Final = ("include", "chroots")
#: Limit for the resources of one type and manager.
_MOST: Final = 100_000
#: Limit for the warnings about the resources of one target.
_WARNINGS: Final = 20

#: type -> id -> ``{"grains": {...}, "enter": [word, ...]}``, as sent by a target.
Found = Mapping[str, Mapping[str, Mapping[str, Any]]]


def split(key: str) -> tuple[str, str]:
    """Type and id of a key, ``type:id``."""
    type, _, id = key.partition(":")
    return type, id


def _named(declared: Mapping[str, Any] | None, type: str) -> set[str]:
    """The declared ids of a type."""
    declaration = (declared or {}).get(type)
    ids = declaration.get("resource_ids") if isinstance(declaration, Mapping) else declaration
    ids = [ids] if isinstance(ids, str) else ids
    return set(map(str, ids)) if isinstance(ids, (list, Mapping)) else set()


class ResourceProject(Banks, Protocol):
    """The part of a project that managed resources need."""

    config: Config

    @property
    def inventory(self) -> Inventory: ...
    @property
    def cache_dir(self) -> Path: ...
    @property
    def resources(self) -> ResourceBank: ...


class Resources:
    """The resources of a project, by key: ``type:id``."""

    def __init__(self, project: ResourceProject) -> None:
        self._project = project
        self._index = project.resources
        #: manager -> (time, value) of its entry
        self._read: dict[str, tuple[float | None, dict[str, dict[str, Any]]]] = {}

    @cached_property
    def bank(self) -> Bank:
        """Manager -> type -> id -> ``{"enter": [word, ...], "about": value}``.

        ``about`` is the value of the grain that has the type's name: data that only the manager can collect.
        """
        return Bank(self._project.cache_dir, "minion_resources")

    # asking; ``known`` are the ids of the inventory -------------------------------------------------------------------

    def types(self) -> list[str]:
        """The types of all resources, without the types of inventory ids."""
        return [type for type in self._index.types() if type not in INVENTORY_TYPES]

    def of_type(self, type: str, targets: Mapping[str, Any]) -> dict[str, str]:
        """key -> manager, for the resources of a type."""
        if type in INVENTORY_TYPES:
            return {}
        return {f"{type}:{id}": owner for id, owner in self._index.owners(type).items() if owner in targets}

    def managed_by(self, manager: str) -> list[str]:
        """The sorted keys of a manager's resources."""
        return [f"{type}:{id}" for type, id in self._index.by_manager(manager) if type not in INVENTORY_TYPES]

    def all(self, targets: Mapping[str, Any]) -> dict[str, str]:
        """key -> manager, for all resources."""
        return {key: owner for type in self.types() for key, owner in self.of_type(type, targets).items()}

    def manager(self, key: str) -> str | None:
        """The manager of a resource; None for an unknown one."""
        type, id = split(key)
        return None if type in INVENTORY_TYPES else self._index.get(type, id)

    def called(self, id: str, targets: Mapping[str, Any]) -> list[str]:
        """Keys of the resources with this id, of any type."""
        keys = [f"{type}:{id}" for type in self.types()]
        return [key for key in keys if self.manager(key) in targets]

    def declared(self, manager: str) -> dict[str, dict[str, Any]]:
        """type -> id -> stored data, for a manager's resources."""
        written = self.bank.written(manager)
        if manager not in self._read or self._read[manager][0] != written:  # cached: a manager may have thousands
            kept = self.bank.get(manager)
            self._read[manager] = written, kept if isinstance(kept, dict) else {}
        return self._read[manager][1]

    def target(self, key: str) -> Target:
        """The resource as a target. Raises TargetError if it, or its manager, is unknown."""
        type, id = split(key)
        manager = self.manager(key)
        through = self._project.inventory.targets.get(manager or "")
        if through is None:
            raise TargetError(
                "resource_unknown",
                f"{key}: no target manages it",
                "pushsalt resource refresh TARGET discovers resources",
            )
        kept = self.declared(through.id).get(type, {}).get(id)
        if kept is None:  # the entry is damaged; that must not be taken for a resource that cannot be entered
            raise TargetError(
                "resource_unknown",
                f"{key}: its entry from {through.id} is missing in the cache",
                f"pushsalt resource refresh {through.id}",
            )
        enter = tuple(kept.get("enter") or ())
        opts = {} if enter else {name: value for name, value in through.minion_opts.items() if name not in _OWN}
        if through.transport == "local" and not enter and (folder := own_cachedir(self._project.config)):
            opts.setdefault("cachedir", folder)
        return Target(
            id,
            transport="resource",
            resource=type,
            manager=through.id,
            enter=enter,
            user=through.user,
            sudo=through.sudo,
            become=through.become,
            sudo_user=through.sudo_user,
            sudo_password=through.sudo_password,
            tty=through.tty,
            timeout=through.timeout,
            python=None if enter else through.python,
            thin_dir=None if enter else through.thin_dir,
            minion_opts=opts,
            grains={"id": id} if not enter else {type: kept["about"]} if "about" in kept else {},
        )

    def declarations(self, target: Target, pillar: Mapping[str, Any] | None) -> dict[str, Any]:
        """type -> declaration, from the target's pillar and the option for resource types."""
        opts = self._project.config.opts
        by_type: dict[str, Any] = {}
        for place in (opts, target.minion_opts):
            types = place.get("resource_types") or {}
            by_type.update(types if isinstance(types, Mapping) else dict.fromkeys(map(str, types)))
        tree = (pillar or {}).get(str(opts["resource_pillar_key"] or "resources"))
        by_type.update(tree if isinstance(tree, Mapping) else {})
        return {str(type): declared if declared is not None else {} for type, declared in by_type.items()}

    def is_due(self, manager: str, declared: Mapping[str, Any]) -> bool:
        """Whether the declared types or ids differ from those of the last discovery."""
        stored = self.declared(manager)
        if stored.keys() != declared.keys():
            return True
        for type, declaration in declared.items():
            ids, options = _named(declared, type), declaration if isinstance(declaration, Mapping) else {}
            if not ids or "id_format" in options:
                continue
            more = any(options.get(name) for name in _MORE)
            if not ids <= stored[type].keys() if more else ids != stored[type].keys():
                return True
        return False

    # storing ----------------------------------------------------------------------------------------------------------

    def register(
        self, manager: str, discovered: Found, failed: Iterable[str] = (), declared: Mapping[str, Any] | None = None
    ) -> dict[str, list[str]]:
        """Store all resources that a target manages; its other ones are removed, except types whose discovery failed.

        A resource of another manager in the inventory is refused, and so is one with the id of an inventory target
        unless it is declared: a target cannot claim the resources of another, nor read the pillar of another target.
        Returns type -> registered ids.
        """
        warn = _Warnings(manager)
        sound = self._valid(manager, discovered, warn)
        keep = {type: ids for type, ids in self.declared(manager).items() if type in set(failed)}
        sound = {**keep, **sound}
        before = dict.fromkeys(self.managed_by(manager))
        accepted: dict[str, dict[str, Any]] = {}
        grains: dict[str, dict[str, Any]] = {}
        for type, ids in sound.items():
            accepted[type] = {}
            for id, values in ids.items():
                key = f"{type}:{id}"
                if id in self._project.inventory.targets and id not in _named(declared, type):
                    warn(
                        "%s: it says that it manages %s, and the inventory has an id %s: left out; name it in "
                        "resource_ids if both are meant",
                        manager,
                        key,
                        id,
                    )
                    continue
                owner = self.manager(key) if key not in before else manager
                if owner not in (None, manager) and self._still(str(owner), type, id):
                    warn(
                        "%s: %s is managed by %s already and stays with it: resources of a type need different ids",
                        manager,
                        key,
                        owner,
                    )
                    continue
                accepted[type][id] = {"enter": list(values.get("enter") or ())}
                given = values.get("grains")
                about = given if isinstance(given, dict) and type in given else {type: values.get("about")}
                if about[type] is not None:
                    accepted[type][id]["about"] = about[type]
                if isinstance(given, dict):
                    kept = self._project.resource_grains.get(key) if values.get("enter") else None
                    grains[key] = {**(kept if isinstance(kept, dict) else {}), **given, "id": id}
        warn.end()
        self._read.pop(manager, None)
        self.bank.put(manager, accepted)
        registered = [(type, id, manager) for type, ids in accepted.items() for id in ids]
        self._index.put_many([entry for entry in registered if f"{entry[0]}:{entry[1]}" not in before])
        if grains and self._project.config.opts["minion_data_cache"]:
            self._project.resource_grains.put_many(grains)
        for key in before.keys() - {f"{type}:{id}" for type, id, _ in registered}:
            self._forget(key, manager)
        return {type: sorted(ids) for type, ids in accepted.items()}

    def take_over(self, manager: str, entry: Mapping[str, Any]) -> None:
        """Store what a manager manages, as another controller or worker of this project has it (``declared``)."""
        types = {str(type): ids for type, ids in entry.items() if isinstance(ids, Mapping)}
        if self.declared(manager) == types or manager not in self._project.inventory.targets:
            return
        gone = self.managed_by(manager)
        registered = [(type, str(id), manager) for type, ids in types.items() for id in ids]
        self._read.pop(manager, None)
        self.bank.put(manager, types)
        self._index.put_many(registered)
        for key in {*gone} - {f"{type}:{id}" for type, id, _ in registered}:
            self._forget(key, manager)

    def _still(self, owner: str, type: str, id: str) -> bool:
        return owner in self._project.inventory.targets and id in self.declared(owner).get(type, {})

    def _forget(self, key: str, manager: str) -> None:
        """Remove the data of a resource that the manager lost, unless it belongs to another manager now."""
        type, id = split(key)
        if self._index.get(type, id) != manager:
            return
        self._index.delete(type, id)
        for bank in (self._project.resource_grains, self._project.pillar_bank, self._project.mine):
            bank.delete(key)

    def prune(self, targets: Mapping[str, Any]) -> int:
        """Remove resources of managers that are not in the inventory; returns their number."""
        removed = [manager for manager in self.bank.keys() if manager not in targets]  # noqa: SIM118
        return sum(map(self.forget, removed))

    def forget(self, manager: str) -> int:
        """Remove all resources of a manager; returns their number."""
        keys = self.managed_by(manager)
        for key in keys:
            self._forget(key, manager)
        self.bank.delete(manager)
        return len(keys)

    def _valid(self, manager: str, discovered: Found, warn: _Warnings) -> dict[str, dict[str, Mapping[str, Any]]]:
        """The valid part of a target's answer."""
        from pushsalt.session.intake import fit, own_grains

        sound: dict[str, dict[str, Any]] = {}
        for type, ids in discovered.items() if isinstance(discovered, Mapping) else ():
            if not isinstance(type, str) or not _TYPE.fullmatch(type) or type in INVENTORY_TYPES:
                warn("%s: it names a resource type that cannot be one: %.60r", manager, type)
                continue
            sound[type] = {}
            for id, values in list(ids.items())[:_MOST] if isinstance(ids, Mapping) else ():
                words = values.get("enter") or [] if isinstance(values, Mapping) else None
                is_id = isinstance(id, str) and 0 < len(id) <= _ID_LENGTH and fit(id)
                if not is_id or not isinstance(words, list):
                    warn("%s: it names a %s that cannot be one: %.60r", manager, type, id)
                elif not all(isinstance(word, str) and _WORD.fullmatch(word) for word in words):
                    warn("%s: no command can be made of how it says to enter %s:%.60r", manager, type, id)
                else:
                    sound[type][id] = {"enter": words}
                    if isinstance(values.get("grains"), Mapping):
                        resource = Target(id, transport="resource", resource=type, manager=manager)
                        try:
                            sound[type][id]["grains"] = own_grains(resource, values["grains"], warn=warn)
                        except ValueError as exc:
                            warn("%s: the grains of its %s %s are left out: %s", manager, type, id, exc)
        return sound


class _Warnings:
    """Logs the first few warnings about one target."""

    def __init__(self, manager: str) -> None:
        self._manager = manager
        self._said = 0

    def __call__(self, text: str, *args: object) -> None:
        self._said += 1
        if self._said <= _WARNINGS:
            log.warning(text, *args)

    def end(self) -> None:
        if self._said > _WARNINGS:
            log.warning("%s: %d more of its resources have such faults", self._manager, self._said - _WARNINGS)
