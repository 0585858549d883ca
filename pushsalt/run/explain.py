"""Why an expression selects an id or not: each of its terms, what it saw, where that is from and how old it is."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pushsalt.errors import UsageError
from pushsalt.pillar.mask import mask
from pushsalt.run.lookup import Remembered, manager_of
from pushsalt.run.selectable import Selectable
from pushsalt.targeting import Expression, Fleet, Term, parse, sources
from pushsalt.targeting.matchers import ipcidr
from thin.utils import data

if TYPE_CHECKING:
    from pushsalt.run.job import Selection
    from pushsalt.run.project import Project


def explain(project: Project, selection: Selection, ids: list[str]) -> dict[str, dict[str, Any]]:
    """``{id: {"matches": bool, "terms": [{"term", "holds", "value", "source", "age"}]}}``.

    ``value`` is what stands at the longest part of the term's path that leads anywhere, None where nothing does;
    values of pillar are masked. ``age`` is in seconds, None for what the inventory says. Raises UsageError.
    """
    texts = [(selection.expr, selection.tgt_type)] + [(text, "compound") for text in selection.exclude]
    known = Remembered(project, Selectable(project.inventory))
    fleet = Fleet(project.inventory, known)
    wanted, *excluded = [
        parse(text, tgt_type, delimiter=selection.delimiter, nodegroups=project.nodegroups) for text, tgt_type in texts
    ]
    chosen = fleet.select(wanted)
    for expression in excluded:
        chosen = chosen - fleet.select(expression)
    return {
        id: {"matches": id in chosen, "terms": [row for one in (wanted, *excluded) for row in _rows(one, id, fleet)]}
        for id in ids
    }


def looks_at_pillar(project: Project, selection: Selection) -> bool:
    """Whether a selection depends on pillar. Raises UsageError."""
    texts = [(selection.expr, selection.tgt_type)] + [(text, "compound") for text in selection.exclude]
    return any("pillar" in sources(text, tgt_type, project.nodegroups) for text, tgt_type in texts)


def _rows(expression: Expression, id: str, fleet: Fleet) -> list[dict[str, Any]]:
    known = fleet.caches
    assert isinstance(known, Remembered)
    return [
        {"term": term.word, "holds": id in fleet.find(term), **_seen(term, id, fleet, known)}
        for term in expression.terms.values()
    ]


def _seen(term: Term, id: str, fleet: Fleet, known: Remembered) -> dict[str, Any]:
    source = term.matcher.SOURCE
    target = fleet.inventory.targets[id]
    if source == "id":
        return {"value": id, "source": "inventory", "age": None}
    if source == "subject":
        what = f"{target.transport}:{id}, managed by {manager_of(target)}"
        return {"value": what, "source": "inventory", "age": None}
    path: str
    value: Any
    if source == "grains":
        if term.tgt_type == "ipcidr":
            key = _family(term)
            path, value = key, known.grains(id).get(key)
        else:
            path, value = _at(known.grains(id), term)
        fixed = path.split(term.delimiter)[0] in target.grains
    else:
        path, value = _at(known.pillar(id), term)
        value, fixed = mask(value), False
    written = known.written(source, id)
    if fixed or written is None:
        return {"value": value, "path": path, "source": "inventory" if fixed else f"no {source} known", "age": None}
    return {"value": value, "path": path, "source": f"cached {source}", "age": max(0, int(time.time() - written))}


def _family(term: Term) -> str:
    try:
        return f"ipv{ipcidr.wanted(str(term.expr)).version}"
    except UsageError:
        return "ipv4"


def _at(values: Mapping[str, Any], term: Term) -> tuple[str, Any]:
    """The longest beginning of the expression that is a path to something, and what is there."""
    parts = str(term.expr).split(term.delimiter)
    for cut in range(len(parts), 0, -1):
        path = term.delimiter.join(parts[:cut])
        found = data.traverse_dict_and_list(values, path, values, term.delimiter)
        if found is not values:
            return path, found
    return parts[0], None
