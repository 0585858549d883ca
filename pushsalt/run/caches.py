"""The caches of targets as a whole: what is in them, and getting rid of it.

Nothing is lost that the next run on a target does not bring back.
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

#: ``resources`` is who manages what, by manager; the index of it goes along. The others are by key.
BANKS: Final = ("grains", "pillar", "mine", "resources", "resource_grains")
#: Seconds after which a file that a write left beside its place is nobody's.
_LEFT_OVER: Final = 3600
#: Seconds after which a copy of a git remote that nobody has fetched since is in nobody's configuration any more.
_COPIES: Final = 60 * 86400


def banks(project: Project, name: str = "all") -> dict[str, Bank]:
    """The banks by name. Raises UsageError for a name that is none."""
    known: dict[str, Bank] = {
        "grains": project.grains,
        "pillar": project.pillar_bank,
        "mine": project.mine,
        "resources": project.managed.bank,
        "resource_grains": project.resource_grains,
    }
    if name == "all":
        return known
    if name not in known:
        raise UsageError(f"there is no bank {name!r}", hint=f"there are {', '.join(BANKS)}")
    return {name: known[name]}


def overview(project: Project) -> dict[str, dict[str, Any]]:
    """``{bank: {"entries": n, "oldest": seconds, "newest": seconds}}``, ages of sound entries; None for none.

    Resources are counted themselves; ages are those of what their managers said.
    """
    now = time.time()
    found = {}
    for name, bank in banks(project).items():
        count, ages = 0, []
        for _, value, seen in bank.entries():
            ages.append(max(0.0, now - seen))
            count += sum(map(len, value.values())) if name == "resources" else 1
        found[name] = {"entries": count, "oldest": max(ages, default=None), "newest": min(ages, default=None)}
    return found


def show(project: Project, name: str, ids: Sequence[str], *, unmask: bool = False) -> dict[str, dict[str, Any]]:
    """``{key: {"age": seconds, "value": …}}`` of these keys, of all for none named. Raises UsageError.

    Of the mine, ``ages`` has the age of each value.
    """
    [bank] = banks(project, name).values() if name != "all" else [None]
    if bank is None:
        raise UsageError("one bank at a time can be shown", hint=f"name one of {', '.join(BANKS)}")
    now = time.time()
    if ids:
        entries = [(id, bank.get(id), bank.written(id) or now) for id in ids if bank.get(id) is not None]
    else:
        entries = sorted(bank.entries(), key=lambda entry: entry[0])
    found = {}
    for id, value, seen in entries:
        if name == "pillar":
            value = shown(value, unmask or None, project.config.opts)
        found[id] = {"age": int(max(0.0, now - seen)), "value": value}
        if name == "mine":
            _, collected = project.mine.with_times(id)
            found[id]["ages"] = {alias: int(max(0.0, now - at)) for alias, at in collected.items()}
    return found


def clear(project: Project, name: str, ids: Sequence[str] = ()) -> dict[str, int]:
    """Forget entries, of all keys for none named; ``{bank: how many}``. Raises UsageError.

    Of ``resources``: what these managers manage, with all that is known of it.
    """
    found = {}
    for each, bank in banks(project, name).items():
        if each == "resources":
            found[each] = _clear_resources(project, ids)
        else:
            found[each] = sum(bank.delete(id) for id in ids) if ids else bank.clear()
    return found


def _clear_resources(project: Project, managers: Sequence[str]) -> int:
    if managers:
        return sum(map(project.managed.forget, managers))
    count = sum(len(project.resources.by_type(type)) for type in project.managed.types())
    project.managed.bank.clear()
    project.resources.clear()
    return count


def prune(project: Project, older: float | None = None) -> dict[str, int]:
    """Forget ids that the inventory does not have, resources that nobody of it manages, entries older than so many
    seconds, damaged ones and left-overs. Raises InventoryError where there is no inventory to tell."""
    project.need_inventory()
    now = time.time()
    known = project.inventory.targets
    managers = {key for key, _, seen in project.managed.bank.entries() if older is not None and now - seen > older}
    resources = sum(map(project.managed.forget, managers)) + project.managed.prune(known)
    behind = project.managed.all(known)
    there = {"grains": known.keys(), "resource_grains": behind.keys(), "resources": known.keys()}
    found = {}
    for name, bank in banks(project).items():
        of = there.get(name, known.keys() | behind.keys())
        gone = [
            key for key, _, seen in list(bank.entries()) if key not in of or (older is not None and now - seen > older)
        ]
        found[name] = sum(bank.delete(key) for key in gone) + bank.sweep(now - _LEFT_OVER)
    types = {id: target.transport for id, target in known.items()}
    found["resources"] += resources + project.resources.keep(types)
    from pushsalt.git.prune import prune as prune_copies

    found["git"] = prune_copies(project.cache_dir, now - (_COPIES if older is None else older))
    return found


def verify(project: Project) -> dict[str, list[str]]:
    """``{bank: what is wrong with it on disk}``, in words. Damaged entries are no answers; nothing is changed here."""
    found = {name: bank.problems() for name, bank in banks(project).items()}
    found["resources"] += project.resources.problems()
    return found
