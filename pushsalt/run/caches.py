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

BANKS: Final = ("grains", "pillar", "mine")
#: Seconds after which a file that a write left beside its place is nobody's.
_LEFT_OVER: Final = 3600
#: Seconds after which a copy of a git remote that nobody has fetched since is in nobody's configuration any more.
_COPIES: Final = 60 * 86400


def banks(project: Project, name: str = "all") -> dict[str, Bank]:
    """The banks by name. Raises UsageError for a name that is none."""
    known: dict[str, Bank] = {"grains": project.grains, "pillar": project.pillar_bank, "mine": project.mine}
    if name == "all":
        return known
    if name not in known:
        raise UsageError(f"there is no bank {name!r}", hint=f"there are {', '.join(BANKS)}")
    return {name: known[name]}


def overview(project: Project) -> dict[str, dict[str, Any]]:
    """``{bank: {"entries": n, "oldest": seconds, "newest": seconds}}``, ages of sound entries; None for none."""
    now = time.time()
    found = {}
    for name, bank in banks(project).items():
        ages = [max(0.0, now - seen) for _, _, seen in bank.entries()]
        found[name] = {"entries": len(ages), "oldest": max(ages, default=None), "newest": min(ages, default=None)}
    return found


def show(project: Project, name: str, ids: Sequence[str], *, unmask: bool = False) -> dict[str, dict[str, Any]]:
    """``{id: {"age": seconds, "value": …}}`` of these ids, of all for none named. Raises UsageError."""
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
    return found


def clear(project: Project, name: str, ids: Sequence[str] = ()) -> dict[str, int]:
    """Forget entries, of all ids for none named; ``{bank: how many}``. Raises UsageError."""
    found = {}
    for each, bank in banks(project, name).items():
        found[each] = sum(bank.delete(id) for id in ids) if ids else bank.clear()
    return found


def prune(project: Project, older: float | None = None) -> dict[str, int]:
    """Forget ids that the inventory does not have, entries older than so many seconds, damaged ones and left-overs."""
    now = time.time()
    known = project.inventory.targets
    found = {}
    for name, bank in banks(project).items():
        gone = [
            key
            for key, _, seen in list(bank.entries())
            if key not in known or (older is not None and now - seen > older)
        ]
        found[name] = sum(bank.delete(key) for key in gone) + bank.sweep(now - _LEFT_OVER)
    found["resources"] = project.resources.keep({id: target.transport for id, target in known.items()})
    from pushsalt.git.prune import prune as prune_copies

    found["git"] = prune_copies(project.cache_dir, now - (_COPIES if older is None else older))
    return found
