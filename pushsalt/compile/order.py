"""Sorts chunks into the order in which they run; finds dangling requisites. Salt: State.order_chunks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pushsalt.compile.graph import DependencyGraph, aggregate_groups
from pushsalt.compile.source import Place, Problem, SourcePositions, StateFunctions
from pushsalt.compile.words import WATCHING_MODULES, did_you_mean
from pushsalt.model import Chunk, tag_of

#: The requisites that order chunks, in Salt's order. ``listen`` is not one: it acts after all states have run.
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


#: Maximum number of suggestions for missing names: they take time, and the first ones are enough.
MAX_HINTS = 20


#: Maximum number of members of a cycle in the explanation for people.
MAX_MEMBERS = 20


@dataclass
class Ordered:
    """``chunks`` in order; ``aggregates`` has the tags of chunks that can run as one, group by group.

    ``declared`` has the tags of all chunks in the order in which they were written.
    """

    chunks: list[Chunk] = field(default_factory=list)
    declared: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    aggregates: list[list[str]] = field(default_factory=list)


def order_chunks(
    chunks: Sequence[Chunk],
    sources: SourcePositions,
    functions: StateFunctions | None = None,
    *,
    disabled: Sequence[str] = (),
    aggregate: Any = False,
) -> Ordered:
    """Sort chunks by requisites, then ``order``; sets their ``order``, ``__prereq__`` and ``__prerequiring__``.

    A chunk that others have as ``prereq`` is in the list twice, first for its dry run. Without ``functions`` every
    module counts as not shipped. ``disabled``: requisites to ignore (the option ``disabled_requisites``);
    ``aggregate``: the option ``state_aggregate``.
    """
    result = Ordered()
    graph, cap = requisite_graph(chunks, sources, result.problems, functions, disabled=disabled, aggregate=aggregate)
    tags = graph.sorted_tags(cap)
    if len(tags) < len(graph.nodes):
        result.problems.append(_cycle(graph, sources))
        return result
    result.chunks = [graph.nodes[tag].chunk for tag in tags]
    result.declared = list(dict.fromkeys(map(tag_of, chunks)))
    result.aggregates = aggregate_groups(graph, tags)
    return result


def requisite_graph(
    chunks: Sequence[Chunk],
    sources: SourcePositions,
    problems: list[Problem],
    functions: StateFunctions | None = None,
    *,
    disabled: Sequence[str] = (),
    aggregate: Any = False,
) -> tuple[DependencyGraph, int]:
    """The graph of requisites, and the ``order`` of chunks without one. Adds invalid requisites to ``problems``."""
    graph = DependencyGraph()
    for chunk in chunks:
        graph.add_chunk(chunk, aggregate=_aggregates(chunk, aggregate, functions))
    cap = 1
    for chunk in chunks:
        if not _watches(chunk, functions):
            _watch_to_require(chunk)
        missing = _add_requisites(graph, chunk, sources, disabled, hints=len(problems) < MAX_HINTS)
        problems += missing
        order = chunk.get("order")
        if not missing and isinstance(order, int) and order >= cap:
            cap = order + 100
    return graph, cap


def _aggregates(chunk: Chunk, option: Any, functions: StateFunctions | None) -> bool:
    option = chunk.get("aggregate", option)
    wanted = option is True or (isinstance(option, list | tuple | set | dict) and chunk["state"] in option)
    return bool(wanted and functions and functions.spec(f"{chunk['state']}.mod_aggregate"))


def _watches(chunk: Chunk, functions: StateFunctions | None) -> bool:
    """Whether the chunk's module has ``mod_watch``; for a module that is not shipped, whether Salt's has."""
    module = chunk["state"]
    if functions and functions.spec(f"{module}.mod_watch"):
        return True
    shipped = functions is not None and functions.spec(f"{module}.{chunk['fun']}") is not None
    return not shipped and module in WATCHING_MODULES


def _watch_to_require(chunk: Chunk) -> None:
    """Turn ``watch`` into ``require``, for a module without ``mod_watch``."""
    for watch, require in (("watch", "require"), ("watch_any", "require_any")):
        if watch in chunk:
            watched = chunk.pop(watch)
            chunk[require] = [*chunk[require], *watched] if chunk.get(require) else watched


def _add_requisites(
    graph: DependencyGraph, chunk: Chunk, sources: SourcePositions, disabled: Sequence[str], *, hints: bool
) -> list[Problem]:
    problems: list[Problem] = []

    def problem(text: str, written: Any = None, hint: str = "", *, dangling: bool = False) -> None:
        where = sources.where(chunk, chunk["__id__"], chunk["state"], requisite, written)
        rule = "dangling-requisite" if dangling else "malformed-requisite"
        problems.append(Problem(text, where, hint, dangling, rule=rule))

    of = f"in state [{chunk['name']}] in SLS [{chunk.get('__sls__')}]"
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
        for written in references:
            reference = {"id": written} if isinstance(written, str) else written
            if not isinstance(reference, dict) or not reference:
                problem(
                    f"Requisite declaration {reference} in state {chunk['__id__']} in SLS {chunk.get('__sls__')} "
                    "is not formed as a single key dictionary",
                    written,
                )
                continue
            key, name = next(iter(reference.items()))
            kind = str(key).partition(".")[0]
            if name is None:
                continue
            if not isinstance(name, str):
                problem(f"Requisite [{requisite}: {kind}] {of} must have a string as the value", written)
            elif not graph.require(chunk, requisite, kind, name):
                problem(
                    f"Referenced state does not exist for requisite [{requisite}: ({kind}: {name})] {of}",
                    written,
                    _meant(kind, name, graph) if hints else "",
                    dangling=True,
                )
    return problems


def _meant(kind: str, name: str, graph: DependencyGraph) -> str:
    """A suggestion for a dangling reference: a similar name, or one of another state module."""
    if meant := did_you_mean(name, graph.references(kind)):
        return meant
    others = sorted({of for of in graph.kinds(name) if of not in ("id", kind)})
    return f"There is '{name}' of {', '.join(others)}." if others else ""


def _cycle(graph: DependencyGraph, sources: SourcePositions) -> Problem:
    """The problem of a cycle, with Salt's text and the places of all its requisites."""
    edges: list[str] = []
    where: list[Place] = []
    members: list[str] = []
    cycle = graph.find_cycle()
    for left, (required, requiring, requisite) in enumerate(cycle, -len(cycle)):
        first, last = graph.nodes[required].chunk, graph.nodes[requiring].chunk
        if requisite == "require" and requisite not in last:
            requisite = "prereq"  # its edge as the chunk with the dry run has it
        edges.append(f"({_label(last)}, '{requisite}', {_label(first)})")
        if left >= -MAX_MEMBERS:  # finding places is slow
            where[:0] = _edge_places(first, last, requisite, sources)
        members.insert(0, str(last["__id__"]))
    if len(members) > MAX_MEMBERS:
        members[MAX_MEMBERS // 2 : -MAX_MEMBERS // 2] = ["..."]
    hint = "Remove one of these requisites, or split one of the states in two."
    # each requires the next
    words = f"Recursive requisites were found: {' -> '.join([*members, *members[:1]])}"
    text = f"Recursive requisites were found: {', '.join(edges)}"
    return Problem(text, tuple(dict.fromkeys(where)), hint, words=words, rule="cycle")


def _edge_places(first: Chunk, last: Chunk, requisite: str, sources: SourcePositions) -> Iterator[Place]:
    """The places of the requisite of ``last`` on ``first``: in ``last``, or as ``_in`` in ``first``."""
    names = (first["__id__"], first["name"])
    note = f"'{last['__id__']}' has {requisite}: '{first['__id__']}'"
    for key in (requisite, requisite.partition("_")[0]):
        references = last.get(key)
        for reference in references if isinstance(references, list) else ():
            named = [reference] if isinstance(reference, str) else [*reference.values()]
            if any(name in named for name in names):
                places = sources.where(last, last["__id__"], last["state"], key, reference)
                inverse = sources.where(
                    first, first["__id__"], first["state"], f"{key}_in", {last["state"]: last["__id__"]}
                )
                written = sources.where(last, last["__id__"])
                place = inverse if places == written and inverse != sources.where(first, first["__id__"]) else places
                return iter([replace(each, note=note) for each in place])
    return iter([replace(each, note=note) for each in sources.where(last, last["__id__"])])


def _label(chunk: Chunk) -> str:
    label = {"SLS": chunk.get("__sls__"), "ID": chunk["__id__"]}
    if chunk["name"] != chunk["__id__"]:
        label["NAME"] = chunk["name"]
    return str(label)
