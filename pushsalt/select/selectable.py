"""A cached image of a large inventory for selecting: ids, types, jump hosts, groups and grains, without secrets.

The image is one entry of the bank ``inventory`` for each set of files, valid under the conditions of
``inventoryimage``. Hosts with equal data share one Target without an id.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pushsalt.cache.store import Bank
from pushsalt.inventory import Inventory
from pushsalt.lazy import is_made
from pushsalt.model import Target
from pushsalt.select.inventoryimage import digest_of, holds, is_worth_it

if TYPE_CHECKING:
    from pushsalt.select.project import SelectingProject

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Selectable:
    """An inventory for selecting. ``pillar``: ids with pillar if it is an image (which has no values), else None."""

    inventory: Inventory
    pillar: frozenset[str] | None = None


def selectable(project: SelectingProject) -> Selectable:
    """The project's inventory, from its image if there is a valid one. Raises InventoryError."""
    if is_made(project, "inventory"):
        return Selectable(project.inventory)
    paths = project.config.inventories
    bank = Bank(project.cache_dir, "inventory")
    name = "\0".join(str(path) for path in paths)
    digest = digest_of(project)
    if digest is not None:
        kept = bank.get(name)
        if isinstance(kept, dict) and holds(project, kept, digest):
            image = _read(kept)
            project.report_warnings(image.inventory)
            return image
    inventory = project.inventory
    if digest is not None and is_worth_it(project, inventory):
        bank.put(name, {**_image(inventory), "digest": digest, "rendered": project.rosters.digests})
    return Selectable(inventory)


def _image(inventory: Inventory) -> dict[str, Any]:
    rows: dict[str, int] = {}
    table: list[list[Any]] = []
    kinds = []
    for target in inventory.targets.values():
        row = [target.transport, list(target.jump), dict(target.grains), list(target.groups)]
        kind = rows.setdefault(repr(row), len(table))
        if kind == len(table):
            table.append(row)
        kinds.append(kind)
    return {
        "ids": "\0".join(inventory.ids),
        "kinds": kinds,
        "table": table,
        "with_pillar": [place for place, target in enumerate(inventory.targets.values()) if target.pillar],
        "warnings": list(inventory.warnings),
    }


def _read(image: dict[str, Any]) -> Selectable:
    table = [
        Target("", transport=transport, jump=tuple(jump), grains=grains, groups=tuple(groups))
        for transport, jump, grains, groups in image["table"]
    ]
    ids = image["ids"].split("\0")
    targets = dict(zip(ids, map(table.__getitem__, image["kinds"]), strict=True))
    pillar = frozenset(ids[place] for place in image["with_pillar"])
    groups = frozenset(name for target in table for name in target.groups)
    return Selectable(Inventory(targets, (), tuple(image["warnings"]), groups), pillar)
