"""What selecting needs of a large inventory, kept between runs: ids, types, jump hosts and grains; nothing secret.

The image is one entry of the bank ``inventory`` for each set of files. It holds only for the very bytes of these files
and the very settings below them; a file that is rendered first has none, since what it gives may differ each time.
Hosts that are alike in what is kept share one Target, which has no id.
"""

from __future__ import annotations

import hashlib
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from pushsalt import __version__
from pushsalt.cache.store import Bank
from pushsalt.inventory import Inventory, is_template
from pushsalt.model import Target

if TYPE_CHECKING:
    from pushsalt.run.project import Project

log = logging.getLogger(__name__)

#: Smaller inventories are read as they are.
WORTH_IT: Final = 2000
_FORMAT: Final = 1


@dataclass(frozen=True)
class Selectable:
    """An inventory for selecting. ``whole`` is false for an image in which pillar is left out, though there is some."""

    inventory: Inventory
    whole: bool = True


def selectable(project: Project) -> Selectable:
    """The project's inventory, from its image if there is one that holds. Raises InventoryError."""
    if "inventory" in project.__dict__:
        return Selectable(project.inventory)
    paths = project.config.inventories
    bank = Bank(project.cache_dir, "inventory")
    name = "\0".join(str(path) for path in paths)
    digest = _digest(project)
    if digest is not None:
        image = _read(bank.get(name), digest)
        if image is not None:
            for text in image.inventory.warnings:
                project.reporter.warning(None, text)
            return image
    inventory = project.inventory
    if digest is not None and len(inventory.ids) >= WORTH_IT:
        bank.put(name, _image(inventory, digest))
    return Selectable(inventory)


def _digest(project: Project) -> bytes | None:
    """What the image depends on; None when there can be no image."""
    seen = hashlib.sha256(repr((_FORMAT, __version__, project.config.target_defaults())).encode())
    total = 0
    for path in project.config.inventories:
        try:
            data = path.read_bytes() if path.is_file() else b""
        except OSError:
            return None
        total += len(data)
        if not data or is_template(data.decode("utf-8", "replace")):
            return None
        seen.update(hashlib.sha256(data).digest())
    return seen.digest() if total > WORTH_IT * 4 else None


def _image(inventory: Inventory, digest: bytes) -> dict[str, Any]:
    rows: dict[str, int] = {}
    table: list[list[Any]] = []
    kinds = []
    for target in inventory.targets.values():
        row = [target.transport, list(target.jump), dict(target.grains)]
        kind = rows.setdefault(repr(row), len(table))
        if kind == len(table):
            table.append(row)
        kinds.append(kind)
    return {
        "digest": digest,
        "ids": "\0".join(inventory.ids),
        "kinds": kinds,
        "table": table,
        "pillar": any(target.pillar for target in inventory.targets.values()),
        "warnings": list(inventory.warnings),
    }


def _read(image: Any, digest: bytes) -> Selectable | None:
    if not isinstance(image, dict) or image.get("digest") != digest:
        return None
    table = [
        Target("", transport=transport, jump=tuple(jump), grains=grains) for transport, jump, grains in image["table"]
    ]
    targets = dict(zip(image["ids"].split("\0"), map(table.__getitem__, image["kinds"]), strict=True))
    return Selectable(Inventory(targets, warnings=tuple(image["warnings"])), whole=not image["pillar"])
