"""The functions that a Python file defines, with their arguments, read from its source: nothing is executed."""

from __future__ import annotations

import ast
from functools import cache

from pushsalt.compile.source import ArgSpec
from pushsalt.modules import pysource

#: The signature of a function that is not defined with ``def`` (imported, or made at run time): any arguments.
ANYTHING = ArgSpec((), kwargs=True)


@cache
def defined(source: str, ours: bool = False) -> dict[str, ArgSpec]:
    """Name -> signature of the functions that a file defines; empty on a syntax error, which the target reports."""
    specs: dict[str, ArgSpec] = {}
    try:
        tree = pysource.outline(source) if ours else pysource.parse(source)
    except (SyntaxError, ValueError):
        return specs
    aliases = _aliases(tree)
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            specs[aliases.get(node.name, node.name)] = _spec(node.args, ours)
        elif (
            isinstance(node, ast.Assign) and isinstance(node.value, ast.Name) and isinstance(node.targets[0], ast.Name)
        ):
            same = specs.get(node.value.id)  # wait_script = script
            if same is not None:
                specs[node.targets[0].id] = same
    return specs


def _aliases(tree: ast.Module) -> dict[str, str]:
    """Salt's ``__func_alias__``: the name in the file -> the name that is called."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and any(
            isinstance(to, ast.Name) and to.id == "__func_alias__" for to in node.targets
        ):
            try:
                return dict(ast.literal_eval(node.value))
            except (ValueError, TypeError):  # computed
                return {}
    return {}


def _spec(args: ast.arguments, ours: bool) -> ArgSpec:
    positional = [arg.arg for arg in (*args.posonlyargs, *args.args)]
    required = positional[: len(positional) - len(args.defaults)]
    keyword = [arg.arg for arg in args.kwonlyargs]
    return ArgSpec(tuple(positional + keyword), tuple(required), kwargs=args.kwarg is not None, ours=ours)
