"""Reads declarations about functions from the source of modules by ``ast``, without executing them.

``__controller__`` marks functions that can run on the controller: True for all functions of the file, or their names.
``__recorded__`` names those of them, and of ``pushsalt/functions``, that only read grains, pillar, options and files of
the file roots, or compute: their reads are recorded, so that a memoized result depends on these, not on the calls.
Calls of other functions are recorded with their answers. Effects on targets are in pushsalt.modules.effects.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any, Final

from pushsalt.modules import pysource
from thin import runtime

_CONTROLLER: Final = "__controller__"
_RECORDED: Final = "__recorded__"


class ControllerFunctions:
    """The names ``module.function`` of the shipped execution functions that are marked ``__controller__``.

    A test for one name reads only the files which can have that module; iterating reads all.
    """

    def __init__(self) -> None:
        self._index: dict[str, list[str]] = runtime.virtual_index("modules")
        self._read: dict[str, tuple[set[str], set[str]]] = {}  # virtual name -> (functions, recorded ones)

    def __contains__(self, name: str) -> bool:
        module, _, function = name.partition(".")
        return function in self._of(module)[0]

    def is_recorded(self, name: str) -> bool:
        """Whether all reads of a function are recorded."""
        module, _, function = name.partition(".")
        return function in self._of(module)[1]

    def __iter__(self) -> Iterator[str]:
        for module in sorted(self._index):
            for function in sorted(self._of(module)[0]):
                yield f"{module}.{function}"

    def _of(self, module: str) -> tuple[set[str], set[str]]:
        if module not in self._read:
            names: set[str] = set()
            recorded: set[str] = set()
            for name in self._index.get(module, ()):
                declared = _marked(runtime.source(f"thin.modules.{name}"), (_CONTROLLER, _RECORDED), ours=True)
                names |= declared[_CONTROLLER]
                recorded |= declared[_RECORDED]
            self._read[module] = names, recorded  # stored when complete, since threads share it
        return self._read[module]


def marked(source: str, word: str = _CONTROLLER, ours: bool = False) -> set[str]:
    """The public names of the functions that a source declares by this word. Raises SyntaxError, ValueError."""
    return _marked(source, (word,), ours)[word]


def named(source: str, word: str) -> frozenset[str]:
    """The texts of a literal tuple or list at the top of a module's source; none without it. Raises SyntaxError."""
    if word not in source:
        return frozenset()
    for node in pysource.outline(source).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == word:
            return frozenset(ast.literal_eval(node.value))
    return frozenset()


def _marked(source: str, words: tuple[str, ...], ours: bool) -> dict[str, set[str]]:
    """Name of a declaration -> public names of the functions in it. Raises SyntaxError, ValueError.

    ``ours``: the source is in the layout of shipped files, which is read faster.
    """
    if not any(word in source for word in words):
        return {word: set() for word in words}
    literals: dict[str, Any] = {}
    functions: set[str] = set()
    tree: ast.Module = pysource.outline(source) if ours else pysource.parse(source)
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            functions.add(node.name)
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            if name in (*words, "__func_alias__"):
                literals[name] = ast.literal_eval(node.value)
            elif isinstance(node.value, ast.Name) and node.value.id in functions and not name.startswith("_"):
                functions.add(name)  # an alias
    alias = literals.get("__func_alias__", {})
    public = {alias.get(name, name) for name in functions}
    declared = {word: literals.get(word) for word in words}
    return {word: public if value is True else public & set(value or ()) for word, value in declared.items()}
