"""The arguments of state functions, read from their source: nothing is executed, every platform's states are known."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from functools import cache

from pushsalt.compile.source import ArgSpec
from thin import runtime


class ShippedStates:
    """The state functions of ``thin/states/``. One of several files (one virtual name) takes what any of them takes."""

    def spec(self, name: str) -> ArgSpec | None:
        """The arguments of ``module.function``; None when no shipped file has it."""
        module, _, function = name.partition(".")
        functions = _functions(module)
        return functions.get(function) or functions.get(function + "_")

    def names(self) -> Iterable[str]:
        """Every ``module.function``, sorted."""
        for module in sorted(runtime.virtual_index("states")):
            for function in sorted(_functions(module)):
                if not function.startswith("_") and not function.startswith("mod_"):
                    yield f"{module}.{function.rstrip('_')}"


@cache
def _functions(module: str) -> dict[str, ArgSpec]:
    found: dict[str, ArgSpec] = {}
    for name in runtime.virtual_index("states").get(module, ()):
        tree = ast.parse(runtime.source(f"thin.states.{name}"))
        aliases = _aliases(tree)
        for node in tree.body:
            if isinstance(node, ast.FunctionDef):
                found[aliases.get(node.name, node.name)] = _spec(node.args)
            elif (
                isinstance(node, ast.Assign)
                and isinstance(node.value, ast.Name)
                and isinstance(node.targets[0], ast.Name)
            ):
                same = found.get(node.value.id)  # wait_script = script
                if same is not None:
                    found[node.targets[0].id] = same
    return found


def _aliases(tree: ast.Module) -> dict[str, str]:
    """Salt's ``__func_alias__``: the name in the file -> the name that is called."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and any(
            isinstance(to, ast.Name) and to.id == "__func_alias__" for to in node.targets
        ):
            return dict(ast.literal_eval(node.value))
    return {}


def _spec(args: ast.arguments) -> ArgSpec:
    positional = [arg.arg for arg in (*args.posonlyargs, *args.args)]
    required = positional[: len(positional) - len(args.defaults)]
    keyword = [arg.arg for arg in args.kwonlyargs]
    return ArgSpec(tuple(positional + keyword), tuple(required), kwargs=args.kwarg is not None)
