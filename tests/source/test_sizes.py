"""Functions and modules have a limited length; tables and docstrings do not count."""

import ast
from pathlib import Path

from tests.beds.import_graph import import_graph

ROOT = Path(__file__).resolve().parents[2]
#: lines of a function's body, without signature and docstring
MOST = 60
#: lines of a module
MOST_OF_A_MODULE = 500


def long_functions(text):
    """(name, lines) of the functions of a module that exceed the limit."""
    if text.count("\n") < MOST:
        return
    for node in import_graph.statements(ast.parse(text).body):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        body = node.body[1:] if ast.get_docstring(node) is not None else node.body
        lines = node.end_lineno - body[0].lineno + 1 if body else 0
        if lines > MOST:
            yield node.name, lines


def test_functions_are_short():
    found = {}
    for package in ("pushsalt", "thin"):
        for path in sorted((ROOT / package).rglob("*.py")):
            if "vendor" not in path.parts:
                found.update({f"{path.relative_to(ROOT)}: {name}": n for name, n in long_functions(path.read_text())})
    assert not found


def test_modules_are_short():
    lines = {
        path: len(path.read_text().splitlines()) for top in ("pushsalt", "thin") for path in (ROOT / top).rglob("*.py")
    }
    found = {str(path.relative_to(ROOT)): number for path, number in lines.items() if number > MOST_OF_A_MODULE}
    assert set(found) == {"thin/vendor/msgpack/fallback.py"}  # not ours


def test_a_long_function_is_found():
    body = "    pass\n" * (MOST + 1)
    described = '    """Of many\n' + "lines\n" * MOST + '    """\n    pass\n'
    text = f"def long(\n    a,\n):\n    '''Said.'''\n{body}\n\nclass A:\n    async def short(self):\n        pass\n"
    assert list(long_functions(text + f"\n\ndef described():\n{described}")) == [("long", MOST + 1)]
