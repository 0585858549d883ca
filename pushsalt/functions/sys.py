"""Salt's ``sys`` functions that also cover the controller: its own functions, and renderers.

``thin/modules/sysmod.py`` has the others, and lists the functions of the target. For an offline target only functions
that both sides have are listed.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from pushsalt import plugins
from pushsalt.minion.salt import shared
from pushsalt.minion.settings import callable_from_outside
from thin.utils import sysdoc

if TYPE_CHECKING:
    from pushsalt.minion.minion import Minion

__reads__ = (
    "list_functions",
    "list_modules",
    "doc",
    "argspec",
    "list_renderers",
    "renderer_doc",
    "list_returners",
    "list_returner_functions",
    "list_runners",
    "list_runner_functions",
)


def _callable_functions(minion: Minion) -> Mapping[str, Callable[..., Any]]:
    """The controller's functions that may be called for this target."""
    controller = minion.controller
    allowed = [name for name in controller.names() if callable_from_outside(minion.opts, name)]
    return {name: partial(function, minion) for name in allowed if (function := controller.named(name)) is not None}


def _of_target(minion: Minion, function: str, args: tuple[Any, ...], both: Callable[..., Any]) -> Any:
    """The target's answer. For an offline target the result of ``both``, with the functions that both sides have."""
    if minion.has_target:
        return minion.remote(f"sys.{function}", list(args), {})
    return both({name: minion.shared(name) for name in shared()}, *args)


def list_functions(minion: Minion, *args: str, **kwargs: Any) -> list[str]:
    """The names of all functions, of those of some modules, or of those that match a glob."""
    names = _of_target(minion, "list_functions", args, lambda functions, *args: sysdoc.chosen(functions, args))
    return sorted({*names, *sysdoc.chosen(_callable_functions(minion), args)})


def list_modules(minion: Minion, *args: str) -> list[str]:
    """The names of all modules, or of those that match a glob."""
    names = _of_target(minion, "list_modules", args, lambda functions, *args: sysdoc.modules(functions, args))
    return sorted({*names, *sysdoc.modules(_callable_functions(minion), args)})


def doc(minion: Minion, *args: str) -> dict[str, Any]:
    """``{function: docstring}`` of all modules, of some, or of functions that match a glob."""
    own = _callable_functions(minion)
    docs = {name: sysdoc.plain(own[name].func.__doc__) for name in sysdoc.chosen(own, args)}  # type: ignore[attr-defined]
    texts = _of_target(minion, "doc", args, _docs)
    return dict(sorted({**docs, **texts}.items()))


def _docs(functions: Mapping[str, Callable[..., Any]], *args: str) -> dict[str, Any]:
    return {name: sysdoc.plain(functions[name].__doc__) for name in sysdoc.chosen(functions, args)}


def argspec(minion: Minion, module: str = "") -> dict[str, Any]:
    """``{function: {args, defaults, varargs, kwargs}}`` of a module, or of functions that match a glob."""
    specs = _of_target(minion, "argspec", (module,), sysdoc.argspecs)
    for name, spec in sysdoc.argspecs(_callable_functions(minion), module).items():
        earlier = specs.get(name)  # for a function that both have, the signature with more arguments
        if earlier is None or len(earlier["args"] or ()) < len(spec["args"] or ()):
            specs[name] = spec
    return dict(sorted(specs.items()))


def list_renderers(minion: Minion, *args: str) -> list[str]:
    """The names of all renderers, or of those that match a glob."""
    renderers = plugins.names("renderers", plugins.folders("renderers", minion.project.config.opts))
    return [name for name in renderers if not args or any(fnmatch.fnmatch(name, pattern) for pattern in args)]


def renderer_doc(minion: Minion, *args: str) -> dict[str, Any]:
    """``{renderer: docstring}``."""
    places = plugins.folders("renderers", minion.project.config.opts)
    docs = {}
    for name in list_renderers(minion, *args):
        module = plugins.load("renderers", name, places)
        docs[name] = sysdoc.plain(getattr(getattr(module, "render", None), "__doc__", None) or module.__doc__)
    return docs


def _none(what: str) -> Callable[..., list[str]]:
    def empty(minion: Minion, *args: str) -> list[str]:
        return []

    empty.__doc__ = f"An empty list: pushsalt has no {what}."
    return empty


list_returners = _none("returners")
list_returner_functions = _none("returners")
list_runners = _none("runners")
list_runner_functions = _none("runners")
