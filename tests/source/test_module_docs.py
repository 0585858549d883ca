"""The pages of docs/modules equal the output of `make docs`; every function and every argument is described."""

from __future__ import annotations

import ast
import importlib.util
import re
import sys
from pathlib import Path

import pytest

from tests.beds.import_graph import import_graph

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def made():
    spec = importlib.util.spec_from_file_location("module_docs", ROOT / "scripts" / "module_docs.py")
    module = sys.modules["module_docs"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    del sys.modules["module_docs"]


def test_committed_pages_equal_the_output_of_the_script(made):
    wanted = made.pages()
    there = {path: path.read_text("utf-8") for path in made.PAGES.rglob("*.md")}
    differ = [path for path in wanted.keys() | there.keys() if wanted.get(path) != there.get(path)]
    names = {path.relative_to(ROOT).as_posix() for path in differ}
    assert not names, "run `make docs` and commit docs/modules"
    assert len(wanted) > 150


def test_every_function_has_a_description(made):
    bare = [
        f"{module.kind}: {module.name}.{function.name}"
        for module in made.modules()
        for function in module.functions.values()
        if len(re.findall(r"\w+", function.doc.split("\n\n")[0])) < 2
    ]
    assert not bare, "each needs a docstring"


def test_every_argument_is_described(made):
    assert not list(made.missing()), "name each in the docstring, or in scripts/module_arguments.yaml"


def test_descriptions_say_more_than_the_name(made):
    vague = [key for key, text in made.shared().items() if re.fullmatch(r"(The|Its|An?) \w+\.", text)]
    assert not vague, "say what it is for"


def test_no_argument_stands_within_the_text_of_another_one(made):
    """An argument has a line of its own: ``force Install it again`` is one that was joined with its text."""
    joined = []
    for path in sorted((ROOT / "thin").rglob("*.py")):
        for node in import_graph.statements(ast.parse(path.read_text("utf-8")).body):
            if isinstance(node, ast.FunctionDef):
                names = "|".join(re.escape(each.arg) for each in (*node.args.args, *node.args.kwonlyargs))
                pattern = rf"(?:^|[.?!] +)(?:{names}) +[A-Z][a-z]"
                if names and re.search(pattern, ast.get_docstring(node) or "", re.MULTILINE):
                    joined.append(f"{path.relative_to(ROOT)}:{node.lineno}")
    assert not joined


DOC = """
Do it, with ``--force`` and *all* of __it__ <now>

name
    A name, ``x``
    of two lines
size, count : int
    Numbers

CLI Example:

.. code-block:: bash

    pushsalt run '*' it.do
    # twice

As here::

    a: 1

.. versionadded:: 1.2
"""
PAGE = r"""Do it, with `--force` and \*all\* of \_\_it\_\_ &lt;now>

- `name`: A name, `x` of two lines
- `size`, `count` (int): Numbers

CLI Example:

```bash
pushsalt run '*' it.do
# twice
```

As here:

```
a: 1
```

*added 1.2*"""


def test_docstrings_become_markdown(made):
    assert re.sub(r"\n+", "\n", "\n".join(made.markdown(DOC))) == re.sub(r"\n+", "\n", PAGE)
