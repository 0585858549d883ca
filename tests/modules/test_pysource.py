import ast
from pathlib import Path

import pytest

from pushsalt.modules import pysource
from pushsalt.modules.declared import marked

FOLDER = Path(__file__).parent.parent.parent / "thin"
FILES = sorted(path for kind in ("states", "modules") for path in (FOLDER / kind).glob("*.py"))


def signatures(tree):
    """The top level of a module: its functions without their bodies, its assignments."""
    found = []
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            found.append((node.name, ast.dump(node.args)))
        elif isinstance(node, ast.Assign):
            found.append(ast.dump(node))
    return found


def test_outlines_of_all_modules():
    for path in FILES:
        source = path.read_text("utf-8")
        assert signatures(pysource.outline(source)) == signatures(pysource.parse(source)), path.name
        assert marked(source) == marked(source, ours=True), path.name


@pytest.mark.parametrize(
    "source",
    [
        'def f(a, b="x:",\n      c=None):\n    """Text\n\n    more"""\n    return {\n        1: 2,\n    }\n\n\nx = 1\n',
        "def f(a={\n    1: 2,\n}, b=3):\n    pass\n\ny = {'a':\n     1}\n",
        "def f(): return 1\ndef g(\n    a,  # one\n    b=(1,\n       2),\n):\n    return a\nx = g\n",
        "if True:\n    def f():\n        pass\nelse:\n    f = None\n",
        "def f(a):\n    text = '''\nx = 1\n'''\n    return text\n",
        "class A:\n    def f(self):\n        return 1\n\ndef g(a, *, b):\n\n    # said\n# more\n    return 2\n",
    ],
)
def test_outline(source):
    assert signatures(pysource.outline(source)) == signatures(pysource.parse(source))


@pytest.mark.parametrize("read", [pysource.parse, pysource.outline])
def test_invalid_python(read):
    with pytest.raises(SyntaxError):
        read("def f(:\n    pass\n")
