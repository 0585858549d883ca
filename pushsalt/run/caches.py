"""Listing, showing and clearing the caches of targets.

The next run on a target restores its entries.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from pushsalt.errors import UsageError
from pushsalt.pillar.mask import shown

if TYPE_CHECKING:
    from pushsalt.cache.store import Bank
    from pushsalt.run.project import Project

log = logging.getLogger(__name__)

#: Keys of ``resources`` are managers; its index is cleared with it. Keys of the others are ``Target.key``.
BANKS: Final = ("grains", "pillar", "mine", "resources", "resource_grains")
#: Seconds after which a temporary file of a write counts as abandoned.
_LEFT_OVER: Final = 3600
#: Seconds without a fetch after which the copy of a git remote counts as abandoned.
_COPIES: Final = 60 * 86400


def banks(project: Project, name: str = "all") -> dict[str, Bank]:
    """The bank of this name, or all, by name. Raises UsageError for an unknown name."""
    all_banks: dict[str, Bank] = {
        "grains": project.grains,
        "pillar": project.pillar_bank,
        "mine": project.mine,
        "resources": project.managed.bank,
        "resource_grains": project.resource_grains,
    }
    if name == "all":
        return all_banks
    if name not in all_banks:
        raise UsageError(f"there is no bank {name!r}", hint=f"there are {', '.join(BANKS)}")
    return {name: all_banks[name]}


def overview(project: Project) -> dict[str, dict[str, Any]]:
    """``{bank: {"entries": n, "oldest": seconds, "newest": seconds}}``: ages of undamaged entries, None without any.

    For ``resources``, ``entries`` counts resources; the ages are those of the entries of their managers.
    """
    now = time.time()
    overview = {}
    for name, bank in banks(project).items():
        count, ages = 0, []
        for _, value, seen in bank.entries():
            ages.append(max(0.0, now - seen))
            count += sum(map(len, value.values())) if name == "resources" else 1
        overview[name] = {"entries": count, "oldest": max(ages, default=None), "newest": min(ages, default=None)}
    return overview


def show(project: Project, name: str, ids: Sequence[str], *, unmask: bool = False) -> dict[str, dict[str, Any]]:
    """``{key: {"age": seconds, "value": …}}`` for these keys; for all if ``ids`` is empty. Raises UsageError.

    For the mine, ``ages`` has the age of each value.
    """
    [bank] = banks(project, name).values() if name != "all" else [None]
    if bank is None:
        raise UsageError("one bank at a time can be shown", hint=f"name one of {', '.join(BANKS)}")
    now = time.time()
    if ids:
        entries = [(id, bank.get(id), bank.written(id) or now) for id in ids if bank.get(id) is not None]
    else:
        entries = sorted(bank.entries(), key=lambda entry: entry[0])
    by_id = {}
    for id, value, seen in entries:
        if name == "pillar":
            value = shown(value, unmask or None, project.config.opts)
        by_id[id] = {"age": int(max(0.0, now - seen)), "value": value}
        if name == "mine":
            _, collected = project.mine.with_times(id)
            by_id[id]["ages"] = {alias: int(max(0.0, now - at)) for alias, at in collected.items()}
    return by_id


def clear(project: Project, name: str, ids: Sequence[str] = ()) -> dict[str, int]:
    """Remove the entries of these keys; all if ``ids`` is empty. Returns ``{bank: count}``. Raises UsageError.

    For ``resources``: the resources of these managers, with their grains.
    """
    cleared = {}
    for each, bank in banks(project, name).items():
        if each == "resources":
            cleared[each] = _clear_resources(project, ids)
        else:
            cleared[each] = sum(bank.delete(id) for id in ids) if ids else bank.clear()
    return cleared


def _clear_resources(project: Project, managers: Sequence[str]) -> int:
    if managers:
        return sum(map(project.managed.forget, managers))
    count = sum(len(project.resources.by_type(type)) for type in project.managed.types())
    project.managed.bank.clear()
    project.resources.clear()
    return count


def prune(project: Project, older: float | None = None) -> dict[str, int]:
    """Remove entries of ids that are not in the inventory, resources without a manager in it, entries older than
    ``older`` seconds, damaged entries and temporary files. Raises InventoryError without an inventory."""
    project.need_inventory()
    now = time.time()
    targets = project.inventory.targets
    managers = {key for key, _, seen in project.managed.bank.entries() if older is not None and now - seen > older}
    resources = sum(map(project.managed.forget, managers)) + project.managed.prune(targets)
    managed = project.managed.all(targets)
    existing = {"grains": targets.keys(), "resource_grains": managed.keys(), "resources": targets.keys()}
    removed = {}
    for name, bank in banks(project).items():
        of = existing.get(name, targets.keys() | managed.keys())
        stale = [
            key for key, _, seen in list(bank.entries()) if key not in of or (older is not None and now - seen > older)
        ]
        removed[name] = sum(bank.delete(key) for key in stale) + bank.sweep(now - _LEFT_OVER)
    types = {id: target.transport for id, target in targets.items()}
    removed["resources"] += resources + project.resources.keep(types)
    from pushsalt.git.prune import prune as prune_copies

    removed["git"] = prune_copies(project.cache_dir, now - (_COPIES if older is None else older))
    return removed


def verify(project: Project) -> dict[str, list[str]]:
    """``{bank: [damage on disk, as text]}``. Reads ignore damaged entries; nothing is changed here."""
    problems = {name: bank.problems() for name, bank in banks(project).items()}
    problems["resources"] += project.resources.problems()
    return problems
