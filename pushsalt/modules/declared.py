"""What modules' sources say of their functions, read with ``ast``: nothing is executed.

``__controller__`` marks what the controller can answer itself: True for all functions of the file, or their names.
What they do to a target is in pushsalt.modules.effects.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from pushsalt.modules import pysource
from thin import runtime


class ControllerFunctions:
    """The names ``module.function`` of the shipped execution functions that are marked ``__controller__``.

    A test for one name reads only the files which can have that module; iterating reads all.
    """

    def __init__(self) -> None:
        self._index: dict[str, list[str]] = runtime.virtual_index("modules")
        self._known: dict[str, set[str]] = {}  # virtual name -> names of functions

    def __contains__(self, name: str) -> bool:
        module, _, function = name.partition(".")
        return function in self._of(module)

    def __iter__(self) -> Iterator[str]:
        for module in sorted(self._index):
            for function in sorted(self._of(module)):
                yield f"{module}.{function}"

    def _of(self, module: str) -> set[str]:
        if module not in self._known:
            found: set[str] = set()
            for name in self._index.get(module, ()):
                found |= marked(runtime.source(f"thin.modules.{name}"), ours=True)
            self._known[module] = found  # only when it is whole: the controller's threads share this
        return self._known[module]


def marked(source: str, word: str = "__controller__", ours: bool = False) -> set[str]:
    """Public names of the functions that a module's source marks with this word. Raises SyntaxError, ValueError.

    ``ours``: the source is in the layout of shipped files, which is read faster.
    """
    if word not in source:
        return set()
    literals: dict[str, Any] = {}
    functions: set[str] = set()
    tree: ast.Module = pysource.outline(source) if ours else pysource.parse(source)
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            functions.add(node.name)
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            if name in (word, "__func_alias__"):
                literals[name] = ast.literal_eval(node.value)
            elif isinstance(node.value, ast.Name) and node.value.id in functions and not name.startswith("_"):
                functions.add(name)  # an alias
    alias = literals.get("__func_alias__", {})
    public = {alias.get(name, name) for name in functions}
    mark = literals.get(word)
    return public if mark is True else public & set(mark or ())
