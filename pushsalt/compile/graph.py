"""The graph of requisites between chunks, and its order. Salt: salt.utils.requisite.DependencyGraph.

Nodes are chunks by tag. An edge leads from a required chunk to the chunk that requires it, and has the requisites'
names. A chunk that others have as ``prereq`` has a second node, its dry run, which comes before those others.
"""

from __future__ import annotations

import fnmatch
import heapq
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from pushsalt.compile.words import REQUISITES
from pushsalt.model import Chunk, tag_of

_WEIGHT = {name: weight for weight, name in enumerate(REQUISITES)}


@dataclass(slots=True)
class Node:
    """A chunk in the graph. ``before`` and ``after``: tag of a neighbour -> names of the requisites, in order."""

    chunk: Chunk
    aggregate: bool = False
    before: dict[str, dict[str, None]] = field(default_factory=dict)
    after: dict[str, dict[str, None]] = field(default_factory=dict)


class DependencyGraph:
    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {}
        # (state module or "id", ID or name) -> tags; SLS name -> tags. Dicts, for their order.
        self._by_reference: dict[tuple[str, Any], dict[str, None]] = {}
        self._by_sls: dict[str, dict[str, None]] = {}

    def add_chunk(self, chunk: Chunk, *, aggregate: bool) -> None:
        tag = tag_of(chunk)
        if tag in self.nodes:
            self.nodes[tag].chunk, self.nodes[tag].aggregate = chunk, aggregate
        else:
            self.nodes[tag] = Node(chunk, aggregate)
        module, id_, name = chunk["state"], chunk["__id__"], chunk["name"]
        for reference in ((module, name), (module, id_), ("id", id_), ("id", name)):
            self._by_reference.setdefault(reference, {})[tag] = None
        for sls in (chunk.get("__sls__"), *(chunk.get("__sls_included_from__") or ())):
            if sls:
                self._by_sls.setdefault(sls, {})[tag] = None

    def references(self, kind: str) -> list[str]:
        """All names that a reference ``{kind: ...}`` could have."""
        names: Iterable[Any] = (
            self._by_sls if kind == "sls" else (name for of, name in self._by_reference if of == kind)
        )
        return [str(name) for name in names]

    def kinds(self, name: str) -> list[str]:
        """The state modules (or ``id``) of chunks with this ID or name."""
        return [of for of, reference in self._by_reference if reference == name]

    def require(self, chunk: Chunk, requisite: str, kind: str, name: str) -> bool:
        """Add the edges of one reference of a chunk; False if it matches nothing.

        ``kind`` is a state module, ``id`` or ``sls``; ``name`` may be a pattern, which for ``sls`` may match nothing.
        """
        pattern = any(char in name for char in "*?[]")
        groups: list[dict[str, None]]
        if kind == "sls" and pattern:
            groups = [tags for sls, tags in self._by_sls.items() if fnmatch.fnmatch(sls, name)]
        elif kind == "sls":
            groups = [self._by_sls[name]] if name in self._by_sls else []
        elif pattern:
            groups = [
                tags
                for (of, reference), tags in self._by_reference.items()
                if of == kind and fnmatch.fnmatch(str(reference), name)
            ]
        else:
            groups = [self._by_reference[kind, name]] if (kind, name) in self._by_reference else []
        tag, dry_run = tag_of(chunk), bool(chunk.get("__prereq__"))
        for tags in groups:
            for required in tags:
                if requisite == "prereq":
                    self._add_prereq(tag, required)
                    continue
                if dry_run:
                    self._add_edge(required, _dry_run(tag), requisite)
                self._add_edge(required, tag, requisite)
        return bool(groups) or (kind == "sls" and pattern)

    def _add_edge(self, before: str, after: str, requisite: str) -> None:
        self.nodes[before].after.setdefault(after, {})[requisite] = None
        self.nodes[after].before.setdefault(before, {})[requisite] = None

    def _add_prereq(self, tag: str, required: str) -> None:
        """Add a ``prereq``: ``tag`` runs if a dry run of ``required`` shows changes, and before it."""
        self.nodes[tag].chunk["__prerequiring__"] = True
        node = self.nodes[required]
        node.chunk["__prereq__"] = True
        check = _dry_run(required)
        if check not in self.nodes:
            self.nodes[check] = Node(node.chunk)
            for before, requisites in list(node.before.items()):
                for requisite in requisites:
                    if requisite != "prereq":
                        self._add_edge(before, check, requisite)
        self._add_edge(check, tag, "prereq")
        self._add_edge(tag, required, "require")
        # The dry run of this chunk, if it has one, depends on the result of the dry run of the required one.
        if _dry_run(tag) in self.nodes:
            self._add_edge(check, _dry_run(tag), "prereq")

    # order -----------------------------------------------------------------------------------------------------------

    def sorted_tags(self, cap: int) -> list[str]:
        """Tags in topological order, otherwise by ``order``; sets each chunk's ``order`` to the number that it was
        sorted by.

        ``cap`` is the order of chunks without one. Fewer tags than nodes mean that there is a cycle.
        """
        waiting = {tag: sum(map(len, node.before.values())) for tag, node in self.nodes.items()}
        heap: list[tuple[tuple[float, float], str, str]] = []

        def ready(tag: str) -> None:
            chunk = self.nodes[tag].chunk
            heapq.heappush(heap, (self._place(tag, cap), f"{chunk['state']}{chunk['name']}{chunk['fun']}", tag))

        for tag, count in waiting.items():
            if not count:
                ready(tag)
        done = []
        while heap:
            tag = heapq.heappop(heap)[2]
            done.append(tag)
            for after, requisites in self.nodes[tag].after.items():
                waiting[after] -= len(requisites)
                if not waiting[after]:
                    ready(after)
        return done

    def _place(self, tag: str, cap: int) -> tuple[float, float]:
        """The sort key of a ready chunk: the order of the first chunk that requires it, then its own order."""
        node = self.nodes[tag]
        order = _order_number(node.chunk, cap)
        if name_order := node.chunk.pop("name_order", 0):
            order += name_order / 10000
        if order < 0:
            order += cap + 1000000
        node.chunk["order"] = order
        weight, earliest = -1, float("inf")
        for after, requisites in node.after.items():
            dependent = self.nodes[after].chunk
            for requisite in requisites:
                if weight <= _WEIGHT[requisite]:
                    weight = _WEIGHT[requisite]
                    # As in Salt, the plain number: negative ones not resolved, ``name_order`` not added.
                    if "order" in dependent:
                        dependent["order"] = _order_number(dependent, cap)
                        earliest = min(earliest, dependent["order"])
        return min(order, earliest), order

    # cycles ----------------------------------------------------------------------------------------------------------

    def find_cycle(self) -> list[tuple[str, str, str]]:
        """A cycle as (tag, next tag, requisite) edges, back to its first tag; empty when there is none."""
        state: dict[str, bool] = {}  # missing: not visited; False: on the path; True: done
        for start in self.nodes:
            if start in state:
                continue
            state[start] = False
            path: list[tuple[str, str, str]] = []
            stack = [(start, self._edges(start))]
            while stack:
                tag, edges = stack[-1]
                for after, requisite in edges:
                    if state.get(after) is False:
                        path.append((tag, after, requisite))
                        first = next(index for index, edge in enumerate(path) if edge[0] == after)
                        return path[first:]
                    if after not in state:
                        state[after] = False
                        path.append((tag, after, requisite))
                        stack.append((after, self._edges(after)))
                        break
                else:
                    state[tag] = True
                    stack.pop()
                    if path:
                        path.pop()
        return []

    def _edges(self, tag: str) -> Iterator[tuple[str, str]]:
        return ((after, requisite) for after, requisites in self.nodes[tag].after.items() for requisite in requisites)


def _dry_run(tag: str) -> str:
    return f"{tag}_|-__prereq_test__"


def _order_number(chunk: Chunk, cap: int) -> float:
    """The chunk's ``order`` as a number: ``first`` is 0, ``last`` after all, missing or other text is ``cap``."""
    order = chunk.get("order")
    if isinstance(order, int | float):
        return order
    return {"last": cap + 1000000, "first": 0}.get(order, cap) if isinstance(order, str) else cap


#: Maximum number of chunks in a group.
MAX_GROUP = 500


def aggregate_groups(graph: DependencyGraph, tags: Iterable[str]) -> list[list[str]]:
    """Groups of tags of one state module that can be aggregated: no chunk of a group depends on another chunk of it.

    ``tags`` must be sorted. Groups with one chunk are left out. Salt: DependencyGraph.aggregate_and_order_chunks.
    """
    after: dict[str, set[str]] = {tag: set(node.after) for tag, node in graph.nodes.items()}
    before: dict[str, set[str]] = {tag: set(node.before) for tag, node in graph.nodes.items()}
    groups: dict[str, list[list[str]]] = {}

    def join(tag: str, group: str) -> None:
        # A group is placed after all requirements of its members, and before all chunks that require one of them.
        for mine, theirs, source in ((before, after, before.get(tag, set())), (after, before, after.get(tag, set()))):
            mine.setdefault(group, set()).update(source)
            for other in source:
                theirs.setdefault(other, set()).add(group)

    for tag in tags:
        node = graph.nodes[tag]
        if not node.aggregate:
            continue
        module = node.chunk["state"]
        for index, group in enumerate(groups.setdefault(module, [])):
            name = f"{module} {index}"
            if len(group) < MAX_GROUP and not _reaches(after.get, name if len(group) > 1 else group[0], tag):
                if len(group) == 1:
                    join(group[0], name)
                join(tag, name)
                group.append(tag)
                break
        else:
            groups[module].append([tag])
    return [group for of_module in groups.values() for group in of_module if len(group) > 1]


def _reaches(after: Callable[[str], set[str] | None], start: str, goal: str) -> bool:
    seen, stack = {start}, [start]
    while stack:
        tag = stack.pop()
        if tag == goal:
            return True
        fresh = (after(tag) or set()) - seen
        seen |= fresh
        stack.extend(fresh)
    return False
