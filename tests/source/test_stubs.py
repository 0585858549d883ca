"""The stubs of thin equal its code: names, arguments and defaults; every module that pushsalt imports has one.

mypy reads the stubs (``.pyi``), targets run the code (``.py``). ``mypy.stubtest`` imports each module and compares.
"""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from pushsalt.bundle import pack
from tests.beds.import_graph import import_graph

ROOT = Path(__file__).parents[2]
THIN = ROOT / "thin"
#: not compared: Salt's helpers of thin/compat, whose package modifies its path; methods that LazyDict gets in a loop
LEFT_OUT = r"thin\.compat\.salt.*|thin\.loader\.LazyDict\..*"


def dotted(path, root):
    return ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__")


def stubs():
    return {dotted(path, ROOT): path for path in sorted(THIN.rglob("*.pyi"))}


def compared(modules, folder, allowed):
    """The output of stubtest for the modules of a folder, a line for each difference."""
    words = [sys.executable, "-m", "mypy.stubtest", "--concise", "--ignore-unused-allowlist", "--allowlist", allowed]
    done = subprocess.run(
        [*words, "--mypy-config-file", ROOT / "pyproject.toml", *modules],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, (done.stdout + done.stderr).splitlines()


@pytest.fixture
def allowed(tmp_path):
    path = tmp_path / "allowed"
    path.write_text("\n".join(LEFT_OUT.split("|")))
    return path


@pytest.mark.slow
@pytest.mark.gate
def test_stubs_equal_the_code(allowed):
    assert compared(sorted(stubs()), ROOT, allowed) == (0, [])


@pytest.mark.slow
@pytest.mark.gate
def test_a_stub_that_differs_is_found(tmp_path, allowed):
    package = tmp_path / "folder" / "sample"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "late.py").write_text("LIMIT = 5\n\n\ndef call(name, more=()):\n    pass\n\n\ndef other():\n    pass\n")
    (package / "late.pyi").write_text("LIMIT: str\n\ndef call(name: str, most: object = ()) -> None: ...\n")
    code, lines = compared(["sample.late"], package.parent, allowed)
    assert code == 1
    assert {line.split()[0] for line in lines} == {"sample.late.LIMIT", "sample.late.call", "sample.late.other"}


def test_all_of_the_engine_has_stubs():
    engine = {dotted(path, ROOT) for path in THIN.glob("*.py") if path.stem != "__init__"}
    assert engine <= set(stubs())


def test_what_pushsalt_imports_of_thin_has_stubs():
    used = set()
    for _, path in import_graph.modules():
        used |= import_graph.imported(path, "thin")
    packages = {name for name, path in import_graph.modules("thin") if path.stem == "__init__"}
    assert used - (packages - {"thin.compat"}) <= set(stubs())
    assert {"thin.wire", "thin.loader", "thin.utils.dictupdate"} <= used


@pytest.mark.parametrize("name", sorted(stubs()))
def test_everything_in_a_stub_is_typed(name):
    for node in ast.walk(ast.parse(stubs()[name].read_text())):
        if isinstance(node, ast.FunctionDef):
            args = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            args += [arg for arg in (node.args.vararg, node.args.kwarg) if arg]
            bare = [arg.arg for arg in args if arg.annotation is None and arg.arg != "self"]
            assert not bare, f"{name}.{node.name}"
            assert node.returns is not None, f"{name}.{node.name}"


def test_stubs_are_not_sent():
    assert not [name for name, _ in pack.members() if name.endswith(".pyi")]
