"""Imports point from the end of the list of ``scripts/import_graph.py`` to its beginning; thin never imports
pushsalt.
"""

import ast
from pathlib import Path

import pytest

from tests.beds.import_graph import import_graph

ROOT = Path(__file__).parents[2]
NOT_IN_CORE = {"asyncio", "asyncssh", "subprocess", "socket", "rich", "typer", "git"}

ORDER = import_graph.order()
CORE = next(names for layer, _, names in import_graph.LAYERS if layer == "core")
MODULES = dict(import_graph.modules())


#: packages of thin/utils: pure ones, then those that read and change the machine, lowest first
PURE = ("thin.utils", "thin.utils.formats", "thin.utils.outputs", "thin.utils.packages")
UTILS = (*PURE, *(f"thin.utils.{name}" for name in ("files", "system", "programs", "archives", "pki")))
#: imports of the rest of thin that pure modules may have: errors, the calls of a logger, Salt's names of chunks
PURE_OF_THIN = {"thin.exceptions", "thin.log", "thin.requisites"}
#: and of the standard library
PURE_IMPORTS = {
    *("base64", "calendar", "collections", "collections.abc", "copy", "datetime", "fnmatch", "hashlib", "inspect"),
    *("ipaddress", "random", "re", "stringprep", "unicodedata"),
}
#: modules of which a pure one may use only these names: salts of passwords are random, addresses are checked as text
PURE_NAMES = {
    "os": {"urandom"},
    "socket": {"AF_INET6", "inet_pton"},
    "time": {"localtime", "mktime", "strftime", "strptime"},
}
PACKAGES_WITHOUT_CODE = {"thin", "thin.beacons", "thin.modules", "thin.states", *UTILS}


def all_imports(path):
    """All names that a file imports."""
    for line, module, _ in import_graph.imports(path):
        assert not module.startswith("."), f"{path}:{line}: write imports in full"
        yield module


def test_every_package_has_its_place():
    rooms = {import_graph.package_of(name) for name in MODULES} - {""}
    assert sorted(ORDER) == sorted(rooms)


@pytest.mark.parametrize("room", ORDER)
def test_imports_point_down(room):
    below = set(ORDER[: ORDER.index(room)])
    wrong = {
        f"{name} imports {other}"
        for name, path in MODULES.items()
        if import_graph.package_of(name) == room
        for other in import_graph.imported(path)
        if import_graph.package_of(other) not in {"", room, *below}
    }
    assert not wrong


def test_no_modules_import_each_other():
    assert not import_graph.circles(import_graph.module_edges())


def test_no_modules_of_thin_import_each_other():
    """One exception: the first stage imports the supervisor, which does not import it."""
    edges = import_graph.module_edges("thin")
    edges["thin.store"].remove("thin.__main__")
    assert not import_graph.circles(edges)


def test_circles_are_found_however_an_import_is_written(tmp_path):
    """An import cycle at the top level, in a function, and for types; and a module in no cycle."""
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
        if import_graph.package_of(name) == room:
            assert not {found for found in all_imports(path) if found.split(".")[0] in NOT_IN_CORE}, name


def test_thin_stands_alone():
    for path in sorted((ROOT / "thin").rglob("*.py")):
        if "vendor" not in path.parts:
            assert not [module for _, module, _ in import_graph.imports(path) if module.split(".")[0] == "pushsalt"], (
                path
            )


def home(name):
    """``thin.utils.files`` for ``thin.utils.files.atomic``, ``thin.utils`` for ``thin.utils.words``."""
    return name if name in UTILS else name.rpartition(".")[0]


def impure(text):
    """The violations of a pure module: imports beyond ``PURE_IMPORTS``, and input or output by a builtin."""
    allowed = PURE_IMPORTS | set(PURE_NAMES)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name not in allowed)
        elif (
            isinstance(node, ast.ImportFrom) and node.module.split(".")[0] != "thin" and node.module not in PURE_IMPORTS
        ):
            yield node.module
        elif isinstance(node, ast.Name) and node.id in {"open", "print", "input", "exec", "eval", "__import__"}:
            yield node.id
        elif (
            isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.attr not in PURE_NAMES.get(node.value.id, {node.attr})
        ):
            yield f"{node.value.id}.{node.attr}"


def thin_utils():
    return {name: path for name, path in import_graph.modules("thin") if name.startswith("thin.utils")}


def test_every_package_of_utils_is_pure_or_not():
    assert {home(name) for name in thin_utils()} == {*UTILS}


def test_pure_modules_of_utils_import_only_pure_ones():
    wrong = {
        f"{name}: {found}"
        for name, path in thin_utils().items()
        if home(name) in PURE
        for found in impure(path.read_text())
    }
    assert not wrong


def test_imports_within_utils_point_down():
    """Pure modules import pure ones, and of the rest of thin only pure parts; the others import lower ones."""
    wrong = set()
    for name, path in thin_utils().items():
        place = home(name)
        below = set(PURE if place in PURE else UTILS[: UTILS.index(place) + 1])
        for other in import_graph.imported(path, "thin"):
            if home(other) in UTILS:
                if home(other) not in below:
                    wrong.add(f"{name} imports {other}")
            elif place in PURE and other not in PURE_OF_THIN:
                wrong.add(f"{name} imports {other}")
    assert not wrong


@pytest.mark.parametrize(
    "text",
    ["os.path", "def late():\n    import subprocess", "from os import path", "from glob import glob", "open('x')"],
)
def test_control_impure_modules_are_found(text):
    assert list(impure(text))


@pytest.mark.parametrize("package", ["pushsalt", "thin", "tests", "scripts", "benchmarks"])
def test_imported_names_of_thin_exist(package):
    """Also imports in functions, and of tests that do not run everywhere."""
    modules = import_graph.names("thin") | {"thin._index", "thin._packs"}  # pushsalt/bundle/pack.py makes them
    places = {name.rpartition(".")[2]: name for name in sorted(modules) if name.startswith("thin.utils.")}
    wrong = []
    for path in sorted((ROOT / package).rglob("*.py")):
        if "vendor" in path.parts:
            continue
        for line, module, parts in import_graph.imports(path):
            found = [module] if f"{module}.".startswith("thin.") else []
            if parts and module in PACKAGES_WITHOUT_CODE:
                found = [f"{module}.{part}" for part in parts]
            for name in found:
                if name not in modules and name not in PACKAGES_WITHOUT_CODE and not name.startswith("thin.vendor"):
                    hint = places.get(name.rpartition(".")[2], "")
                    wrong.append(f"{path.relative_to(ROOT)}:{line}: {name}{hint and f': now {hint}'}")
    assert not wrong


def test_the_page_of_imports_is_that_of_the_source():
    assert import_graph.PAGE.read_text() == import_graph.page(), "run python3 scripts/import_graph.py"
    assert import_graph.DRAWING.read_text() == import_graph.drawing(), "run python3 scripts/import_graph.py"
