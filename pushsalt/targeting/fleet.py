"""Which of many ids an expression selects: each term is answered for all of them at once, then the answers combined.

What is known of the ids comes from ``Caches``; one that can look up a whole term (``Lookup``) is asked for that, so
that a grain term costs one question to an index, not one per id.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol

from pushsalt.errors import NoTargetError
from pushsalt.inventory import Inventory
from pushsalt.targeting.compound import DELIMITER, Expression, Nodegroups, Term, parse

log = logging.getLogger(__name__)

#: The manager of what the controller reaches by itself.
CONTROLLER: Final = "controller"


class Caches(Protocol):
    """What is known of a target without asking it; empty mappings for what is not known."""

    def grains(self, id: str) -> Mapping[str, Any]: ...

    def pillar(self, id: str) -> Mapping[str, Any]: ...


class Lookup(Caches, Protocol):
    """Caches that can answer a term for all ids of the inventory."""

    def find(self, term: Term) -> set[str] | None:
        """The ids for which the term holds; None where each is to be asked."""


def select(
    expr: Any,
    tgt_type: str,
    inventory: Inventory,
    caches: Caches | None = None,
    *,
    delimiter: str = DELIMITER,
    nodegroups: Nodegroups | None = None,
    exclude: Sequence[str] = (),
    limit: int | None = None,
) -> list[str]:
    """The selected ids in the inventory's order. Without ``caches`` only what the inventory itself says is known.

    ``exclude`` are compound expressions of what is left out, ``limit`` is the most that are taken, the first ones.
    Raises NoTargetError, naming the nearest ids, when there are none; UsageError for an expression that makes no sense.
    """
    if tgt_type == "list" and isinstance(expr, str):
        expr = expr.replace(" ", "")  # as Salt's command line does
    fleet = Fleet(inventory, caches)
    chosen = fleet.select(parse(expr, tgt_type, delimiter=delimiter, nodegroups=nodegroups))
    if tgt_type == "list":
        from pushsalt.targeting.matchers.list import split

        missing = sorted(split(expr) - inventory.targets.keys() - {""})
        if chosen and missing:
            log.warning("no such id in the inventory: %s", ", ".join(missing))
    if not chosen:
        raise nothing(expr, tgt_type, inventory)
    for text in exclude:
        chosen = chosen - fleet.select(parse(text, "compound", nodegroups=nodegroups))
    if not chosen:
        left_out = " and ".join(map(repr, exclude))
        raise NoTargetError(f"no target is left: --exclude {left_out} matches all that {expr!r} does", "leave it out")
    return [id for id in inventory.ids if id in chosen][:limit]


class Fleet:
    """The ids of an inventory, with what is known of them; answers of terms are kept."""

    def __init__(self, inventory: Inventory, caches: Caches | None = None) -> None:
        self.inventory = inventory
        self.caches: Caches = caches or InventoryCaches(inventory)
        self._answers: dict[Term, set[str]] = {}

    def select(self, expression: Expression) -> set[str]:
        """The ids that an expression selects. Raises UsageError for one that makes no sense."""
        return self._chosen(expression, expression.tree)

    def _chosen(self, expression: Expression, tree: tuple[Any, ...]) -> set[str]:
        kind = tree[0]
        if kind == "word":
            return self.find(expression.terms[tree[1]])
        if kind == "not":
            return self._all() - self._chosen(expression, tree[1])
        if kind in ("and", "or"):
            found = [self._chosen(expression, part) for part in tree[1]]
            return set.intersection(*found) if kind == "and" else set.union(*found)
        if kind == "call":
            raise expression.error("has a '(' right behind a target")
        return set()

    def find(self, term: Term) -> set[str]:
        """The ids for which a term holds."""
        if term not in self._answers:
            look_up = getattr(self.caches, "find", None)
            found = look_up(term) if look_up is not None else None
            self._answers[term] = self._each(term) if found is None else found
        return self._answers[term]

    def _each(self, term: Term) -> set[str]:
        if term.matcher.SOURCE == "id":
            if term.tgt_type == "glob" and isinstance(term.expr, str) and not set(term.expr) & set("*?["):
                return {term.expr} & self.inventory.targets.keys()
            return {id for id in self.inventory.ids if term.of(id)}
        return {id for id in self.inventory.ids if term.match(self.subject(id))}

    def subject(self, id: str) -> LazySubject:
        """One of the ids as matchers see it."""
        return LazySubject(id, self.inventory, self.caches)

    def _all(self) -> set[str]:
        return set(self.inventory.ids)


class InventoryCaches:
    """Caches for want of caches: grains and pillar that are written in the inventory."""

    def __init__(self, inventory: Inventory) -> None:
        self._targets = inventory.targets

    def grains(self, id: str) -> Mapping[str, Any]:
        return self._targets[id].grains

    def pillar(self, id: str) -> Mapping[str, Any]:
        return self._targets[id].pillar


class LazySubject:
    """A Subject whose caches are read when a matcher looks."""

    #: what it manages is no matter here: that is selected as what it is
    resources: Mapping[str, Sequence[str]] = {}

    def __init__(self, id: str, inventory: Inventory, caches: Caches) -> None:
        self.id = id
        self._target = inventory.targets[id]
        self._caches = caches

    @property
    def grains(self) -> Mapping[str, Any]:
        return self._caches.grains(self.id)

    @property
    def pillar(self) -> Mapping[str, Any]:
        return self._caches.pillar(self.id)

    @property
    def type(self) -> str:
        return self._target.transport

    @property
    def manager(self) -> str:
        """Who reaches it: the jump host nearest to it, else the controller."""
        return self._target.jump[-1] if self._target.jump else CONTROLLER


def nothing(expr: Any, tgt_type: str, inventory: Inventory) -> NoTargetError:
    """No target is selected: says so, with the ids that may have been meant."""
    words = expr if isinstance(expr, str) else ",".join(map(str, expr))
    if not inventory.ids:
        return NoTargetError(f"no target matches {words!r}: the inventory is empty", hint="add hosts to it")
    near = inventory.nearest(re.sub(r"\b[A-Z]@|\b(and|or|not)\b", " ", words))
    some = f"the inventory has {', '.join(inventory.ids[:5])}{' ...' if len(inventory.ids) > 5 else ''}"
    kind = "" if tgt_type == "glob" else f" ({tgt_type})"
    return NoTargetError(f"no target matches {words!r}{kind}", hint=f"nearest ids: {', '.join(near)}" if near else some)
