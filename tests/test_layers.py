"""Imports point one way: presentation -> shell -> core -> thin.utils and thin.wire; thin never imports pushsalt."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

PRESENTATION = ("pushsalt.cli", "pushsalt.outputters", "pushsalt.display", "pushsalt.demo", "pushsalt.log")
SHELL = (
    "pushsalt.api", "pushsalt.run", "pushsalt.transport", "pushsalt.bundle", "pushsalt.fileserver", "pushsalt.cache",
    "pushsalt.index", "pushsalt.git", "pushsalt.functions", "pushsalt.ext_pillar", "pushsalt.tops", "pushsalt.sdb",
    "pushsalt.ca",
)  # fmt: skip
CORE = (
    "pushsalt.inventory",
    "pushsalt.targeting",
    "pushsalt.render",
    "pushsalt.compile",
    "pushsalt.pillar",
    "pushsalt.plan",
    "pushsalt.yamlio",
)
BASE = ("pushsalt.errors", "pushsalt.model", "pushsalt.events")
NOT_IN_CORE = {"asyncio", "asyncssh", "subprocess", "socket", "rich", "typer", "git"}


def modules(package):
    for path in sorted((ROOT / package).rglob("*.py")):
        if "vendor" not in path.parts:
            name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
            yield name, path


def imports(path, name, runtime_only=False):
    """Absolute names of the modules that a file imports; ``runtime_only`` leaves out those for type checkers."""
    tree = ast.parse(path.read_text())
    skipped = set()
    if runtime_only:
        for node in ast.walk(tree):
            if isinstance(node, ast.If) and ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING"):
                skipped |= {id(inner) for part in node.body for inner in ast.walk(part)}
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parts = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
                base = ".".join([*parts[: len(parts) - node.level + 1], *([base] if base else [])])
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names)


def within(name, packages):
    return any(name == package or name.startswith(package + ".") for package in packages)


@pytest.mark.parametrize("name, path", [pytest.param(*item, id=item[0]) for item in modules("thin")])
def test_thin_stands_alone(name, path):
    assert not [found for found in imports(path, name) if within(found, ("pushsalt",))]


@pytest.mark.parametrize("name, path", [pytest.param(*item, id=item[0]) for item in modules("pushsalt")])
def test_imports_point_down(name, path):
    found = set(imports(path, name, runtime_only=True))
    if within(name, CORE):
        assert not {item for item in found if within(item, (*PRESENTATION, *SHELL))}
        assert not {item for item in found if item.split(".")[0] in NOT_IN_CORE}
    elif within(name, SHELL):
        assert not {item for item in found if within(item, PRESENTATION)}
    elif within(name, BASE):
        assert not {item for item in found if within(item, (*PRESENTATION, *SHELL, *CORE))}
