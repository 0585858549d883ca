"""Docstrings of the runtime's modules: targets get the code without them."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterable
from typing import Any, Final

from pushsalt.bundle.pack import THIN

_MODULE: Final = re.compile(r"thin(?:\.[A-Za-z_]\w*){2,4}", re.ASCII)
#: Most names in one question; the runtime has fewer modules.
_MOST: Final = 2000


def docs(names: Iterable[Any]) -> dict[str, dict[str, str]]:
    """``{module: {function: docstring}}`` of modules such as ``thin.modules.test``; "" has the module's own.

    Names of other modules are left out: a target asks. Salt: ``sys.doc`` reads what is loaded.
    """
    return {name: _docs(name) for name in list(names)[:_MOST] if isinstance(name, str) and _MODULE.fullmatch(name)}


@functools.cache
def _docs(name: str) -> dict[str, str]:
    place = THIN.parent.joinpath(*name.split("."))
    path = next((path for path in (place.with_suffix(".py"), place / "__init__.py") if path.is_file()), None)
    if path is None:
        return {}
    tree = ast.parse(path.read_text("utf-8"))
    docs = {"": ast.get_docstring(tree, clean=False)}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            docs[node.name] = ast.get_docstring(node, clean=False)
    return {function: doc for function, doc in docs.items() if doc}
