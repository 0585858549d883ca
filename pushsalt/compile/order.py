"""Chunks into the order in which they run, and every requisite that refers to nothing. Salt: State.order_chunks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from pushsalt.compile.graph import DependencyGraph, aggregate_groups
from pushsalt.compile.source import Problem, Sources, StateFunctions
from pushsalt.compile.words import WATCHING_MODULES, did_you_mean
from pushsalt.errors import Position
from pushsalt.model import Chunk

#: The requisites that order chunks, as Salt goes through them. ``listen`` does not: it acts when all have run.
_ORDERING = (
    "require",
    "require_any",
    "watch",
    "watch_any",
    "prereq",
    "onfail",
    "onfail_any",
    "onfail_all",
    "onchanges",
    "onchanges_any",
)


#: Finding what a name may have meant takes a while; when everything is missing, the first ones tell enough.
MAX_HINTS = 20


@dataclass
class Ordered:
    """``chunks`` in order; ``aggregates`` has the tags of chunks that can run as one, group by group."""

    chunks: list[Chunk] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    aggregates: list[list[str]] = field(default_factory=list)


def order_chunks(
    chunks: Sequence[Chunk],
    sources: Sources,
    functions: StateFunctions | None = None,
    *,
    disabled: Sequence[str] = (),
    aggregate: Any = False,
) -> Ordered:
    """Sort chunks by requisites, then ``order``; sets their ``order``, ``__prereq__`` and ``__prerequiring__``.

    A chunk that others have as ``prereq`` is there twice, first for its dry run. Without ``functions`` every module
    is taken for one that is not shipped. ``disabled`` are requisites to ignore (the option ``disabled_requisites``),
    ``aggregate`` is the option ``state_aggregate``.
    """
    graph = DependencyGraph()
    for chunk in chunks:
        graph.add_chunk(chunk, aggregate=_aggregates(chunk, aggregate, functions))
    result = Ordered()
    cap = 1
    for chunk in chunks:
        if not _watches(chunk, functions):
            _watch_to_require(chunk)
        problems = _add_requisites(graph, chunk, sources, disabled, hints=len(result.problems) < MAX_HINTS)
        result.problems += problems
        order = chunk.get("order")
        if not problems and isinstance(order, int) and order >= cap:
            cap = order + 100
    tags = graph.sorted_tags(cap)
    if len(tags) < len(graph.nodes):
        result.problems.append(_cycle(graph, sources))
        return result
    result.chunks = [graph.nodes[tag].chunk for tag in tags]
    result.aggregates = aggregate_groups(graph, tags)
    return result


def _aggregates(chunk: Chunk, option: Any, functions: StateFunctions | None) -> bool:
    option = chunk.get("aggregate", option)
    wanted = option is True or (isinstance(option, list | tuple | set | dict) and chunk["state"] in option)
    return bool(wanted and functions and functions.spec(f"{chunk['state']}.mod_aggregate"))


def _watches(chunk: Chunk, functions: StateFunctions | None) -> bool:
    """Whether the chunk's module has ``mod_watch``; one that is not shipped is taken for Salt's."""
    module = chunk["state"]
    if functions and functions.spec(f"{module}.mod_watch"):
        return True
    shipped = functions is not None and functions.spec(f"{module}.{chunk['fun']}") is not None
    return not shipped and module in WATCHING_MODULES


def _watch_to_require(chunk: Chunk) -> None:
    """A module without ``mod_watch`` cannot react: for it ``watch`` is ``require``."""
    for watch, require in (("watch", "require"), ("watch_any", "require_any")):
        if watch in chunk:
            watched = chunk.pop(watch)
            chunk[require] = [*chunk[require], *watched] if chunk.get(require) else watched


def _add_requisites(
    graph: DependencyGraph, chunk: Chunk, sources: Sources, disabled: Sequence[str], *, hints: bool
) -> list[Problem]:
    problems = []

    def problem(text: str, hint: str = "") -> None:
        problems.append(Problem(text, sources.where(chunk, chunk["__id__"]), hint))

    where = f"in state [{chunk['name']}] in SLS [{chunk.get('__sls__')}]"
    for requisite in _ORDERING:
        references = chunk.get(requisite)
        if not references or requisite in disabled:
            continue
        if not isinstance(references, list):
            problem(
                f"The {requisite} statement in state '{chunk['__id__']}' in SLS '{chunk.get('__sls__')}' needs to be "
                "formed as a list"
            )
            continue
        for reference in references:
            if isinstance(reference, str):
                reference = {"id": reference}
            if not isinstance(reference, dict) or not reference:
                problem(
                    f"Requisite declaration {reference} in state {chunk['__id__']} in SLS {chunk.get('__sls__')} "
                    "is not formed as a single key dictionary"
                )
                continue
            key, name = next(iter(reference.items()))
            kind = str(key).partition(".")[0]
            if name is None:
                continue
            if not isinstance(name, str):
                problem(f"Requisite [{requisite}: {kind}] {where} must have a string as the value")
            elif not graph.require(chunk, requisite, kind, name):
                problem(
                    f"Referenced state does not exist for requisite [{requisite}: ({kind}: {name})] {where}",
                    did_you_mean(name, graph.references(kind)) if hints else "",
                )
    return problems


def _cycle(graph: DependencyGraph, sources: Sources) -> Problem:
    """The whole cycle in Salt's words, with the place of every chunk in it."""
    edges: list[str] = []
    where: list[Position] = []
    for required, requiring, requisite in graph.find_cycle():
        first, last = graph.nodes[required].chunk, graph.nodes[requiring].chunk
        if requisite == "require" and requisite not in last:
            requisite = "prereq"  # its edge from the prerequired chunk's side
        edges.append(f"({_label(last)}, '{requisite}', {_label(first)})")
        where.extend(sources.where(last, last["__id__"]))
    hint = "Remove one of these requisites, or split one of the states in two."
    return Problem(f"Recursive requisites were found: {', '.join(edges)}", tuple(dict.fromkeys(where)), hint)


def _label(chunk: Chunk) -> str:
    label = {"SLS": chunk.get("__sls__"), "ID": chunk["__id__"]}
    if chunk["name"] != chunk["__id__"]:
        label["NAME"] = chunk["name"]
    return str(label)
