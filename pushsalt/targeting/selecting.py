"""Selects targets by an expression and returns their names; raises NoTargetError if there are none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pushsalt.errors import NoTargetError
from pushsalt.inventory import Inventory
from pushsalt.targeting.compound import DELIMITER, Nodegroups, parse
from pushsalt.targeting.fleet import Caches, Fleet, ManagedResources
from pushsalt.targeting.matchers.list import split
from pushsalt.targeting.names import names
from pushsalt.targeting.vocabulary import OURS, Vocabulary


def select(
    expr: Any,
    tgt_type: str,
    inventory: Inventory,
    caches: Caches | None = None,
    managed: ManagedResources | None = None,
    *,
    delimiter: str = DELIMITER,
    nodegroups: Nodegroups | None = None,
    exclude: Sequence[str] = (),
    limit: int | None = None,
    glob_includes_resources: bool = True,
    vocabulary: Vocabulary = OURS,
) -> list[str]:
    """The names (``names``) of the selected targets, in the inventory's order, resources after their managers.

    Without ``caches`` only data of the inventory is used, without ``managed`` there are no resources. ``exclude``:
    compound expressions of targets to leave out; ``limit``: only the first so many are selected. Raises NoTargetError
    with suggestions if there are none, or ids of a list are missing; UsageError for an invalid expression.
    """
    if tgt_type == "list" and isinstance(expr, str):
        expr = expr.replace(" ", "")  # as Salt's command line does
    fleet = Fleet(inventory, caches, managed, glob_includes_resources=glob_includes_resources)
    chosen = fleet.select(parse(expr, tgt_type, delimiter=delimiter, nodegroups=nodegroups, vocabulary=vocabulary))
    if not chosen:
        from pushsalt.targeting.nomatch import no_match

        raise no_match(expr, tgt_type, inventory, fleet.managed, nodegroups)
    if tgt_type == "list":
        missing = sorted(token for token in split(expr) if token and not fleet.exactly(token))
        if missing:
            from pushsalt.targeting.nomatch import no_such_ids

            raise no_such_ids(missing, inventory, fleet.managed, nodegroups)
    for text in exclude:
        chosen = chosen - fleet.select(parse(text, "compound", nodegroups=nodegroups, vocabulary=vocabulary))
    if not chosen:
        left_out = " and ".join(map(repr, exclude))
        raise NoTargetError(f"no target is left: --exclude {left_out} matches all that {expr!r} does", "leave it out")
    return names(fleet.in_order(chosen)[:limit], inventory)
