"""The graph of requisites in DOT, for Graphviz. Salt: salt.utils.requisite.DependencyGraph.to_dot."""

from __future__ import annotations

from pushsalt.compile.graph import DependencyGraph, Node


def dot(graph: DependencyGraph) -> str:
    """A directed graph: a node for each chunk, an edge from each required chunk to the one that requires it.

    Other than in Salt, quotation marks in names are escaped, and chunks that may be aggregated have no common node.
    """
    lines = ["digraph G {"]
    lines += [f'  "{_quoted(tag)}" [label="{_label(node)}"];' for tag, node in graph.nodes.items()]
    for tag, node in graph.nodes.items():
        for after, requisites in node.after.items():
            lines += [f'  "{_quoted(tag)}" -> "{_quoted(after)}" [label="{name}"];' for name in requisites]
    return "\n".join([*lines, "}"])


def _label(node: Node) -> str:
    chunk = node.chunk
    names = [chunk["__id__"], *([f"({chunk['name']})"] if chunk["name"] != chunk["__id__"] else [])]
    return "\\n".join([f"{chunk['state']}.{chunk['fun']}", *(_quoted(name) for name in names)])


def _quoted(text: object) -> str:
    return str(text).replace('"', '\\"')
