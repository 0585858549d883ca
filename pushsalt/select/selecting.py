"""Selects targets by an expression, from inventory and caches; finds the target of a name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pushsalt.errors import NoTargetError, TargetError
from pushsalt.inventory import THIS_MACHINE
from pushsalt.model import Target
from pushsalt.select.lookup import Remembered
from pushsalt.select.selectable import selectable
from pushsalt.targeting import Fleet, key_of, parse, sources
from pushsalt.targeting import select as select_names
from pushsalt.targeting.matchers.list import split

if TYPE_CHECKING:
    from pushsalt.select.project import SelectingProject


def select(
    project: SelectingProject, expr: str, tgt_type: str, delimiter: str, exclude: Sequence[str], limit: int | None
) -> list[str]:
    """The names of the matching targets. Raises NoTargetError, UsageError, or InventoryError without an inventory."""
    check_inventory(project, expr, tgt_type)
    caches = Remembered(project, selectable(project))
    nodegroups = project.named_groups(lambda: caches.inventory.groups)
    try:
        return select_names(
            expr,
            tgt_type,
            caches.inventory,
            caches,
            caches.managed,
            delimiter=delimiter,
            nodegroups=nodegroups,
            exclude=exclude,
            limit=limit,
            glob_includes_resources=bool(project.config.opts["glob_includes_resources"]),
            vocabulary=project.vocabulary,
        )
    except NoTargetError as exc:
        for source in sources(expr, tgt_type, nodegroups, project.vocabulary) & {"grains", "pillar"}:
            count = caches.unknown(source)
            if count:
                of = f"{count} target{'s' if count > 1 else ''}"
                exc.hint = f"the cache has no {source} of {of}: --refresh collects first; {exc.hint}"
        raise
    finally:
        caches.warn_of_age()


def check_inventory(project: SelectingProject, expr: Any, tgt_type: str) -> None:
    """Raises InventoryError without an inventory, unless ``expr`` is exactly the id of this machine."""
    ids = {"glob": [expr], "list": [id.strip() for id in split(expr)] if tgt_type == "list" else []}.get(tgt_type)
    if not ids or any(id != THIS_MACHINE for id in ids):
        project.need_inventory()


def find(project: SelectingProject, expr: Any, tgt_type: str, *, pillar_exact: bool = True) -> list[str]:
    """The keys of the targets that match an expression which a target sent. Raises UsageError."""
    caches = Remembered(project, selectable(project))
    widely = bool(project.config.opts["glob_includes_resources"])
    fleet = Fleet(caches.inventory, caches, caches.managed, glob_includes_resources=widely)
    nodegroups = project.named_groups(lambda: caches.inventory.groups)
    parsed = parse(expr, tgt_type, nodegroups=nodegroups, pillar_exact=pillar_exact, vocabulary=project.vocabulary)
    return fleet.in_order(fleet.select(parsed))


def target(project: SelectingProject, name: str) -> Target:
    """The target of a name that ``select`` returned, or of any exact name. Raises TargetError."""
    targets = project.inventory.targets
    key = key_of(name)
    if key is None and name not in targets:
        managed = Remembered(project, selectable(project)).managed
        keys = Fleet(project.inventory, managed=managed).exactly(name)
        if len(keys) > 1:
            several = ", ".join(sorted(keys))
            raise TargetError("resource_unknown", f"{name} may be any of {several}", "name one of these, with its type")
        key = next(iter(keys), None)
    key = name if key is None else key
    return targets[key] if key in targets else project.managed.target(key)
