"""Explains why an expression selects a target or not: for each term the value, its source and its age."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pushsalt.errors import UsageError
from pushsalt.pillar.mask import mask
from pushsalt.select.lookup import Remembered
from pushsalt.select.selectable import Selectable
from pushsalt.select.selecting import check_inventory
from pushsalt.targeting import Expression, Fleet, Term, key_of, parse, sources
from pushsalt.targeting.fleet import is_wildcard
from pushsalt.targeting.matchers import ipcidr
from pushsalt.targeting.nomatch import no_match
from thin.utils import data

if TYPE_CHECKING:
    from pushsalt.job import Selection
    from pushsalt.select.project import SelectingProject


def explain(project: SelectingProject, selection: Selection, names: list[str]) -> dict[str, dict[str, Any]]:
    """``{name: {"matches": bool, "terms": [{"term", "holds", "value", "source", "age"}]}}``.

    ``names`` are results of ``Project.select``, or exact names; if several resources have a name, all are returned by
    their keys. ``value`` is the value at the longest existing part of the term's path, or None; values of pillar are
    masked. ``age`` is in seconds, None for values of the inventory. Raises UsageError, or InventoryError without an
    inventory.
    """
    check_inventory(project, selection.expr, selection.tgt_type)
    texts = [(selection.expr, selection.tgt_type)] + [(text, "compound") for text in selection.exclude]
    caches = Remembered(project, Selectable(project.inventory))
    widely = bool(project.config.opts["glob_includes_resources"])
    fleet = Fleet(project.inventory, caches, caches.managed, glob_includes_resources=widely)
    expressions = [
        parse(
            text,
            tgt_type,
            delimiter=selection.delimiter,
            nodegroups=project.nodegroups,
            vocabulary=project.vocabulary,
        )
        for text, tgt_type in texts
    ]
    keys = _keys(names, fleet)
    among = set(keys.values())
    chosen, *left_out = [fleet.select(expression, among) for expression in expressions]
    why = {}
    for name, key in keys.items():
        terms = []
        for expression in expressions:
            terms += _rows(expression, key, among, fleet)
        why[name] = {"matches": key in chosen and not any(key in each for each in left_out), "terms": terms}
    return why


def _keys(names: list[str], fleet: Fleet) -> dict[str, str]:
    """name -> key. Raises UsageError for an unknown name."""
    by_key: dict[str, str] = {}
    for name in names:
        keys = [key_of(name)] if key_of(name) else list(fleet.exactly(name))
        if not keys:
            raise _unknown(name, fleet)
        by_key.update({name if len(keys) == 1 else str(key): str(key) for key in keys})
    return by_key


def _unknown(name: str, fleet: Fleet) -> UsageError:
    text = f"--explain: there is no {name!r} in the inventory"
    if fleet.managed.has_any():
        text += ", and no target of it manages such a resource"
    return UsageError(text, hint=str(no_match(name, "glob", fleet.inventory, fleet.managed).hint))


def looks_at_pillar(project: SelectingProject, selection: Selection) -> bool:
    """Whether the terms of a selection use pillar. Raises UsageError."""
    texts = [(selection.expr, selection.tgt_type)] + [(text, "compound") for text in selection.exclude]
    return any("pillar" in sources(text, tgt_type, project.nodegroups, project.vocabulary) for text, tgt_type in texts)


def _rows(expression: Expression, key: str, among: set[str], fleet: Fleet) -> list[dict[str, Any]]:
    caches = fleet.caches
    assert isinstance(caches, Remembered)
    if expression.tgt_type in ("glob", "list"):  # these match names and managers only
        [term] = expression.terms.values()
        return [{"term": term.word, "holds": key in fleet.select(expression, among), **_named(term, key, caches)}]
    return [
        {"term": term.word, "holds": key in fleet.find(term, among), **_seen(term, key, fleet, caches)}
        for term in expression.terms.values()
    ]


def _named(term: Term, key: str, caches: Remembered) -> dict[str, Any]:
    """The result of a plain glob or list."""
    manager = caches.managed.manager(key)
    if manager is None:
        return {"value": key, "source": "inventory", "age": None}
    if term.tgt_type == "glob" and is_wildcard(str(term.expr)):
        return {"value": manager, "source": "its manager", "age": caches.managed.age(manager)}
    return {"value": key, "source": f"resources of {manager}", "age": caches.managed.age(manager)}


def _seen(term: Term, key: str, fleet: Fleet, caches: Remembered) -> dict[str, Any]:
    source = term.matcher.SOURCE
    subject = fleet.subject(key)
    target = fleet.inventory.targets.get(key)
    if term.tgt_type == "group":
        return {"value": list(subject.groups), "source": "inventory", "age": None}
    if source in ("id", "subject"):
        what = subject.id if source == "id" else f"{subject.type}:{subject.id}, managed by {subject.manager}"
        if target is not None:
            return {"value": what, "source": "inventory", "age": None}
        return {"value": what, "source": f"resources of {subject.manager}", "age": caches.managed.age(subject.manager)}
    path: str
    value: Any
    fixed = False
    if source == "grains":
        if term.tgt_type == "ipcidr":
            path = _family(term)
            value = caches.grains(key).get(path)
        else:
            path, value = _at(caches.grains(key), term)
        fixed = target is not None and path.split(term.delimiter)[0] in target.grains
    else:
        path, value = _at(caches.pillar(key), term)
        value = mask(value)
    written = caches.written(source, key)
    if fixed or written is None:
        return {"value": value, "path": path, "source": "inventory" if fixed else f"no {source} known", "age": None}
    return {"value": value, "path": path, "source": f"cached {source}", "age": max(0, int(time.time() - written))}


def _family(term: Term) -> str:
    try:
        return f"ipv{ipcidr.wanted(str(term.expr)).version}"
    except UsageError:
        return "ipv4"


def _at(values: Mapping[str, Any], term: Term) -> tuple[str, Any]:
    """The longest beginning of the expression that is an existing path, and its value."""
    parts = str(term.expr).split(term.delimiter)
    for cut in range(len(parts), 0, -1):
        path = term.delimiter.join(parts[:cut])
        value = data.traverse_dict_and_list(values, path, values, term.delimiter)
        if value is not values:
            return path, value
    return parts[0], None
