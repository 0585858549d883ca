"""What an expression selects, as names of a command line; NoTargetError where that is nothing."""

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
    """The names (``names``) of what is selected: in the inventory's order, resources right behind their managers.

    Without ``caches`` only what the inventory itself says is known, without ``managed`` there are no resources.
    ``exclude`` are compound expressions of what is left out, ``limit`` is the most that are taken, the first ones.
    Raises NoTargetError, naming the nearest ids, when there are none, or not all that a list names; UsageError for an
    expression that makes no sense.
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
