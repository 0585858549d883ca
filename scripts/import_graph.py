"""The packages of pushsalt in their order, and the packages that each one imports.

    python3 scripts/import_graph.py            writes docs/imports.md and its drawing, docs/assets/imports.svg
    python3 scripts/import_graph.py --print    the page, to be looked at

``LAYERS`` is the order, from the bottom up: a package imports only packages that stand before it, at the start of the
program or later, or for types. ``tests/source/test_layers.py`` compares it with the source, and finds no circles of
modules.
"""

from __future__ import annotations

import ast
import sys
import textwrap
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "imports.md"
DRAWING = ROOT / "docs" / "assets" / "imports.svg"

#: Name of a layer, its purpose, and its packages and modules.
LAYERS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    (
        "base",
        "types, errors, files, words",
        (
            "ages",
            "broker",
            "counterparts",
            "privatekeys",
            "errors",
            "excerpt",
            "lazy",
            "memo",
            "model",
            "nearest",
            "privatefolder",
            "regular",
            "salturl",
            "trust",
            "discover",
            "events",
            "job",
            "plan",
            "plugins",
            "secretforms",
            "redact",
            "yamlscalars",
            "yamlio",
            "yamldump",
            "cliargs",
            "daemonoptions",
            "options",
        ),
    ),
    ("stores", "what is kept on this machine", ("index", "cache", "jobs", "journal", "bundle", "ca", "files")),
    (
        "core",
        "rendering and compiling, inventory and targeting: pure, no network",
        (
            "render",
            "compile",
            "pillar",
            "inventory",
            "targeting",
            "serializers",
        ),
    ),
    (
        "sources",
        "programs and plug-ins of the controller, secrets, git, file servers, transports",
        (
            "programs",
            "plugincommands",
            "rosters",
            "sdb",
            "returners",
            "sources",
            "optionvalues",
            "config",
            "transport",
            "git",
            "fileserver",
            "ext_pillar",
            "tops",
            "formula",
        ),
    ),
    (
        "targets",
        "sessions, selection, one target as Salt's minion sees itself, render processes",
        (
            "session",
            "select",
            "modules",
            "minion",
            "functions",
            "children",
            "planning",
        ),
    ),
    (
        "jobs",
        "one job on many targets, orchestrations",
        ("delivery", "run", "workers", "orchestrate", "runners", "reactor", "watch", "api", "impact"),
    ),
    (
        "presentation",
        "what people see and type",
        ("display", "outputters", "reports", "serve", "log", "check", "cli", "demo", "__main__"),
    ),
)


def order() -> list[str]:
    """Every package and module directly in ``pushsalt``, lowest first."""
    return [name for _, _, names in LAYERS for name in names]


def package_of(name: str) -> str:
    """``render`` of ``pushsalt.memo.tree``; empty for ``pushsalt`` itself."""
    return f"{name}.".split(".")[1]


def modules(package: str = "pushsalt") -> Iterator[tuple[str, Path]]:
    """Dotted names and files of the modules of a package, without those of other projects (``vendor``)."""
    for path in sorted((ROOT / package).rglob("*.py")):
        if "vendor" in path.parts:
            continue
        yield ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"), path


@cache
def names(package: str = "pushsalt") -> frozenset[str]:
    """The dotted names of all modules."""
    return frozenset(name for name, _ in modules(package))


def statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements with those inside of them, without expressions: much faster than ``ast.walk``."""
    for node in body:
        yield node
        for part in ("body", "orelse", "finalbody"):
            yield from statements(getattr(node, part, []))
        for part in ("handlers", "cases"):
            for branch in getattr(node, part, []):
                yield from statements(branch.body)


@cache
def imports(path: Path) -> tuple[tuple[int, str, tuple[str, ...]], ...]:
    """The imports of a file, in any place: (line, module, the names that are imported from it).

    The module starts with a dot if the import is relative.
    """
    found: list[tuple[int, str, tuple[str, ...]]] = []
    for node in statements(ast.parse(path.read_text()).body):
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name, ()) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = tuple(alias.name for alias in node.names)
            found.append((node.lineno, "." * node.level + (node.module or ""), names))
    return tuple(found)


@cache
def imported(path: Path, package: str = "pushsalt") -> set[str]:
    """The modules of the package that a file imports, in any place."""
    found = set()
    modules = names(package)
    for line, module, parts in imports(path):
        if module.startswith("."):
            raise ValueError(f"{path}:{line}: write the import in full, from its first package")
        if module.split(".")[0] == package:
            full = [f"{module}.{part}" for part in parts]
            found |= {name if name in modules else module for name in full} if parts else {module}
    return found


def module_edges(package: str = "pushsalt") -> dict[str, set[str]]:
    """Module -> the other modules that it imports, at start, later, or for types."""
    known = names(package)
    return {name: (imported(path, package) & known) - {name} for name, path in modules(package)}


def circles(edges: Mapping[str, Collection[str]]) -> list[list[str]]:
    """The groups of modules that import each other, directly or indirectly: Tarjan's strongly connected components."""
    groups: list[list[str]] = []
    number: dict[str, int] = {}
    lowest: dict[str, int] = {}
    path: list[str] = []

    def visit(name: str) -> None:
        number[name] = lowest[name] = len(number)
        path.append(name)
        for other in sorted(edges.get(name, ())):
            if other not in number:
                visit(other)
                lowest[name] = min(lowest[name], lowest[other])
            elif other in path:
                lowest[name] = min(lowest[name], number[other])
        if lowest[name] == number[name]:
            at = path.index(name)
            if len(path) - at > 1:
                groups.append(sorted(path[at:]))
            del path[at:]

    for name in sorted(edges):
        if name not in number:
            visit(name)
    return groups


def edges() -> dict[str, set[str]]:
    """Package -> the packages that its modules import."""
    found: dict[str, set[str]] = {}
    for name, path in modules():
        others = {package_of(other) for other in imported(path)}
        found.setdefault(package_of(name), set()).update(others - {package_of(name), ""})
    return found


def layer_edges() -> set[tuple[str, str]]:
    """(layer, a lower layer of which its packages import one)."""
    layer_of = {name: layer for layer, _, names in LAYERS for name in names}
    pairs = {(layer_of[name], layer_of[other]) for name, others in edges().items() if name for other in others}
    return {(layer, other) for layer, other in pairs if layer != other}


def page() -> str:
    """The page: the drawing of the layers, and a table of the packages."""
    found = edges()
    lines = [
        "# Imports",
        "",
        "Made by `python3 scripts/import_graph.py`; `tests/source/test_layers.py` compares the order with the source.",
        "A package imports only packages that are listed before it, so packages have no import cycles. Modules of a",
        "package have none either. An arrow leads from a layer to each layer from which it imports.",
        "",
        "![The layers, their packages, and which layer imports from which](assets/imports.svg)",
    ]
    for layer, words, names in LAYERS:
        lines += ["", f"## {layer}: {words}", "", "| package | imports |", "|---|---|"]
        lines += [
            f"| `{name}` | {', '.join(sorted(found.get(name, ()), key=order().index)) or '–'} |" for name in names
        ]
    return "\n".join(lines) + "\n"


#: sizes of the drawing in pixels: the box of a layer, a line of text, the distance of two arrows
WIDTH, LINE, STEP = 720, 20, 18
STYLE = """<style>
  text { font: 14px sans-serif; fill: #222 } .name { font-weight: bold } .packages { font: 13px monospace }
  rect { fill: #f3f4fb; stroke: #3f51b5 } path { fill: none; stroke: #3f51b5; stroke-width: 1.5 }
  marker path { fill: #3f51b5 }
  @media (prefers-color-scheme: dark) {
    text { fill: #ddd } rect { fill: #23263a; stroke: #8c9eff } path { stroke: #8c9eff } marker path { fill: #8c9eff }
  }
</style>
<marker id="head" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto">
  <path d="M0 0 L8 4 L0 8 z"/>
</marker>"""


def drawing() -> str:
    """The layers as SVG, the highest at the top; the arrows of each layer share one line at the right."""
    parts: list[str] = []
    tops: dict[str, int] = {}
    y = 10
    for layer, words, packages in reversed(LAYERS):
        rows = textwrap.wrap("  ".join(packages), 84)
        height = max((len(rows) + 1) * LINE + 16, (len(LAYERS) + 1) * 10)
        tops[layer] = y
        parts.append(f'<rect x="1" y="{y}" width="{WIDTH}" height="{height}" rx="6"/>')
        title = f'<tspan class="name">{layer}</tspan>: {escape(words)}'
        parts.append(f'<text x="14" y="{y + 22}">{title}</text>')
        parts += [
            f'<text class="packages" x="14" y="{y + 22 + LINE * number}">{row}</text>'
            for number, row in enumerate(rows, 1)
        ]
        y += height + 14
    right = WIDTH + STEP * len(LAYERS)
    arrows = layer_edges()
    for number, (layer, _, _) in enumerate(LAYERS):
        lane, start = WIDTH + STEP * number, tops[layer] + 12 + 10 * number
        for other in sorted(other for name, other in arrows if name == layer):
            end = tops[other] + 12 + 10 * number
            parts.append(f'<path d="M{WIDTH + 1} {start} H{lane} V{end} H{WIDTH + 2}" marker-end="url(#head)"/>')
    size = f'viewBox="0 0 {right} {y}" width="{right}" height="{y}"'
    return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" {size}>', STYLE, *parts, "</svg>"]) + "\n"


if __name__ == "__main__":
    if "--print" in sys.argv:
        print(page(), end="")
    else:
        PAGE.write_text(page())
        DRAWING.write_text(drawing())
