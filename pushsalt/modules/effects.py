"""Effects of execution functions on the machine, read from declarations in the source of their modules.

The declarations are literals at module level, with the public names of functions::

    __reads__ = ("get", "items")             the machine is not changed (except caches and the like)
    __changes__ = ("set",)                   changes files, accounts, packages, services, settings, or published data
    __runs__ = ("run",)                      runs commands from its arguments; only the caller knows their effect
    __reads_unless__ = {"query": {"method": ("GET", "HEAD"), "output": ()}}
                                             reads, unless one of these arguments has another value than these (with an
                                             empty list: any value that is not false)

``True`` in place of names means all functions of the file that are not named in another declaration. Functions marked
by ``__controller__`` read (see pushsalt.modules.declared). The effect of other functions is unknown, as that of all
modules of real Salt.

``definitions`` is imported on demand, since every command imports this module and few need the parser.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from typing import Any, Final

from pushsalt.modules import pysource
from pushsalt.modules.controller import function_named, source_of
from thin import runtime

READS, CHANGES, RUNS, SILENT = "reads", "changes", "runs", "silent"
#: The names of the declarations, in the order of precedence.
WORDS: Final = {
    "__changes__": CHANGES,
    "__runs__": RUNS,
    "__reads_unless__": READS,
    "__reads__": READS,
    "__controller__": READS,
}


@dataclass(frozen=True)
class Effect:
    """The effect of a function. ``where``: the user's file that does not declare it.

    ``unless``: argument -> values with which the function only reads; ``parameters``: the order of arguments.
    """

    kind: str
    unless: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    parameters: tuple[str, ...] = ()
    where: str = ""

    def of_call(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[str, str]:
        """(kind of one call, name of the argument that decided it or "")."""
        named = len(self.parameters)
        given = {**dict(zip(self.parameters, args, strict=False)), **kwargs}
        for name, reading in self.unless.items():
            value = given.get(name)
            reads = value is None or (value in reading if reading else not value)
            if not reads or name in args[named:]:  # file.find also accepts the name as a positional argument
                return CHANGES, name
        return self.kind, ""


def shipped(name: str) -> Effect | None:
    """The declared effect of a shipped function, on any system; None without a declaration."""
    return _shipped(name, function_named(name) is not None)


@cache
def _shipped(name: str, on_controller: bool) -> Effect | None:
    module, _, function = name.partition(".")
    effects = list(_said_by_files(module, function, on_controller))
    for kind in (CHANGES, RUNS):
        if any(effect.kind == kind for effect in effects):
            return Effect(kind)
    return next((effect for effect in effects if effect.unless), effects[0] if effects else None)


def _said_by_files(module: str, function: str, on_controller: bool) -> Iterator[Effect]:
    sources = [(runtime.source(f"thin.modules.{file}"), 0) for file in runtime.virtual_index("modules").get(module, ())]
    if on_controller:
        sources.append((source_of(module), 1))  # their first parameter is the Minion
    for source, leading in sources:
        effect = declared_effect(source, function, ours=True)
        if effect is not None:
            yield replace(effect, parameters=effect.parameters[leading:])


def declared_effect(source: str, function: str, ours: bool = False) -> Effect | None:
    """The declared effect of a function in a module's source; None without a declaration, or with a syntax error.

    ``ours``: the source is in the layout of shipped files, which is read faster.
    """
    words = literals(source, ours)
    for word, kind in WORDS.items():
        names = words.get(word)
        if isinstance(names, dict) and isinstance(names.get(function), dict):
            given = names[function].items()
            unless = {name: values if isinstance(values, tuple | list) else () for name, values in given}
            return Effect(kind, unless, _parameters(source, function, ours))
        if isinstance(names, tuple | list) and function in names:
            return Effect(kind)
    return next((Effect(kind) for word, kind in WORDS.items() if words.get(word) is True), None)


@lru_cache(maxsize=1000)
def literals(source: str, ours: bool = False) -> dict[str, Any]:
    """Name -> value of the declarations in a source; empty on a syntax error, which the target reports."""
    values: dict[str, Any] = {}
    if not any(word in source for word in WORDS):
        return values
    try:
        tree = pysource.outline(source) if ours else pysource.parse(source)
    except (SyntaxError, ValueError):
        return values
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id in WORDS:
            try:
                values[node.targets[0].id] = ast.literal_eval(node.value)
            except (ValueError, TypeError):  # it is computed
                continue
    return values


def _parameters(source: str, function: str, ours: bool) -> tuple[str, ...]:
    from pushsalt.modules.definitions import defined

    functions = defined(source, ours)
    spec = functions.get(function) or functions.get(f"{function}_")
    return spec.args if spec is not None else ()


def _may_have(source: str, function: str) -> bool:
    """Whether a file has a function, or may define it at run time."""
    bound = _bound(source)
    return function in bound or "*" in bound or ("globals()" in source and function in source)


@lru_cache(maxsize=1000)
def _bound(source: str) -> frozenset[str]:
    """The names of possible functions of a file: defined, assigned or imported, also under a condition.

    ``*`` is among them if the file imports all names of another module.
    """
    from pushsalt.modules.definitions import defined

    names = set(defined(source))
    try:
        todo: list[ast.AST] = list(pysource.parse(source).body)
    except (SyntaxError, ValueError):
        return frozenset(names)
    while todo:
        node = todo.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.alias):
            names.add(node.asname or node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif not isinstance(node, ast.expr) or isinstance(node, ast.Tuple | ast.List | ast.Starred):
            todo += ast.iter_child_nodes(node)
    return frozenset(names)


def theirs(files: Iterable[tuple[str, str]], function: str) -> Effect | None:
    """The effect declared in the first of users' files (name, text) that has the function; None if none has it."""
    for where, text in files:
        effect = declared_effect(text, function)
        if effect is None and _may_have(text, function):
            return Effect(SILENT, where=where)
        if effect is not None:
            return effect
    return None
