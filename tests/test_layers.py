"""Imports point one way, up the list of ``scripts/import_graph.py`` to its beginning; thin never imports pushsalt."""

import ast
import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
NOT_IN_CORE = {"asyncio", "asyncssh", "subprocess", "socket", "rich", "typer", "git"}

spec = importlib.util.spec_from_file_location("import_graph", ROOT / "scripts" / "import_graph.py")
import_graph = importlib.util.module_from_spec(spec)
spec.loader.exec_module(import_graph)

ORDER = import_graph.order()
CORE = next(names for layer, _, names in import_graph.LAYERS if layer == "core")
MODULES = dict(import_graph.modules())


def all_imports(path):
    """Names of everything that a file imports."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}: write imports in full"
            yield node.module


def test_every_package_has_its_place():
    rooms = {import_graph.room(name) for name in MODULES} - {""}
    assert sorted(ORDER) == sorted(rooms)


@pytest.mark.parametrize("room", ORDER)
def test_imports_point_down(room):
    below = set(ORDER[: ORDER.index(room)])
    wrong = {
        f"{name} imports {other}"
        for name, path in MODULES.items()
        if import_graph.room(name) == room
        for other in import_graph.imported(path)
        if import_graph.room(other) not in {"", room, *below}
    }
    assert not wrong


def test_no_modules_import_each_other():
    assert not import_graph.circles(import_graph.module_edges())


def test_no_modules_of_thin_import_each_other():
    """But for one step: what the first stage has loaded hands over to the supervisor, and is not come back to."""
    edges = import_graph.module_edges("thin")
    edges["thin.store"].remove("thin.__main__")
    assert not import_graph.circles(edges)


def test_circles_are_found_however_an_import_is_written(tmp_path):
    """A circle of imports at the top, within a function, and for types alone; and a module that is in none."""
    texts = {
        "index.base": "from pushsalt.index import columns",
        "index.columns": "def late():\n    from pushsalt.index.format import decode",
        "index.format": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import pushsalt.index.base",
        "index.part": "from pushsalt.index.base import Base",
    }
    edges = {}
    for name, text in texts.items():
        path = tmp_path / f"{name}.py"
        path.write_text(text)
        edges[f"pushsalt.{name}"] = import_graph.imported(path)
    assert import_graph.circles(edges) == [["pushsalt.index.base", "pushsalt.index.columns", "pushsalt.index.format"]]
    edges["pushsalt.index.format"].clear()
    assert import_graph.circles(edges) == []


def test_relative_imports_are_refused(tmp_path):
    path = tmp_path / "relative.py"
    path.write_text("from . import columns")
    with pytest.raises(ValueError, match="in full"):
        import_graph.imported(path)


@pytest.mark.parametrize("room", CORE)
def test_the_core_reaches_no_network_program_or_terminal(room):
    for name, path in MODULES.items():
        if import_graph.room(name) == room:
            assert not {found for found in all_imports(path) if found.split(".")[0] in NOT_IN_CORE}, name


def test_thin_stands_alone():
    for path in sorted((ROOT / "thin").rglob("*.py")):
        if "vendor" not in path.parts:
            assert not [found for found in all_imports_of_thin(path) if found.split(".")[0] == "pushsalt"], path


def all_imports_of_thin(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""


def test_the_page_of_imports_is_that_of_the_source():
    assert import_graph.PAGE.read_text() == import_graph.page(), "run python3 scripts/import_graph.py"
