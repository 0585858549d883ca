"""Evaluates an expression for many targets: each term for all targets at once, then the results are combined.

Targets are the ids of the inventory and their managed resources, identified by keys: that of an inventory id is the id,
that of a resource ``type:id``. ``Caches`` have the data of targets; a cache that can look up a whole term (``Lookup``)
answers a grain term by one query to an index, not one per id. ``ManagedResources`` has the resources, and is only used
if a result depends on it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Any, Final, Protocol

from pushsalt.inventory import Inventory
from pushsalt.model import Target
from pushsalt.targeting.compound import Expression, Term
from pushsalt.targeting.matchers.list import split
from pushsalt.targeting.names import of_whole_name

#: The manager of targets that the controller reaches directly.
CONTROLLER: Final = "controller"
#: Limit for the tokens of a list that are looked up one by one, including joined ones (an id may contain a comma).
_TOKENS: Final = 20
#: Limit for the managers of a glob whose resources are read one by one; for more, all resources are filtered.
_MANAGERS: Final = 200
#: Up to this number of keys that other terms have left, a term is tested for each key.
_FEW: Final = 2000


def manager_of(target: Target) -> str:
    """The manager of an inventory id: the last of its jump hosts, or the controller."""
    return target.jump[-1] if target.jump else CONTROLLER


class Caches(Protocol):
    """Cached data of targets by key; empty mappings for missing data."""

    def grains(self, key: str) -> Mapping[str, Any]: ...

    def pillar(self, key: str) -> Mapping[str, Any]: ...


class Lookup(Caches, Protocol):
    """Caches that can answer a term for all at once."""

    def find(self, term: Term, among: Collection[str] | None = None) -> set[str] | None:
        """The keys that match the term (among these, if given); None if each must be tested separately."""


class ManagedResources(Protocol):
    """The resources that the ids of an inventory manage, by key."""

    def has_any(self) -> bool:
        """Whether there are any."""

    def all(self) -> Mapping[str, str]:
        """key -> manager."""

    def of_type(self, type: str) -> Collection[str]:
        """The keys of all resources of a type; they are recorded as by ``relied``."""

    def of_manager(self, manager: str) -> Collection[str]: ...

    def called(self, id: str) -> Collection[str]:
        """The keys of the resources with this bare id."""

    def manager(self, key: str) -> str | None: ...

    def managers(self, keys: Collection[str]) -> Mapping[str, str | None]:
        """key -> manager, for at least these keys."""

    def relied(self, keys: Collection[str]) -> None:
        """Record that a term has selected these keys by their registrations."""

    def elsewhere(self, name: str) -> Mapping[str, str]:
        """key -> manager, for resources of this name whose manager is not in the inventory."""


class NoManagedResources:
    """No resources."""

    def has_any(self) -> bool:
        return False

    def all(self) -> Mapping[str, str]:
        return {}

    def of_type(self, type: str) -> Collection[str]:
        return ()

    def of_manager(self, manager: str) -> Collection[str]:
        return ()

    def called(self, id: str) -> Collection[str]:
        return ()

    def manager(self, key: str) -> str | None:
        return None

    def managers(self, keys: Collection[str]) -> Mapping[str, str | None]:
        return {}

    def relied(self, keys: Collection[str]) -> None:
        pass

    def elsewhere(self, name: str) -> Mapping[str, str]:
        return {}


class Fleet:
    """All selectable targets, with their data. Results of terms are cached."""

    def __init__(
        self,
        inventory: Inventory,
        caches: Caches | None = None,
        managed: ManagedResources | None = None,
        *,
        glob_includes_resources: bool = True,
    ) -> None:
        self.inventory = inventory
        self.caches: Caches = caches or InventoryCaches(inventory)
        self.managed: ManagedResources = managed or NoManagedResources()
        self._widely = glob_includes_resources
        self._answers: dict[Term, set[str]] = {}
        self._everything: set[str] | None = None

    def select(self, expression: Expression, among: set[str] | None = None) -> set[str]:
        """The keys that an expression selects (among these, if given). Raises UsageError for an invalid one.

        Plain globs and lists are names of inventory ids first: see ``exactly`` and ``_glob``. Other expressions are
        evaluated for each key.
        """
        if expression.tgt_type in ("glob", "list"):
            [term] = expression.terms.values()
            keys = self._glob(term) if expression.tgt_type == "glob" else self._list(term)
            return keys if among is None else keys & among
        return self._chosen(expression, expression.tree, among)

    def in_order(self, chosen: Collection[str]) -> list[str]:
        """Keys in the inventory's order, each followed by its managed resources, sorted."""
        ids = self.inventory.ids
        targets = self.inventory.targets
        keys = set(chosen)
        resources = keys.difference(targets)
        if not resources:
            return list(ids) if len(keys) == len(ids) else [id for id in ids if id in keys]
        managers = self.managed.managers(resources)
        managed: defaultdict[str | None, list[str]] = defaultdict(list)
        # in the order of memory, unless few keys are needed
        for key in managers if len(managers) < 4 * len(resources) else resources:
            if key in resources:
                managed[managers.get(key)].append(key)
        ordered = []
        for id in ids:
            if id in chosen:
                ordered.append(id)
            if id in managed:
                ordered += sorted(managed[id])
        return ordered

    def subject(self, key: str) -> LazySubject | LazyResource:
        """The Subject of a key, for matchers."""
        target = self.inventory.targets.get(key)
        if target is None:
            return LazyResource(key, self.managed, self.caches)
        return LazySubject(key, target, self.caches)

    # plain globs and lists -------------------------------------------------------------------------------------------

    def exactly(self, token: str) -> Collection[str]:
        """The keys of an exact name: the inventory id; else the resource with this key; else resources with this id."""
        targets = self.inventory.targets
        if token in targets:
            return (token,)
        if of_whole_name(token, self.inventory):
            return (token.partition(":")[2],)
        if not self.managed.has_any():
            return ()
        return (token,) if self.managed.manager(token) is not None else self.managed.called(token)

    def _glob(self, term: Term) -> set[str]:
        """The inventory ids that match a glob, and their managed resources; names of resources are not compared."""
        if not isinstance(term.expr, str):
            return set()
        if not is_wildcard(term.expr):
            return set(self.exactly(term.expr))
        ids = self._ids(term)
        if not ids or not self._widely or not self.managed.has_any():
            return ids
        if len(ids) <= _MANAGERS:
            return ids.union(*map(self.managed.of_manager, ids))
        everything = self.managed.all()
        if len(ids) == len(self.inventory.ids):
            return ids | everything.keys()
        return ids | {key for key, manager in everything.items() if manager in ids}

    def _list(self, term: Term) -> set[str]:
        return self._ids(term).union(*(self.exactly(token) for token in split(term.expr)))

    # expressions -----------------------------------------------------------------------------------------------------

    def _chosen(self, expression: Expression, tree: tuple[Any, ...], among: set[str] | None) -> set[str]:
        """The keys that match (among ``among``, if given). Costly terms are evaluated last, for the remaining keys."""
        kind = tree[0]
        if kind == "word":
            return self.find(expression.terms[tree[1]], among)
        if kind == "not":
            return (self._all() if among is None else among) - self._chosen(expression, tree[1], among)
        if kind == "and":
            for part in sorted(tree[1], key=partial(_cost, expression)):
                among = self._chosen(expression, part, among)
            return among or set()
        if kind == "or":
            keys: set[str] = set()
            for part in sorted(tree[1], key=partial(_cost, expression)):
                rest = among
                if keys and _cost(expression, part) == _PILLAR:
                    rest = (self._all() if among is None else among) - keys
                keys = keys | self._chosen(expression, part, rest)
            return keys
        if kind == "call":
            raise expression.error("has a '(' directly after a target")
        return set()

    def find(self, term: Term, among: set[str] | None = None) -> set[str]:
        """The keys that match a term; among ``among``, if given."""
        if among is not None and term not in self._answers:
            if term.matcher.SOURCE == "pillar":
                return self._look_up(term, among)
            if _cost_of(term) == _ALL and len(among) <= _FEW:
                few = {key for key in among if term.match(self.subject(key))}
                if term.tgt_type == "resource":
                    self.managed.relied(few - self.inventory.targets.keys())
                return few
        if term not in self._answers:
            self._answers[term] = self._find(term)
        keys = self._answers[term]
        return keys if among is None else keys & among

    def _find(self, term: Term) -> set[str]:
        if term.matcher.SOURCE == "id":
            return self._ids(term) | self._resource_ids(term)
        if term.tgt_type == "resource":
            return self._of_type(str(term.expr))
        if term.tgt_type == "managing_minion":
            return self._of_manager(str(term.expr))
        if term.tgt_type == "group":
            name = str(term.expr)
            return {id for id, target in self.inventory.targets.items() if name in target.groups}
        return self._look_up(term, None)

    def _look_up(self, term: Term, among: set[str] | None) -> set[str]:
        look_up = getattr(self.caches, "find", None)
        keys: set[str] | None = look_up(term, among) if look_up is not None else None
        if keys is None:
            keys = {key for key in (self._all() if among is None else among) if term.match(self.subject(key))}
        return keys

    def _ids(self, term: Term) -> set[str]:
        """The inventory ids that match a term over ids."""
        if term.tgt_type == "glob" and isinstance(term.expr, str):
            if term.expr == "*":
                return set(self.inventory.ids)
            if not is_wildcard(term.expr):
                return {term.expr} & self.inventory.targets.keys()
        return {id for id in self.inventory.ids if term.of(id)}

    def _resource_ids(self, term: Term) -> set[str]:
        """The resources whose ids match a term."""
        if not self.managed.has_any():
            return set()
        tokens: list[str] | None = None
        if term.tgt_type == "glob" and isinstance(term.expr, str):
            if term.expr == "*":
                return set(self.managed.all())
            tokens = None if is_wildcard(term.expr) else [term.expr]
        elif term.tgt_type == "list" and isinstance(term.expr, str):
            tokens = _tokens(term.expr)
        if tokens is not None:
            return {key for token in tokens for key in self.managed.called(token)}
        return {key for key in self.managed.all() if term.of(key.partition(":")[2])}

    def _of_type(self, expr: str) -> set[str]:
        type, colon, id = expr.partition(":")
        targets = self.inventory.targets
        if colon:
            ids = {id} if id in targets and targets[id].transport == type else set()
            if self.managed.has_any() and self.managed.manager(expr) is not None:
                self.managed.relied([expr])
                ids.add(expr)
            return ids
        ids = {id for id, target in targets.items() if target.transport == type}
        return ids.union(self.managed.of_type(type)) if self.managed.has_any() else ids

    def _of_manager(self, name: str) -> set[str]:
        ids = {id for id, target in self.inventory.targets.items() if manager_of(target) == name}
        if name in self.inventory.targets and self.managed.has_any():
            managed = self.managed.of_manager(name)
            self.managed.relied(managed)
            ids.update(managed)
        return ids

    def _all(self) -> set[str]:
        if self._everything is None:
            self._everything = set(self.inventory.ids)
            if self.managed.has_any():
                self._everything.update(self.managed.all())
        return self._everything


def is_wildcard(expr: str) -> bool:
    """Whether a glob may match more than one id."""
    return any(letter in expr for letter in "*?[")


def _tokens(expr: str) -> list[str] | None:
    """The ids that a list may contain: its parts, and joined adjacent parts; None for a long list."""
    parts = expr.split(",")
    if len(parts) > _TOKENS:
        return None
    return [",".join(parts[at:end]) for at in range(len(parts)) for end in range(at + 1, len(parts) + 1)]


#: Cost of a term: a look-up, an index query, a scan of all names, a scan of all encrypted entries.
_LOOKUP, _INDEX, _ALL, _PILLAR = range(4)


def _cost(expression: Expression, tree: tuple[Any, ...]) -> int:
    if tree[0] == "word":
        return _cost_of(expression.terms[tree[1]])
    if tree[0] in ("and", "or"):
        return max(_cost(expression, part) for part in tree[1])
    return max(_ALL, _cost(expression, tree[1])) if tree[0] == "not" else _LOOKUP


def _cost_of(term: Term) -> int:
    source, expr = term.matcher.SOURCE, str(term.expr)
    if source in ("grains", "pillar"):
        return _INDEX if source == "grains" else _PILLAR
    narrow = {"managing_minion": True, "list": True, "glob": not is_wildcard(expr), "resource": ":" in expr}
    return _LOOKUP if narrow.get(term.tgt_type) else _ALL


class InventoryCaches:
    """``Caches`` without cached data: the grains and pillar of the inventory only."""

    def __init__(self, inventory: Inventory) -> None:
        self._targets = inventory.targets

    def grains(self, key: str) -> Mapping[str, Any]:
        return self._targets[key].grains if key in self._targets else {}

    def pillar(self, key: str) -> Mapping[str, Any]:
        return self._targets[key].pillar if key in self._targets else {}


class LazySubject:
    """A Subject that reads the caches on demand."""

    #: not needed here, since only the key itself is selected
    resources: Mapping[str, Sequence[str]] = {}

    def __init__(self, id: str, target: Target, caches: Caches) -> None:
        self.id = id
        self._target = target
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
    def groups(self) -> Sequence[str]:
        return self._target.groups

    @property
    def manager(self) -> str:
        """The manager: the jump host nearest to it, else the controller."""
        return manager_of(self._target)


class LazyResource:
    """As LazySubject, for a resource."""

    resources: Mapping[str, Sequence[str]] = {}
    #: groups of an inventory contain inventory ids only
    groups: Sequence[str] = ()

    def __init__(self, key: str, managed: ManagedResources, caches: Caches) -> None:
        self.key = key
        self.type, _, self.id = key.partition(":")
        self._managed = managed
        self._caches = caches

    @property
    def grains(self) -> Mapping[str, Any]:
        return self._caches.grains(self.key)

    @property
    def pillar(self) -> Mapping[str, Any]:
        return self._caches.pillar(self.key)

    @property
    def manager(self) -> str:
        return self._managed.manager(self.key) or ""
