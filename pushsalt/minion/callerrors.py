"""Errors of function calls: unknown functions, and functions that raise on the controller."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pushsalt.errors import FunctionError
from pushsalt.minion.salt import shared
from thin import runtime


def unknown_function(name: str, nearest: Sequence[str] = (), more: Iterable[str] = ()) -> FunctionError:
    """The error for an unknown function; ``more`` are names of functions besides pushsalt's own, for suggestions."""
    import difflib

    from pushsalt.modules.controller import names

    near = list(nearest) or difflib.get_close_matches(name, {*names(), *shared(), *all_remote(), *more}, n=3)
    hint = f"nearest: {', '.join(near)}" if near else "`pushsalt run TARGET sys.list_functions` lists all functions"
    return FunctionError("unknown_function", f"'{name}' is not available.", hint, "CommandExecutionError")


def all_remote() -> set[str]:
    """The names of all functions of execution modules, read from their source without importing it."""
    names = set()
    for module, files in runtime.virtual_index("modules").items():
        for file in files:
            names |= {
                f"{module}.{name}" for name in runtime.code(f"thin.modules.{file}").co_names if not name.startswith("_")
            }
    return names


def raised(name: str, exc: BaseException) -> FunctionError:
    """The error for a function that raised on the controller."""
    own = type(exc).__name__
    text = str(exc) or own
    if isinstance(exc, (LookupError, AttributeError, TypeError)):  # their text is often only a key or a name
        text = f"{own}: {text}"
    return FunctionError("exception", f"{name}: {text}", "run again with -l debug to see where", own)
